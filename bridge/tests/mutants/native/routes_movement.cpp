// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Elements that are moved to other places, or sorted in another order.
#include <routes.h>

#include <utility>

namespace tbk::routes {
namespace {

using Index = tbk_args_index_t;
using Sort = tbk_args_sort_t;

template <int64_t mode, int64_t instead>
bool change_mode(Index& a, Scratch&) {
  if (a.mode != mode) return false;
  a.mode = instead;
  return true;
}

bool refuse_negative(Index& a, Scratch&) {
  if ((a.flags & TBK_INDEX_NEGATIVE) == 0) return false;
  a.flags &= ~static_cast<uint64_t>(TBK_INDEX_NEGATIVE);
  a.bounds = TBK_BOUNDS_ZERO;
  return true;
}

bool tell_nothing(Index& a, Scratch&) {
  const bool counts = a.report != nullptr;
  a.report = nullptr;
  return counts;
}

template <size_t which>
bool hold_index(Index& a, Scratch& scratch) {
  if (a.index_count <= which) return false;
  const tbk_tensor_t** indices = scratch.copy(a.indices, a.index_count);
  a.indices = indices;
  return hold_still(indices[which], 0, indices[which]->rank - 1, scratch);
}

bool hold_read_values(Index& a, Scratch& scratch) {
  return a.mode != TBK_INDEX_GATHER && hold_still(a.values, 0, a.values->rank - 1, scratch);
}

/// The table is read, or written, as if its first two dimensions were each other.
bool turn_table(Index& a, Scratch& scratch) {
  return exchange(a.table, 0, 1, scratch);
}

bool lose_last_of_space(Index& a, Scratch& scratch) {
  const int32_t last = a.values->rank - 1;
  if (!shorten(a.values, last, scratch)) return false;
  const tbk_tensor_t** indices = scratch.copy(a.indices, a.index_count);
  for (size_t i = 0; i < a.index_count; i++)
    shorten(indices[i], last, scratch);
  a.indices = indices;
  return true;
}

bool turn_order(Sort& a, Scratch&) {
  a.flags ^= TBK_SORT_DESCENDING;
  return true;
}

bool first_segment_alone(Sort& a, Scratch& scratch) {
  return hold_still(a.input, 0, a.input->rank - 2, scratch);
}

bool another_dimension(Sort& a, Scratch& scratch) {
  return exchange(a.input, a.input->rank - 2, a.input->rank - 1, scratch);
}

bool lose_last_of_input(Sort& a, Scratch& scratch) {
  const int32_t last = a.input->rank - 1;
  const tbk_tensor_t* some = a.values != nullptr ? a.values : a.indices;
  return some->sizes[last] < a.input->sizes[last] && shorten(a.input, last, scratch);
}

bool lose_values(Sort& a, Scratch&) {
  if (a.values == nullptr || a.indices == nullptr) return false;
  a.values = nullptr;
  return true;
}

bool lose_indices(Sort& a, Scratch&) {
  if (a.values == nullptr || a.indices == nullptr) return false;
  a.indices = nullptr;
  return true;
}

#define MODE(one, other) on<Index, change_mode<TBK_INDEX_##one, TBK_INDEX_##other>>
constexpr Fault table[] = {
    {"sums are writes", TBK_NAME_index, MODE(ADD, WRITE)},
    {"writes are sums", TBK_NAME_index, MODE(WRITE, ADD)},
    {"products are sums", TBK_NAME_index, MODE(MUL, ADD)},
    {"the least is the greatest", TBK_NAME_index, MODE(MIN, MAX)},
    {"the greatest is the least", TBK_NAME_index, MODE(MAX, MIN)},
    {"negative indices are bad", TBK_NAME_index, on<Index, refuse_negative>},
    {"a bad index is not told", TBK_NAME_index, on<Index, tell_nothing>},
    {"the first index is one place", TBK_NAME_index, on<Index, hold_index<0>>},
    {"the second index is one place", TBK_NAME_index, on<Index, hold_index<1>>},
    {"what is written is one element", TBK_NAME_index, on<Index, hold_read_values>},
    {"the table is turned", TBK_NAME_index, on<Index, turn_table>},
    {"the last of the space is lost", TBK_NAME_index, on<Index, lose_last_of_space>},
    {"the order is the other", TBK_NAME_sort, on<Sort, turn_order>},
    {"all segments are the first", TBK_NAME_sort, on<Sort, first_segment_alone>},
    {"another dimension is sorted", TBK_NAME_sort, on<Sort, another_dimension>},
    {"the last of each segment is lost", TBK_NAME_sort, on<Sort, lose_last_of_input>},
    {"values are not written", TBK_NAME_sort, on<Sort, lose_values>},
    {"indices are not written", TBK_NAME_sort, on<Sort, lose_indices>},
};

}  // namespace

Faults movement_faults() {
  return all_of(table);
}

}  // namespace tbk::routes
