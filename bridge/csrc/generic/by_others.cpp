// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Functions of elements that are made of other operators.
#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_prelu_kernel_backward_ops.h>
#include <ATen/ops/add.h>
#include <ATen/ops/binary_cross_entropy_backward_ops.h>
#include <ATen/ops/binary_cross_entropy_ops.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/channel_shuffle_ops.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/complex_ops.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/equal_ops.h>
#include <ATen/ops/glu_backward_ops.h>
#include <ATen/ops/glu_ops.h>
#include <ATen/ops/isin_ops.h>
#include <ATen/ops/linalg_cross_ops.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/log_sigmoid_backward_ops.h>
#include <ATen/ops/log_sigmoid_forward_ops.h>
#include <ATen/ops/polar_ops.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/renorm_ops.h>
#include <ATen/ops/trace_ops.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <aten/operands.h>
#include <generic/apart.h>
#include <generic/complex_parts.h>
#include <generic/host_number.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace tbk::generic {
namespace {

using Maybe = std::optional<at::Tensor>;
using Two = std::tuple<at::Tensor, at::Tensor>;

/// PyTorch raises for the others.
bool has_halves(const at::Tensor& self, int64_t dim) {
  const std::optional<int64_t> at = wrapped(dim, self);
  return at.has_value() && self.dim() > 0 && self.size(*at) % 2 == 0;
}

at::Tensor& glu(const at::Tensor& self, int64_t dim, at::Tensor& out) {
  using Op = at::_ops::glu_out;
  if (!may_be_made({&self, &out}) || !are_real({&self, &out}) || !has_halves(self, dim))
    return on_host<Op>(self, dim, out);
  const auto halves = self.chunk(2, dim);
  if (out.sizes() != halves[0].sizes()) return on_host<Op>(self, dim, out);
  // The output may be a half: these, not the whole, are what PyTorch's iterator reads.
  return made_apart<Op>(out, {&halves[0], &halves[1]},
                        [&] { return halves[0].mul(halves[1].sigmoid()); });
}

at::Tensor glu_backward(const at::Tensor& gradient, const at::Tensor& self, int64_t dim) {
  using Op = at::_ops::glu_backward;
  if (!may_be_made({&gradient, &self}) || !are_real({&gradient, &self}) || !has_halves(self, dim))
    return on_host<Op>(gradient, self, dim);
  return made<Op>([&] {
    const auto halves = self.chunk(2, dim);
    const at::Tensor gate = halves[1].sigmoid(), first = gradient.mul(gate);
    return at::cat({first, first.mul(halves[0]).mul(gate.neg().add(1))}, dim);
  });
}

Two prelu_backward(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& weight) {
  using Op = at::_ops::_prelu_kernel_backward;
  if (!may_be_made({&self, &gradient, &weight}) || !are_real({&self, &gradient, &weight}))
    return on_host<Op>(gradient, self, weight);
  at::Tensor of_weight;
  at::Tensor of_self = made<Op>([&] {
    const at::Tensor is_above = self.gt(0);
    of_weight = self.mul(gradient).masked_fill(is_above, 0);
    return at::where(is_above, gradient, weight.mul(gradient));
  });
  return {std::move(of_self), std::move(of_weight)};
}

Two log_sigmoid(const at::Tensor& self) {
  using Op = at::_ops::log_sigmoid_forward;
  if (!may_be_made({&self}) || !are_real({&self})) return on_host<Op>(self);
  at::Tensor buffer;
  at::Tensor out = made<Op>([&] {
    const at::Tensor input = self.contiguous();  // the result is, too
    buffer = input.abs().neg().exp();
    return input.clamp_max(0).sub(buffer.log1p());
  });
  return {std::move(out), std::move(buffer)};
}

at::Tensor log_sigmoid_backward(const at::Tensor& gradient, const at::Tensor& self,
                                const at::Tensor& buffer) {
  using Op = at::_ops::log_sigmoid_backward;
  if (!may_be_made({&self, &gradient, &buffer}) || !are_real({&self, &gradient, &buffer}))
    return on_host<Op>(gradient, self, buffer);
  return made<Op>([&] {
    const at::Tensor above = buffer.masked_fill(self.lt(0), 1);
    return gradient.mul(above.div(buffer.add(1)));
  });
}

bool is_weight(const Maybe& weight, const at::Tensor& self) {
  return !weight.has_value() || !weight->defined() ||
         (are_plain({&self, &*weight}) && are_real({&self, &*weight}) &&
          at::is_expandable_to(weight->sizes(), self.sizes()));
}
at::Tensor weighed(const at::Tensor& loss, const Maybe& weight) {
  return is_there(weight) ? loss.mul(*weight) : loss;
}

/// Returns `target`, with NaN where it is no probability. The loss of such a one may well be a number.
at::Tensor probability(const at::Tensor& target) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return at::where(target.mul(target.neg().add(1)).ge(0), target, kNone);
}

