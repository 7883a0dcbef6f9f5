// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What differs in a tensor: sorted, each element is held against the one before. The host reads how many differ.
#include <ATen/ops/_unique2_ops.h>
#include <ATen/ops/_unique_ops.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/unique_consecutive_ops.h>
#include <ATen/ops/unique_dim_consecutive_ops.h>
#include <ATen/ops/unique_dim_ops.h>
#include <generic/by_others.h>
#include <generic/program.h>
#include <generic/scan.h>
#include <generic/sort.h>
#include <torch/library.h>

#include <tuple>

namespace tbk::generic {
namespace {

using Two = std::tuple<at::Tensor, at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Rows are sorted by one column after the other, up to so many.
constexpr int64_t kMostColumns = 64;

/// What stands together in a line, whose elements are marked where they differ from the one before.
class Runs {
 public:
  /// `order` says where the elements of the line were; not defined where they are in place.
  Runs(at::Tensor is_first, at::Tensor order)
      : is_first_(std::move(is_first)), order_(std::move(order)) {
    begins_ = is_first_.nonzero().squeeze(1);  // reads how many
  }

  /// Returns where each run begins in the line.
  const at::Tensor& begins() const {
    return begins_;
  }
  /// Returns of which run each element is.
  at::Tensor inverse() const {
    const at::Tensor numbers = is_first_.cumsum(0).sub(1);
    return order_.defined() ? at::empty_like(numbers).scatter_(0, order_, numbers) : numbers;
  }
  at::Tensor counts() const {
    if (begins_.numel() == 0) return begins_;
    const at::Tensor end = at::full({1}, is_first_.numel(), begins_.options());
    return at::cat({begins_.slice(0, 1), end}).sub(begins_);
  }

