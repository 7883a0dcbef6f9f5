// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// multinomial: each category waits for an exponential time of its rate, and the first ones are chosen. Nothing is rejected.
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial_ops.h>
#include <generic/by_others.h>
#include <generic/outputs.h>
#include <generic/sort.h>
#include <torch/library.h>

#include <tuple>

namespace tbk::generic {
namespace {

using MaybeGenerator = std::optional<at::Generator>;
constexpr int64_t kMostDraws = INT64_C(1) << 24;

/// PyTorch raises for what is no chance, and where all are 0; it reads that on every device.
bool are_chances(const at::Tensor& self) {
  const at::Tensor is_chance = self.ge(0).logical_and(self.isfinite()).all();
  return is_chance.logical_and(self.sum(-1).gt(0).all()).item<bool>();
}

bool may_choose(const at::Tensor& self, int64_t samples, bool replaces) {
  return may_be_made({&self}) && are_real({&self}) && (self.dim() == 1 || self.dim() == 2) &&
         self.numel() > 0 && samples > 0 && (replaces || samples <= self.size(-1)) &&
         self.size(-1) <= kMostDraws && self.numel() <= kMostDraws / (replaces ? samples : 1) &&
         offers_sort(self.device().index());
}

/// Categories of chance 0 come last.
at::Tensor chosen(const at::Tensor& chances, int64_t samples, bool replaces,
                  const MaybeGenerator& generator) {
  at::DimVector sizes(chances.sizes().begin(), chances.sizes().end());
  if (replaces) sizes.insert(sizes.end() - 1, samples);
  const at::Tensor times = at::empty(sizes, chances.options()).exponential_(1, generator);
  const at::Tensor order = (replaces ? chances.unsqueeze(-2) : chances).div(times);
  if (replaces) return order.argmax(-1);
  if (samples == 1) return order.argmax(-1, /*keepdim=*/true);
  return std::get<1>(order.topk(samples));
}

/// Returns what is chosen; not defined where the CPU is to.
at::Tensor choose(const at::Tensor& self, int64_t samples, bool replaces,
                  const MaybeGenerator& generator) {
  if (!may_choose(self, samples, replaces)) return {};
  const Composition whole;
  const at::Tensor chances = self.to(computed_in(self.scalar_type()));
  return are_chances(chances) ? chosen(chances, samples, replaces, generator) : at::Tensor();
}

at::Tensor multinomial(const at::Tensor& self, int64_t samples, bool replaces,
                       MaybeGenerator generator) {
  using Op = at::_ops::multinomial;
  at::Tensor made = choose(self, samples, replaces, generator);
  if (!made.defined()) return on_host<Op>(self, samples, replaces, generator);
  count_served<Op>(Route::composed, made);
  return made;
}

at::Tensor& multinomial_out(const at::Tensor& self, int64_t samples, bool replaces,
                            MaybeGenerator generator, at::Tensor& out) {
  using Op = at::_ops::multinomial_out;
  const at::Tensor made = may_be_written(out, self, at::kLong)
                              ? choose(self, samples, replaces, generator)
                              : at::Tensor();
  if (!made.defined()) return on_host<Op>(self, samples, replaces, generator, out);
  count_served<Op>(Route::composed, made);
  return write_to(out, made);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("multinomial", multinomial);
  m.impl("multinomial.out", multinomial_out);
}

}  // namespace tbk::generic
