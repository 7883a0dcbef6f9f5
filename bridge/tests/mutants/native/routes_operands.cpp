// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Operands, numbers and states of programs that are handed over wrong.
#include <c10/core/ScalarType.h>
#include <routes_sets.h>

#include <cmath>
#include <utility>

namespace tbk::routes {
namespace {

template <class Real, class Bits>
bool make_other_real(uint64_t& bits) {
  Real value;
  auto narrow = static_cast<Bits>(bits);
  std::memcpy(&value, &narrow, sizeof value);
  if (!std::isfinite(value)) return false;
  value = value * Real(1.5) + Real(0.25);
  std::memcpy(&narrow, &value, sizeof value);
  bits = narrow;
  return true;
}

template <class A>
bool hold_first(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    return count_inputs(a) > 0 && hold_still(inputs[0], 0, inputs[0]->rank - 1, scratch);
  });
}

template <class A>
bool hold_last(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    const size_t count = count_inputs(a);
    const auto last = count > 1 ? count - 1 : 0;
    return last > 0 && hold_still(inputs[last], 0, inputs[last]->rank - 1, scratch);
  });
}

template <class A>
bool turn_first(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    return count_inputs(a) > 0 && exchange(inputs[0], 0, 1, scratch);
  });
}

/// An input that is broadcast is read as one that lies closely packed, as far as that goes.
template <class A>
bool pack_broadcast(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    bool changed = false;
    for (size_t i = 0; i < count_inputs(a); i++) {
      const tbk_tensor_t* before = inputs[i];
      if (before->rank == 0 || before->strides[0] != 0 || before->sizes[0] < 2) continue;
      own_strides(inputs[i], scratch)[0] = 1;
      if (is_inside(*inputs[i]))
        changed = true;
      else
        inputs[i] = before;
    }
    return changed;
  });
}

bool are_alike(const tbk_tensor_t& one, const tbk_tensor_t& other) {
  const auto bytes = static_cast<size_t>(one.rank) * sizeof(int64_t);
  return one.dtype == other.dtype && one.rank == other.rank &&
         std::memcmp(one.sizes, other.sizes, bytes) == 0 && one.memory != other.memory;
}

template <class A>
bool exchange_inputs(A& a, Scratch& scratch) {
  if (first_program(a).input_count < 2 ||
      first_program(a).inputs[0].kind != first_program(a).inputs[1].kind)
    return false;
  return each_set(a, scratch, [](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    if (!are_alike(*inputs[0], *inputs[1])) return false;
    std::swap(inputs[0], inputs[1]);
    return true;
  });
}

template <class A, bool is_last>
bool change_number(A& a, Scratch& scratch) {
  const size_t count = first_program(a).number_count;
  if (count < (is_last ? 2 : 1)) return false;
  const size_t place = is_last ? count - 1 : 0;
  const auto distrusted = [&](tbk_program_t& program) {
    each_step(program, scratch, [](tbk_instruction_t&, uint32_t*) { return false; });
    return true;
  };
  each_program(a, scratch, distrusted);
  return each_set(a, scratch, [&](tbk_operand_set_t& set, const tbk_tensor_t**) {
    uint64_t* numbers = scratch.copy(set.numbers, count);
    set.numbers = numbers;
    return make_other(numbers[place], first_program(a).numbers[place]);
  });
}

template <class A>
bool lose_last_set(A& a, Scratch&) {
  if (a.set_count < 2) return false;
  a.set_count--;
  return true;
}

template <class A>
bool share_numbers(A& a, Scratch& scratch) {
  const size_t bytes = first_program(a).number_count * sizeof(uint64_t);
  return each_set(a, scratch, [&](tbk_operand_set_t& set, const tbk_tensor_t**) {
    const bool differs = std::memcmp(set.numbers, a.sets[0]->numbers, bytes) != 0;
    set.numbers = a.sets[0]->numbers;
    return differs;
  });
}

template <class A>
bool change_identity(A& a, Scratch& scratch) {
  tbk_reduction_t* reduction = scratch.copy(*a.reduction);
  const tbk_program_t& map = *reduction->map;
  uint64_t* identity = scratch.copy(reduction->identity, map.result_count);
  for (size_t i = 0; i < map.result_count; i++)
    if (!make_other(identity[i], map.instructions[map.results[i]].dtype)) identity[i] = 0;
  reduction->identity = identity;
  a.reduction = reduction;
  return true;
}

bool lose_last_of_inner(Reduce& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t& set, const tbk_tensor_t** inputs) {
    if (set.inner_rank == 0 || set.inner_sizes[set.inner_rank - 1] < 2) return false;
    int64_t* sizes = scratch.copy(set.inner_sizes, set.inner_rank);
    sizes[set.inner_rank - 1]--;
    set.inner_sizes = sizes;
    for (size_t i = 0; i < a.reduction->map->input_count; i++)
      if (a.reduction->map->inputs[i].kind == TBK_INPUT_ALIGNED)
        shorten(inputs[i], inputs[i]->rank - 1, scratch);
    return true;
  });
}

bool turn_scan(Scan& a, Scratch&) {
  a.flags ^= TBK_SCAN_REVERSE;
  return true;
}

#define OPERANDS(kernel, A)                                                    \
  {"the first input is one element", kernel, on<A, hold_first<A>>},            \
      {"the last input is one element", kernel, on<A, hold_last<A>>},          \
      {"the first input is turned", kernel, on<A, turn_first<A>>},             \
      {"what is broadcast is packed", kernel, on<A, pack_broadcast<A>>},       \
      {"two inputs are exchanged", kernel, on<A, exchange_inputs<A>>},         \
      {"the first number is another", kernel, on<A, change_number<A, false>>}, \
      {"the last number is another", kernel, on<A, change_number<A, true>>},   \
      {"the last set is lost", kernel, on<A, lose_last_set<A>>}, {             \
    "all sets have the numbers of the first", kernel, on<A, share_numbers<A>>  \
  }

constexpr Fault table[] = {
    OPERANDS(TBK_NAME_pointwise, Pointwise),
    OPERANDS(TBK_NAME_reduce, Reduce),
    OPERANDS(TBK_NAME_scan, Scan),
    {"the identity is another", TBK_NAME_reduce, on<Reduce, change_identity<Reduce>>},
    {"the identity is another", TBK_NAME_scan, on<Scan, change_identity<Scan>>},
    {"the last of what goes is lost", TBK_NAME_reduce, on<Reduce, lose_last_of_inner>},
    {"the direction is the other", TBK_NAME_scan, on<Scan, turn_scan>},
};

}  // namespace

bool make_other(uint64_t& bits, int32_t dtype) {
  switch (static_cast<c10::ScalarType>(dtype)) {
    case c10::ScalarType::Float:
      return make_other_real<float, uint32_t>(bits);
    case c10::ScalarType::Double:
      return make_other_real<double, uint64_t>(bits);
    case c10::ScalarType::Bool:
      bits ^= 1;
      return true;
    case c10::ScalarType::Int:
      bits = static_cast<uint32_t>(bits + 1);
      return true;
    case c10::ScalarType::Long:
      bits++;
      return true;
    default:
      return false;
  }
}

Faults operand_faults() {
  return all_of(table);
}

}  // namespace tbk::routes
