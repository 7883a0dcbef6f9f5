// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Places of values in what is sorted: how many of it are below. All pairs are compared, which is one reduction and
// no loop with branches; beyond a number of pairs the CPU searches.
#include <ATen/ops/bucketize_ops.h>
#include <ATen/ops/searchsorted_ops.h>
#include <aten/operands.h>
#include <generic/by_others.h>
#include <torch/library.h>

#include <algorithm>

namespace tbk::generic {
namespace {

/// Counts along the last dimension of `sorted` what is below `values`, or not above; NaN is above all.
at::Tensor count_below(const at::Tensor& sorted, const at::Tensor& values, bool counts_equal,
                       bool as_int32) {
  const at::Tensor each = values.unsqueeze(-1);
  const at::Tensor is_above = counts_equal ? sorted.gt(each) : sorted.ge(each);
  return is_above.logical_not().sum(-1, /*keepdim=*/false, as_int32 ? at::kInt : at::kLong);
}

bool may_count(const at::Tensor& sorted, const at::Tensor& values) {
  return may_be_made({&sorted, &values}) && sorted.dim() > 0 &&
         sorted.scalar_type() == values.scalar_type() && !sorted.is_complex() &&
         sorted.scalar_type() != at::kBool &&
         values.numel() <= kMostPairs / std::max<int64_t>(sorted.size(-1), 1);
}

at::Tensor bucketize(const at::Tensor& self, const at::Tensor& boundaries, bool as_int32,
                     bool right) {
  using Op = at::_ops::bucketize_Tensor;
  if (!may_count(boundaries, self) || boundaries.dim() != 1)
    return on_host<Op>(self, boundaries, as_int32, right);
  return made<Op>([&] { return count_below(boundaries, self, right, as_int32); });
}

/// One line for all values, or one for each line of them.
bool are_beside(const at::Tensor& sorted, const at::Tensor& values) {
  if (sorted.dim() == 1) return true;
  const auto outer = static_cast<size_t>(sorted.dim() - 1);
  return sorted.dim() == values.dim() &&
         sorted.sizes().slice(0, outer) == values.sizes().slice(0, outer);
}

/// Returns whether a sorter is one: PyTorch raises for others.
bool is_order_of(const at::Tensor& sorter, const at::Tensor& sorted) {
  return are_plain({&sorted, &sorter}) && sorter.sizes() == sorted.sizes() &&
         sorter.scalar_type() == at::kLong;
}

at::Tensor searchsorted(const at::Tensor& sorted, const at::Tensor& self, bool as_int32, bool right,
                        std::optional<std::string_view> side,
                        const std::optional<at::Tensor>& sorter) {
  using Op = at::_ops::searchsorted_Tensor;
  const bool has_sorter = is_there(sorter);
  const bool is_clear = !side.has_value() || *side == "right" || (*side == "left" && !right);
  if (!may_count(sorted, self) || !are_beside(sorted, self) || !is_clear ||
      (has_sorter && !is_order_of(*sorter, sorted)))
    return on_host<Op>(sorted, self, as_int32, right, side, sorter);
  return made<Op>([&] {
    const at::Tensor line = has_sorter ? sorted.gather(-1, *sorter) : sorted;
    const bool counts_equal = right || (side.has_value() && *side == "right");
    return count_below(sorted.dim() == 1 ? line : line.unsqueeze(-2), self, counts_equal, as_int32);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("bucketize.Tensor", bucketize);
  m.impl("searchsorted.Tensor", searchsorted);
}

}  // namespace tbk::generic