/// PyTorch's CPU raises where a probability is none; here that makes NaN, which no read has to look for.
at::Tensor cross_entropy(const at::Tensor& self, const at::Tensor& target, const Maybe& weight,
                         int64_t reduction) {
  using Op = at::_ops::binary_cross_entropy;
  if (!may_be_made({&self, &target}) || !are_real({&self, &target}) ||
      self.sizes() != target.sizes() || !is_weight(weight, self))
    return on_host<Op>(self, target, weight, reduction);
  return made<Op>([&] {
    const at::Tensor wanted = probability(target);
    const at::Tensor yes = self.log().clamp_min(-100).mul(wanted);
    const at::Tensor no = self.neg().log1p().clamp_min(-100).mul(wanted.neg().add(1));
    const at::Tensor each = weighed(yes.add(no).neg(), weight);
    return reduction == 0 ? each : reduction == 1 ? each.mean() : each.sum();
  });
}

at::Tensor cross_entropy_backward(const at::Tensor& gradient, const at::Tensor& self,
                                  const at::Tensor& target, const Maybe& weight,
                                  int64_t reduction) {
  using Op = at::_ops::binary_cross_entropy_backward;
  if (!may_be_made({&self, &target, &gradient}) || !are_real({&self, &target, &gradient}) ||
      self.sizes() != target.sizes() || !is_weight(weight, self))
    return on_host<Op>(gradient, self, target, weight, reduction);
  return made<Op>([&] {
    const at::Tensor slope = self.sub(target).div(self.mul(self.neg().add(1)).clamp_min(1e-12));
    const at::Tensor each = weighed(slope.mul(gradient), weight);
    return reduction == 1 ? each.div(static_cast<double>(self.numel())) : each;
  });
}

/// Reads one truth value.
bool equal(const at::Tensor& self, const at::Tensor& other) {
  using Op = at::_ops::equal;
  if (!may_be_made({&self, &other}) || self.scalar_type() != other.scalar_type() ||
      self.scalar_type() == at::kComplexHalf)
    return on_host<Op>(self, other);
  if (self.sizes() != other.sizes()) return false;
  return made<Op>([&] { return as_reals(self).eq(as_reals(other)).all(); }).item<bool>();
}

at::Tensor trace(const at::Tensor& self) {
  using Op = at::_ops::trace;
  const at::ScalarType dtype = self.scalar_type();
  if (!may_be_made({&self}) || self.dim() != 2 || dtype == at::kComplexHalf || dtype == at::kBool)
    return on_host<Op>(self);
  return made<Op>([&] { return self.diagonal().sum(); });
}

at::Tensor channel_shuffle(const at::Tensor& self, int64_t groups) {
  using Op = at::_ops::channel_shuffle;
  if (!may_be_made({&self}) || self.dim() < 3 || groups <= 0 || self.size(1) % groups != 0)
    return on_host<Op>(self, groups);
  return made<Op>([&] {
    const at::Tensor parts = self.unflatten(1, {groups, self.size(1) / groups});
    return parts.transpose(1, 2).flatten(1, 2).contiguous(self.suggest_memory_format());
  });
}

