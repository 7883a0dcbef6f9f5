// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// mode: sorted, equal elements stand together, and the longest run of them is looked for; of equal lengths the first.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/mode_ops.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <generic/apart.h>
#include <generic/scan.h>
#include <generic/sort.h>
#include <torch/library.h>

#include <tuple>

namespace tbk::generic {
namespace {

using Two = std::tuple<at::Tensor, at::Tensor>;
using TwoOutputs = std::tuple<at::Tensor&, at::Tensor&>;

/// Returns where the longest run ends, along the last dimension of what is sorted.
at::Tensor end_of_longest(const at::Tensor& sorted) {
  const int64_t size = sorted.size(-1);
  const at::Tensor differs = sorted.slice(-1, 1).ne(sorted.slice(-1, 0, size - 1));
  const at::Tensor end = at::ones_like(sorted.slice(-1, 0, 1), at::kBool);
  const at::Tensor begins = at::cat({end, differs}, -1), ends = at::cat({differs, end}, -1);
  const at::Tensor place = at::arange(size, sorted.options().dtype(at::kLong)).expand_as(sorted);
  const at::Tensor begin = std::get<0>(at::cummax(place.mul(begins), -1));
  return place.sub(begin).add(1).mul(ends).argmax(-1, /*keepdim=*/true);
}

/// Of equal elements PyTorch's CPU tells the last.
Two mode_along(const at::Tensor& self, int64_t dim, bool keeps) {
  const auto [sorted, order] = self.movedim(dim, -1).sort(/*stable=*/true, -1, false);
  const at::Tensor end = end_of_longest(sorted);
  const auto at_end = [&](const at::Tensor& of) {
    const at::Tensor found = of.gather(-1, end).squeeze(-1).contiguous();
    return keeps ? found.unsqueeze(dim) : found;
  };
  return {at_end(sorted), at_end(order)};
}

bool has_mode(const at::Tensor& self, int64_t dim) {
  return may_be_made({&self}) && !self.is_complex() && self.scalar_type() != at::kBool &&
         wrapped(dim, self).has_value() && self.numel() > 0 && offers_scan(self.device().index()) &&
         offers_sort(self.device().index());
}

Two mode_of(const at::Tensor& self, int64_t dim, bool keeps) {
  if (self.dim() == 0) return {self.clone(), at::zeros({}, self.options().dtype(at::kLong))};
  return mode_along(self, *wrapped(dim, self), keeps);
}

Two mode(const at::Tensor& self, int64_t dim, bool keeps) {
  using Op = at::_ops::mode;
  if (!has_mode(self, dim)) return on_host<Op>(self, dim, keeps);
  return made_like<Op>(self, [&] { return mode_of(self, dim, keeps); });
}

TwoOutputs mode_out(const at::Tensor& self, int64_t dim, bool keeps, at::Tensor& values,
                    at::Tensor& indices) {
  using Op = at::_ops::mode_values;
  if (!has_mode(self, dim) || !may_be_written(values, self, self.scalar_type()) ||
      !may_be_written(indices, self, at::kLong))
    return on_host<Op>(self, dim, keeps, values, indices);
  // An output is the input exactly where there is nothing to choose from.
  const at::Tensor read = keeps ? self : self.squeeze(dim);
  assert_apart(values, {&read});
  assert_apart(indices, {&read});
  return made_like<Op>(self, [&] {
    const auto [value, index] = mode_of(self, dim, keeps);
    return TwoOutputs(write_to(values, value), write_to(indices, index));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mode", mode);
  m.impl("mode.values", mode_out);
}

}  // namespace tbk::generic