 private:
  at::Tensor is_first_, order_, begins_;
};

/// Marks what differs from the one before; `differs` is of all but the first.
at::Tensor with_first(const at::Tensor& differs) {
  return at::cat({at::ones({1}, differs.options()), differs});
}

Runs runs_of_line(const at::Tensor& line, const at::Tensor& order) {
  if (line.numel() == 0) return {at::empty({0}, line.options().dtype(at::kBool)), order};
  return {with_first(line.slice(0, 1).ne(line.slice(0, 0, -1))), order};
}

Runs runs_of_rows(const at::Tensor& rows, const at::Tensor& order) {
  const at::Tensor sorted = order.defined() ? rows.index_select(0, order) : rows;
  return {with_first(sorted.slice(0, 1).ne(sorted.slice(0, 0, -1)).any(1)), order};
}

/// Sorts by the last column first: what comes later keeps the order of equals.
at::Tensor order_of(const at::Tensor& rows) {
  at::Tensor order = at::arange(rows.size(0), rows.options().dtype(at::kLong));
  for (int64_t c = rows.size(1) - 1; c >= 0; c--) {
    const at::Tensor column = rows.select(1, c).index_select(0, order);
    order = order.index_select(0, std::get<1>(column.sort(/*stable=*/true, 0, false)));
  }
  return order;
}

bool may_be_sorted(const at::Tensor& self) {
  return may_be_made({&self}) && computed_in(self.scalar_type()) != at::ScalarType::Undefined &&
         offers_scan(self.device().index()) && offers_sort(self.device().index());
}

at::Tensor none_of(const at::Tensor& self) {
  return at::empty({0}, self.options().dtype(at::kLong));
}

template <class Op>
Three counted(Three result) {
  count_served<Op>(Route::composed, std::get<0>(result));
  return result;
}

Three unique_of_all(const at::Tensor& self, bool is_sorted_already, bool wants_inverse,
                    bool wants_counts) {
  const Composition whole;
  at::Tensor line = self.reshape({-1}), order;
  if (!is_sorted_already) std::tie(line, order) = line.sort(/*stable=*/true, 0, false);
  const Runs runs = runs_of_line(line, order);
  return {line.index_select(0, runs.begins()),
          wants_inverse ? runs.inverse().view(self.sizes()) : none_of(self),
          wants_counts ? runs.counts() : none_of(self)};
}

Three unique2(const at::Tensor& self, bool sorted, bool wants_inverse, bool wants_counts) {
  using Op = at::_ops::_unique2;
  if (!may_be_sorted(self)) return on_host<Op>(self, sorted, wants_inverse, wants_counts);
  return counted<Op>(unique_of_all(self, false, wants_inverse, wants_counts));
}

Two unique(const at::Tensor& self, bool sorted, bool wants_inverse) {
  using Op = at::_ops::_unique;
  if (!may_be_sorted(self)) return on_host<Op>(self, sorted, wants_inverse);
  const Three all = counted<Op>(unique_of_all(self, false, wants_inverse, false));
  return {std::get<0>(all), std::get<1>(all)};
}

/// Whether rows along `dim` may be told apart; nothing where not.
std::optional<int64_t> dim_of_rows(const at::Tensor& self, int64_t dim) {
  const std::optional<int64_t> at = wrapped(dim, self);
  const bool is_fit = at.has_value() && self.dim() > 0 && self.numel() > 0 && may_be_sorted(self);
  return is_fit ? at : std::nullopt;
}

/// PyTorch's CPU gives all three, whichever are asked for.
Three unique_rows(const at::Tensor& self, int64_t dim, bool is_sorted_already) {
  const Composition whole;
  const at::Tensor moved = self.movedim(dim, 0), rows = moved.reshape({self.size(dim), -1});
  const at::Tensor order = is_sorted_already ? at::Tensor() : order_of(rows);
  const Runs runs = runs_of_rows(rows, order);
  const at::Tensor places = order.defined() ? order.index_select(0, runs.begins()) : runs.begins();
  at::DimVector sizes(moved.sizes().begin(), moved.sizes().end());
  sizes[0] = places.numel();
  return {rows.index_select(0, places).view(sizes).movedim(0, dim), runs.inverse(), runs.counts()};
}

Three unique_dim(const at::Tensor& self, int64_t dim, bool sorted, bool wants_inverse,
                 bool wants_counts) {
  using Op = at::_ops::unique_dim;
  const std::optional<int64_t> at = dim_of_rows(self, dim);
  if (!at.has_value() || self.numel() / self.size(*at) > kMostColumns)
    return on_host<Op>(self, dim, sorted, wants_inverse, wants_counts);
  return counted<Op>(unique_rows(self, *at, false));
}

Three unique_consecutive(const at::Tensor& self, bool wants_inverse, bool wants_counts,
                         std::optional<int64_t> dim) {
  using Op = at::_ops::unique_consecutive;
  const bool is_line = !dim.has_value() || (*dim == 0 && self.dim() == 1);
  if (is_line && may_be_sorted(self))
    return counted<Op>(unique_of_all(self, true, wants_inverse, wants_counts));
  const std::optional<int64_t> at = dim.has_value() ? dim_of_rows(self, *dim) : dim;
  if (!at.has_value()) return on_host<Op>(self, wants_inverse, wants_counts, dim);
  return counted<Op>(unique_rows(self, *at, true));
}

Three unique_dim_consecutive(const at::Tensor& self, int64_t dim, bool wants_inverse,
                             bool wants_counts) {
  using Op = at::_ops::unique_dim_consecutive;
  const std::optional<int64_t> at = dim_of_rows(self, dim);
  if (!at.has_value()) return on_host<Op>(self, dim, wants_inverse, wants_counts);
  return counted<Op>(unique_rows(self, *at, true));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_unique", unique);
  m.impl("_unique2", unique2);
  m.impl("unique_dim", unique_dim);
  m.impl("unique_consecutive", unique_consecutive);
  m.impl("unique_dim_consecutive", unique_dim_consecutive);
}

}  // namespace tbk::generic