at::Tensor& cross(const at::Tensor& self, const at::Tensor& other, int64_t dim, at::Tensor& out) {
  using Op = at::_ops::linalg_cross_out;
  if (!may_be_made({&self, &other, &out}) || self.scalar_type() == at::kBool ||
      self.scalar_type() != other.scalar_type() || out.scalar_type() != self.scalar_type() ||
      out.sizes() != at::IntArrayRef(at::infer_size_dimvector(self.sizes(), other.sizes())))
    return on_host<Op>(self, other, dim, out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, other);
  return made_into<Op>(out, [&] {
    const at::Tensor a = self.expand(out.sizes()), b = other.expand(out.sizes());
    return a.roll(-1, dim).mul(b.roll(-2, dim)).sub(a.roll(-2, dim).mul(b.roll(-1, dim)));
  });
}

/// The strides that PyTorch's iterator gives a result of both.
at::DimVector strides_of_both(const at::Tensor& one, const at::Tensor& other) {
  const auto shape = [](const at::Tensor& of) {
    return at::empty_strided(of.sizes(), of.strides(), of.options().device(at::kMeta));
  };
  const at::Tensor result = at::add(shape(one), shape(other));
  return at::DimVector(result.strides().begin(), result.strides().end());
}

at::Tensor& complex(const at::Tensor& real, const at::Tensor& imaginary, at::Tensor& out) {
  using Op = at::_ops::complex_out;
  if (!may_be_made({&real, &imaginary, &out}) || !are_real({&real, &imaginary}) ||
      out.scalar_type() != at::toComplexType(real.scalar_type()) ||
      !at::are_expandable(real.sizes(), imaginary.sizes()) || !is_apart(out, {&real, &imaginary}))
    return on_host<Op>(real, imaginary, out);
  const Composition whole;
  if (at::native::resize_output(out, at::infer_size_dimvector(real.sizes(), imaginary.sizes())))
    out.unsafeGetTensorImpl()->set_sizes_and_strides(out.sizes().vec(),
                                                     strides_of_both(real, imaginary));
  const at::Tensor parts = at::view_as_real(out);
  parts.select(-1, 0).copy_(real.expand(out.sizes()));
  parts.select(-1, 1).copy_(imaginary.expand(out.sizes()));
  count_served<Op>(Route::composed, out);
  return out;
}

at::Tensor& polar(const at::Tensor& size, const at::Tensor& angle, at::Tensor& out) {
  using Op = at::_ops::polar_out;
  if (!may_be_made({&size, &angle, &out}) || !are_real({&size, &angle}) ||
      out.scalar_type() != at::toComplexType(size.scalar_type()) ||
      !at::are_expandable(size.sizes(), angle.sizes()) || !is_apart(out, {&size, &angle}))
    return on_host<Op>(size, angle, out);
  const Composition whole;
  at::complex_out(out, size.mul(angle.cos()), size.mul(angle.sin()));
  count_served<Op>(Route::composed, out);
  return out;
}

/// Returns whether PyTorch looks for such elements among others.
bool are_among(at::ScalarType dtype) {
  return dtype != at::kBool && !at::isComplexType(dtype);
}

/// Raises where PyTorch does: so few tests it compares by an iterator over the elements, more it sorts first.
void assert_apart_from_elements(const at::Tensor& out, const at::Tensor& elements,
                                const at::Tensor& tests) {
  const double few = 10 * std::pow(static_cast<double>(elements.numel()), 0.145);
  if (tests.numel() < static_cast<int64_t>(few))
    assert_apart(out, {&elements});
  else if (elements.numel() > 0)
    assert_apart(out, {});
}

