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
#include <generic/by_others.h>
#include <generic/scan.h>
#include <generic/sort.h>
#include <torch/library.h>

#include <tuple>

namespace tbk::generic {
namespace {

using Two = std::tuple<at::Tensor, at::Tensor>;

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

Two mode(const at::Tensor& self, int64_t dim, bool keeps) {
  using Op = at::_ops::mode;
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!may_be_made({&self}) || self.is_complex() || self.scalar_type() == at::kBool ||
      !at.has_value() || self.numel() == 0 || !offers_scan(self.device().index()) ||
      !offers_sort(self.device().index()))
    return on_host<Op>(self, dim, keeps);
  return made_like<Op>(self, [&] {
    return self.dim() > 0 ? mode_along(self, *at, keeps)
                          : Two(self.clone(), at::zeros({}, self.options().dtype(at::kLong)));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mode", mode);
}

}  // namespace tbk::generic
