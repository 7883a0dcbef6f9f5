// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/view_as_real.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/complex_products.h>
#include <generic/host_number.h>

namespace tbk::generic {
namespace {

/// A factor's parts as they are stored, and what pending signs make of both of them and of the imaginary one.
struct Factor {
  explicit Factor(const at::Tensor& tensor)
      : sign(tensor.is_neg() ? -1 : 1), imaginary_sign(tensor.is_conj() ? -1 : 1) {
    at::Tensor bare = tensor.is_conj() ? tensor.conj() : tensor;
    if (bare.is_neg()) bare = bare._neg_view();
    const at::Tensor parts = at::view_as_real(bare);
    real = parts.select(-1, 0);
    imaginary = parts.select(-1, 1);
  }

  at::Tensor real, imaginary;
  int64_t sign, imaginary_sign;
};

/// The parts of a product.
struct PartsOfProduct {
  at::Tensor real, imaginary;
};

bool is_factor(const at::Tensor& tensor, const at::Tensor& out) {
  return is_beside(tensor, out) && is_apart_from(tensor, out);
}

/// PyTorch looks at the summand's sizes also where it is not read.
bool takes_pair_summand(const Product& product, const at::Tensor& out, c10::IntArrayRef sizes) {
  if (product.summand == nullptr) return true;
  const at::Tensor& summand = *product.summand;
  if (summand.is_same(out)) return summand.sizes() == sizes;
  return is_factor(summand, out) && at::is_expandable_to(summand.sizes(), sizes);
}

/// PyTorch raises for numbers that do not fit.
bool takes_pair_number(const at::Scalar& number, at::ScalarType dtype) {
  const c10::complex<double> value = number.toComplexDouble();
  return fits(value.real(), part_dtype(dtype), /*is_checked=*/false) &&
         fits(value.imag(), part_dtype(dtype), /*is_checked=*/false);
}

bool is_served(const Product& product, const at::Tensor& out, c10::IntArrayRef sizes) {
  const at::ScalarType dtype = out.scalar_type();
  return is_open(product_route(dtype)) && is_ours(out) && is_beside(out, out) && !out.is_conj() &&
         !out.is_neg() && is_factor(product.first, out) && is_factor(product.second, out) &&
         takes_pair_summand(product, out, sizes) && takes_pair_number(product.alpha, dtype) &&
         takes_pair_number(product.beta, dtype) &&
         at::has_internal_overlap(out) == at::MemOverlap::No &&
         offers_matmul(out.device().index(), dtype) && offers_pointwise(out.device().index());
}

/// (a + bi)(c + di) is (ac - bd) + (ad + bc)i.
bool multiply_parts(const Factor& first, const Factor& second, const PartsOfProduct& made) {
  const int64_t sign = first.sign * second.sign;
  const int64_t of_first = sign * first.imaginary_sign, of_second = sign * second.imaginary_sign;
  const int64_t of_both = -of_first * second.imaginary_sign;
  return multiply({first.real, second.real, nullptr, 0, sign}, made.real) &&
         multiply({first.imaginary, second.imaginary, &made.real, 1, of_both}, made.real) &&
         multiply({first.real, second.imaginary, nullptr, 0, of_second}, made.imaginary) &&
         multiply({first.imaginary, second.real, &made.imaginary, 1, of_first}, made.imaginary);
}

/// What is made of the parts of a product. A factor of 1 is none: times its imaginary 0 an infinity is NaN.
enum PairForm : int { kAlpha = 1, kAdded = 2, kAddedScaled = 4 };

/// Inputs are the parts of the product, and the summand; numbers the parts of alpha, and of beta.
const Program* program_of(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kPairProduct, dtype, dtype, form}, [&](ProgramBuilder& b) {
    const at::ScalarType part = part_dtype(dtype);
    Pair value = {b.input(part), b.input(part)};
    Pair summand{};
    if ((form & kAdded) != 0) summand = {b.input(part), b.input(part)};
    const Pair alpha = {b.number(part), b.number(part)}, beta = {b.number(part), b.number(part)};
    if ((form & kAlpha) != 0) value = times(b, alpha, value);
    if ((form & kAddedScaled) != 0) summand = times(b, beta, summand);
    if ((form & kAdded) != 0) value = plus(b, summand, value);
    b.result(value.real);
    b.result(value.imaginary);
  });
}

bool finish(const Product& product, const PartsOfProduct& made, const at::Tensor& out) {
  const bool is_added = product.summand != nullptr && !product.beta.equal(0);
  int form = product.alpha.equal(1) ? 0 : kAlpha;
  if (is_added) form |= product.beta.equal(1) ? kAdded : kAdded | kAddedScaled;
  const auto alpha = product.alpha.toComplexDouble(), beta = product.beta.toComplexDouble();
  const double numbers[] = {alpha.real(), alpha.imag(), beta.real(), beta.imag()};
  const Program* program = program_of(out.scalar_type(), form);
  if (!is_added) return run_program(*program, out, {&made.real, &made.imaginary}, numbers);
  const at::Tensor summand = product.summand->resolve_conj().resolve_neg();
  return run_program(*program, out, {&made.real, &made.imaginary, &summand}, numbers);
}

}  // namespace

bool multiply_pairs(const Product& product, const at::Tensor& out, c10::IntArrayRef sizes) {
  if (!is_served(product, out, sizes)) return false;
  at::native::resize_output(out, sizes);
  if (out.numel() == 0) return true;
  const Composition whole;
  const c10::DeviceIndex device = out.device().index();
  const at::ScalarType part = part_dtype(out.scalar_type());
  const PartsOfProduct made = {empty_on(device, sizes, part), empty_on(device, sizes, part)};
  return multiply_parts(Factor(product.first), Factor(product.second), made) &&
         finish(product, made, out);
}

}  // namespace tbk::generic
