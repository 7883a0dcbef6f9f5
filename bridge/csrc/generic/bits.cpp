// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// nextafter and frexp: what is done to the bits of numbers, seen as integers of the same size.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/frexp_ops.h>
#include <ATen/ops/full.h>
#include <ATen/ops/nextafter_ops.h>
#include <ATen/ops/where.h>
#include <generic/apart.h>
#include <torch/library.h>

#include <cmath>
#include <tuple>

namespace tbk::generic {
namespace {

using TwoOutputs = std::tuple<at::Tensor&, at::Tensor&>;

/// How the bits of a dtype are to be read.
struct Layout {
  at::ScalarType bits;
  int64_t digits, exponents;  ///< Widths of both fields.

  int64_t bias() const {
    return (INT64_C(1) << (exponents - 1)) - 1;
  }
  int64_t exponent_mask() const {
    return (INT64_C(1) << exponents) - 1;
  }
};

Layout layout_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return {at::kLong, 52, 11};
    case at::kBFloat16:
      return {at::kShort, 7, 8};
    default:
      return {at::kInt, 23, 8};
  }
}

at::Tensor one_like(const at::Tensor& like, int64_t value) {
  return at::full({}, value, like.options());
}

/// The bits of what is next to 0 towards `to`: the least number, with its sign.
at::Tensor least_towards(const at::Tensor& to, const at::Tensor& bits) {
  const int64_t sign = -(INT64_C(1) << (8 * bits.element_size() - 1));
  return at::where(to.gt(0), one_like(bits, 1), one_like(bits, sign + 1));
}

at::Tensor next_after(const at::Tensor& from, const at::Tensor& to) {
  const at::ScalarType integer = layout_of(from.scalar_type()).bits;
  const at::Tensor bits = from.contiguous().view(integer);
  const at::Tensor is_larger = to.gt(from).eq(from.gt(0));
  const at::Tensor step = at::where(is_larger, one_like(bits, 1), one_like(bits, -1));
  const at::Tensor moved = at::where(from.eq(0), least_towards(to, bits), bits.add(step));
  const at::Tensor next = at::where(from.eq(to), to, moved.contiguous().view(from.scalar_type()));
  return at::where(from.isnan().logical_or(to.isnan()), from.add(to), next);
}

/// PyTorch's CPU raises for the rest.
bool has_next(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  return may_be_made({&self, &other}) && are_real({&self, &other}) &&
         self.scalar_type() != at::kHalf && may_be_written(out, self, self.scalar_type()) &&
         at::are_expandable(self.sizes(), other.sizes()) && !out.is_alias_of(other) &&
         out.sizes() == at::IntArrayRef(at::infer_size_dimvector(self.sizes(), other.sizes()));
}

at::Tensor& nextafter(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  using Op = at::_ops::nextafter_out;
  if (!has_next(self, other, out)) return on_host<Op>(self, other, out);
  return made_apart<Op>(out, {&self, &other}, [&] {
    return next_after(self.expand(out.sizes()), other.expand(out.sizes()));
  });
}

/// What is below the least normal number is made larger first, by so many powers of two.
constexpr int64_t kLift = 64;

/// A number is its mantissa, from a half to 1, times a power of two.
struct PartsOfNumber {
  explicit PartsOfNumber(const at::Tensor& number) {
    const Layout layout = layout_of(number.scalar_type());
    const double least = std::ldexp(1.0, static_cast<int>(1 - layout.bias()));
    const at::Tensor is_small = number.abs().lt(least);
    const at::Tensor lifted =
        at::where(is_small, number.mul(std::ldexp(1.0, kLift)), number).contiguous();
    const at::Tensor bits = lifted.view(layout.bits);
    const at::Tensor field =
        bits.bitwise_right_shift(layout.digits).bitwise_and(layout.exponent_mask());
    const at::Tensor has_none = number.eq(0).logical_or(number.isfinite().logical_not());
    exponent = field.sub(layout.bias() - 1)
                   .sub(is_small.to(layout.bits).mul(kLift))
                   .masked_fill(has_none, 0)
                   .to(at::kInt);
    const at::Tensor half = bits.bitwise_and(~(layout.exponent_mask() << layout.digits))
                                .bitwise_or((layout.bias() - 1) << layout.digits);
    mantissa = at::where(has_none, number, half.contiguous().view(number.scalar_type()));
  }

  at::Tensor mantissa, exponent;
};

bool has_parts(const at::Tensor& self, const at::Tensor& mantissa, const at::Tensor& exponent) {
  return may_be_made({&self}) && are_real({&self}) &&
         may_be_written(mantissa, self, self.scalar_type()) &&
         may_be_written(exponent, self, at::kInt);
}

TwoOutputs frexp(const at::Tensor& self, at::Tensor& mantissa, at::Tensor& exponent) {
  using Op = at::_ops::frexp_Tensor_out;
  if (!has_parts(self, mantissa, exponent)) return on_host<Op>(self, mantissa, exponent);
  assert_apart(mantissa, {&self});
  assert_apart(exponent, {&self});
  return made_like<Op>(self, [&] {
    const PartsOfNumber parts(self.to(computed_in(self.scalar_type())));
    return TwoOutputs(write_to(mantissa, parts.mantissa), write_to(exponent, parts.exponent));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nextafter.out", nextafter);
  m.impl("frexp.Tensor_out", frexp);
}

}  // namespace tbk::generic
