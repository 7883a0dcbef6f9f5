// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/Dispatch_v2.h>
#include <ATen/ScalarOps.h>
#include <c10/core/DynamicCast.h>
#include <generic/complex_parts.h>
#include <generic/host_number.h>
#include <generic/program.h>

#include <cmath>
#include <limits>

namespace tbk::generic {
namespace {

template <class Integer>
bool is_within(int64_t value) {
  return value >= static_cast<int64_t>(std::numeric_limits<Integer>::min()) &&
         value <= static_cast<int64_t>(std::numeric_limits<Integer>::max());
}

bool fits_integer(int64_t value, at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return value == 0 || value == 1;
    case at::kByte:
      return is_within<uint8_t>(value);
    case at::kChar:
      return is_within<int8_t>(value);
    case at::kShort:
      return is_within<int16_t>(value);
    case at::kInt:
      return is_within<int32_t>(value);
    default:
      return true;
  }
}

bool fits_real(double value, at::ScalarType dtype) {
  if (!std::isfinite(value)) return true;
  if (dtype == at::kHalf) return std::abs(value) <= 65504;
  if (dtype == at::kBFloat16 || dtype == at::kFloat)
    return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
  return true;
}

/// What PyTorch's CPU makes of a number that it casts to an integer: it wraps.
int64_t wrapped_into(int64_t value, at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return value != 0;
    case at::kByte:
      return static_cast<uint8_t>(value);
    case at::kChar:
      return static_cast<int8_t>(value);
    case at::kShort:
      return static_cast<int16_t>(value);
    case at::kInt:
      return static_cast<int32_t>(value);
    default:
      return value;
  }
}

double rounded(double value, at::ScalarType dtype) {
  if (dtype == at::kHalf) return c10::Half(static_cast<float>(value));
  if (dtype == at::kBFloat16) return c10::BFloat16(static_cast<float>(value));
  return dtype == at::kFloat ? static_cast<double>(static_cast<float>(value)) : value;
}

}  // namespace

at::Tensor wrapped_number(const at::Scalar& value) {
  at::Tensor tensor = c10::scalar_to_tensor(value);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

at::Scalar value_of(const at::Tensor& number) {
  const void* data = number.const_data_ptr();
  const at::ScalarType dtype = number.scalar_type();
  if (dtype == at::kBool) return *static_cast<const bool*>(data);
  if (at::isIntegralType(dtype, /*includeBool=*/false))
    return c10::fetch_and_cast<int64_t>(dtype, data);
  if (at::isComplexType(dtype)) return c10::fetch_and_cast<c10::complex<double>>(dtype, data);
  return c10::fetch_and_cast<double>(dtype, data);
}

bool fits(const at::Scalar& value, at::ScalarType dtype, bool is_checked) {
  if (is_pair(dtype)) {
    const c10::complex<double> number = value.toComplexDouble();
    return !(is_checked && value.isBoolean()) && fits_real(number.real(), part_dtype(dtype)) &&
           fits_real(number.imag(), part_dtype(dtype));
  }
  const bool is_integer = at::isIntegralType(dtype, /*includeBool=*/true);
  if (value.isComplex() || (is_checked && value.isBoolean() && dtype != at::kBool)) return false;
  if (!is_integer) return fits_real(value.toDouble(), dtype);
  return !value.isFloatingPoint() && fits_integer(value.to<int64_t>(), dtype);
}

bool takes_number(const Row& row, size_t index, const at::Scalar& value, at::ScalarType dtype) {
  const bool is_promoting = (row.promoting >> index & 1) != 0;
  const bool is_checked = (row.checked >> index & 1) != 0;
  return (is_promoting && !is_checked) || fits(value, dtype, is_checked && !is_promoting);
}

uint64_t bits_of(const at::Scalar& value, at::ScalarType common, at::ScalarType computed,
                 bool is_exact) {
  const at::ScalarType as = computed == at::kInt ? at::kLong : computed;
  if (computed == at::kFloat || computed == at::kDouble) {
    if (!value.isFloatingPoint() && computed == at::kDouble)
      return bits_in(as, value.to<int64_t>());
    const double real = value.toDouble();
    return bits_in(as, is_exact ? real : rounded(real, common));
  }
  if (common == at::kBool)
    return value.isFloatingPoint() ? value.toDouble() != 0 : value.to<int64_t>() != 0;
  const int64_t integer =
      value.isFloatingPoint() ? static_cast<int64_t>(value.toDouble()) : value.to<int64_t>();
  return bits_in(as, wrapped_into(integer, common));
}

}  // namespace tbk::generic
