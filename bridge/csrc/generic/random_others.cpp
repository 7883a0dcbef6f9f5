// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Distributions that are functions of those in random.cpp: none is drawn by rejection.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/cauchy_ops.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/geometric_ops.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_normal_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/rrelu_with_noise_ops.h>
#include <aten/operands.h>
#include <generic/by_others.h>
#include <torch/library.h>

#include <cmath>

namespace tbk::generic {
namespace {

using MaybeGenerator = std::optional<at::Generator>;

/// Returns a new tensor of these sizes that is to be drawn, of a dtype that takes fractions.
at::Tensor to_draw(const at::Tensor& like, c10::IntArrayRef sizes) {
  const at::ScalarType dtype = like.scalar_type();
  return at::empty(sizes, like.options().dtype(at::isFloatingType(dtype) ? dtype : at::kFloat));
}

/// PyTorch's CPU raises for others; NaN is none.
bool are_probabilities(const at::Tensor& chance) {
  const Composition part;
  return chance.ge(0).logical_and_(chance.le(1)).all().item<bool>();
}

at::Tensor& bernoulli_by_tensor(at::Tensor& self, const at::Tensor& chance,
                                MaybeGenerator generator) {
  using Op = at::_ops::bernoulli__Tensor;
  if (!may_be_made({&self, &chance}) || !are_real({&chance}) || self.is_complex() ||
      !at::is_expandable_to(chance.sizes(), self.sizes()) || !are_probabilities(chance))
    return on_host<Op>(self, chance, generator);
  return made_into<Op>(
      self, [&] { return to_draw(chance, self.sizes()).uniform_(0, 1, generator).lt(chance); });
}

/// PyTorch raises for a negative deviation on every device, and reads the least of them.
bool are_deviations(const at::Tensor& deviation) {
  if (deviation.numel() == 0) return true;
  const Composition part;
  return deviation.min().ge(0).item<bool>();
}

at::Tensor standard_normal(const at::Tensor& like, c10::IntArrayRef sizes,
                           const MaybeGenerator& generator) {
  return at::empty(sizes, like.options()).normal_(0, 1, generator);
}

at::Tensor normal_of_both(const at::Tensor& mean, const at::Tensor& deviation,
                          MaybeGenerator generator) {
  using Op = at::_ops::normal_Tensor_Tensor;
  if (!may_be_made({&mean, &deviation}) || !are_real({&mean, &deviation}) ||
      !at::are_expandable(mean.sizes(), deviation.sizes()) || !are_deviations(deviation))
    return on_host<Op>(mean, deviation, generator);
  return made<Op>([&] {
    const auto sizes = at::infer_size_dimvector(mean.sizes(), deviation.sizes());
    return standard_normal(mean, sizes, generator).mul_(deviation).add_(mean);
  });
}

at::Tensor normal_of_mean(const at::Tensor& mean, double deviation, MaybeGenerator generator) {
  using Op = at::_ops::normal_Tensor_float;
  if (!may_be_made({&mean}) || !are_real({&mean}) || !(deviation >= 0))
    return on_host<Op>(mean, deviation, generator);
  return made<Op>(
      [&] { return standard_normal(mean, mean.sizes(), generator).mul_(deviation).add_(mean); });
}

at::Tensor normal_of_deviation(double mean, const at::Tensor& deviation, MaybeGenerator generator) {
  using Op = at::_ops::normal_float_Tensor;
  if (!may_be_made({&deviation}) || !are_real({&deviation}) || !are_deviations(deviation))
    return on_host<Op>(mean, deviation, generator);
  return made<Op>([&] {
    return standard_normal(deviation, deviation.sizes(), generator).mul_(deviation).add_(mean);
  });
}

at::Tensor& cauchy(at::Tensor& self, double median, double sigma, MaybeGenerator generator) {
  using Op = at::_ops::cauchy_;
  if (!may_be_made({&self}) || !are_real({&self}) || !(sigma > 0))
    return on_host<Op>(self, median, sigma, generator);
  return made_into<Op>(self, [&] {
    const at::Tensor turn = to_draw(self, self.sizes()).uniform_(-0.5, 0.5, generator);
    return turn.mul_(std::acos(-1.0)).tan_().mul_(sigma).add_(median);
  });
}

at::Tensor& geometric(at::Tensor& self, double chance, MaybeGenerator generator) {
  using Op = at::_ops::geometric_;
  if (!may_be_made({&self}) || self.is_complex() || self.scalar_type() == at::kBool ||
      !(chance > 0 && chance < 1))
    return on_host<Op>(self, chance, generator);
  return made_into<Op>(self, [&] {
    const double rate = -std::log1p(-chance);
    return to_draw(self, self.sizes()).exponential_(rate, generator).ceil_().clamp_min_(1);
  });
}

at::Tensor& log_normal(at::Tensor& self, double mean, double deviation, MaybeGenerator generator) {
  using Op = at::_ops::log_normal_;
  if (!may_be_made({&self}) || !are_real({&self}) || !(deviation > 0))
    return on_host<Op>(self, mean, deviation, generator);
  return made_into<Op>(
      self, [&] { return to_draw(self, self.sizes()).normal_(mean, deviation, generator).exp_(); });
}

/// Without training the slope is in the middle, and the noise is left as it is.
at::Tensor rrelu(const at::Tensor& self, at::Tensor& noise, const at::Scalar& lower,
                 const at::Scalar& upper, bool is_training, MaybeGenerator generator) {
  using Op = at::_ops::rrelu_with_noise;
  const double from = lower.toDouble(), to = upper.toDouble();
  if (!may_be_made({&self, &noise}) || !are_real({&self, &noise}) || !(from <= to) ||
      self.sizes() != noise.sizes())
    return on_host<Op>(self, noise, lower, upper, is_training, generator);
  return made<Op>([&] {
    if (!is_training) return at::leaky_relu(self, (from + to) / 2);
    const at::Tensor slope = to_draw(self, self.sizes()).uniform_(from, to, generator);
    noise.copy_(slope.masked_fill_(self.gt(0), 1));
    return self.mul(noise);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("bernoulli_.Tensor", bernoulli_by_tensor);
  m.impl("normal.Tensor_Tensor", normal_of_both);
  m.impl("normal.Tensor_float", normal_of_mean);
  m.impl("normal.float_Tensor", normal_of_deviation);
  m.impl("cauchy_", cauchy);
  m.impl("geometric_", geometric);
  m.impl("log_normal_", log_normal);
  m.impl("rrelu_with_noise", rrelu);
}

}  // namespace tbk::generic