at::Tensor& is_in(const at::Tensor& elements, const at::Tensor& tests, bool assume_unique,
                  bool invert, at::Tensor& out) {
  using Op = at::_ops::isin_Tensor_Tensor_out;
  if (!may_be_made({&elements, &tests, &out}) || !are_among(elements.scalar_type()) ||
      !are_among(tests.scalar_type()) || out.scalar_type() != at::kBool ||
      elements.numel() > kMostPairs / std::max<int64_t>(tests.numel(), 1))
    return on_host<Op>(elements, tests, assume_unique, invert, out);
  assert_apart_from_elements(out, elements, tests);
  at::native::resize_output(out, elements.sizes());
  return made_into<Op>(out, [&] {
    const at::Tensor found = elements.unsqueeze(-1).eq(tests.flatten()).any(-1);
    return invert ? found.logical_not() : found;
  });
}

at::Tensor& is_number_among(const at::Tensor& elements, const at::Scalar& test, bool assume_unique,
                            bool invert, at::Tensor& out) {
  using Op = at::_ops::isin_Tensor_Scalar_out;
  if (!may_be_made({&elements, &out}) || !are_among(elements.scalar_type()) ||
      !are_among(test.type()) || out.scalar_type() != at::kBool)
    return on_host<Op>(elements, test, assume_unique, invert, out);
  assert_apart(out, {&elements});
  at::native::resize_output(out, elements.sizes());
  return made_into<Op>(out, [&] { return invert ? elements.ne(test) : elements.eq(test); });
}

/// The base is a tensor of the host, which takes part in the dtype as the number does.
at::Tensor& power_of_number(const at::Scalar& self, const at::Tensor& exponent, at::Tensor& out) {
  using Op = at::_ops::pow_Scalar_out;
  if (!may_be_made({&exponent, &out}) ||
      !at::isFloatingType(c10::toRealValueType(out.scalar_type())))
    return on_host<Op>(self, exponent, out);
  const Composition whole;
  at::native::resize_output(out, exponent.sizes());  // to contiguous strides, as PyTorch does here
  at::pow_out(out, wrapped_number(self), exponent);
  count_served<Op>(Route::composed, out);
  return out;
}

at::Tensor& renorm(const at::Tensor& self, const at::Scalar& p, int64_t dim, const at::Scalar& most,
                   at::Tensor& out) {
  using Op = at::_ops::renorm_out;
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!may_be_made({&self, &out}) || !are_real({&self, &out}) || !at.has_value() ||
      self.dim() < 2 || p.isComplex() || most.isComplex() || out.sizes() != self.sizes() ||
      out.scalar_type() != self.scalar_type())
    return on_host<Op>(self, p, dim, most, out);
  return made_apart<Op>(out, {&self}, [&] {
    c10::SmallVector<int64_t, 8> others;
    for (int64_t d = 0; d < self.dim(); d++)
      if (d != *at) others.push_back(d);
    const at::Tensor norm = at::linalg_vector_norm(self, p, others, /*keepdim=*/true);
    const at::Tensor scale = norm.add(1e-7).reciprocal().mul(most);
    return self.mul(scale.masked_fill(norm.gt(most).logical_not_(), 1));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("glu.out", glu);
  m.impl("glu_backward", glu_backward);
  m.impl("_prelu_kernel_backward", prelu_backward);
  m.impl("log_sigmoid_forward", log_sigmoid);
  m.impl("log_sigmoid_backward", log_sigmoid_backward);
  m.impl("binary_cross_entropy", cross_entropy);
  m.impl("binary_cross_entropy_backward", cross_entropy_backward);
  m.impl("equal", equal);
  m.impl("trace", trace);
  m.impl("channel_shuffle", channel_shuffle);
  m.impl("linalg_cross.out", cross);
  m.impl("complex.out", complex);
  m.impl("polar.out", polar);
  m.impl("isin.Tensor_Tensor_out", is_in);
  m.impl("isin.Tensor_Scalar_out", is_number_among);
  m.impl("pow.Scalar_out", power_of_number);
  m.impl("renorm.out", renorm);
}

}  // namespace tbk::generic
