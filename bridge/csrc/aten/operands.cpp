// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/Dispatch_v2.h>
#include <aten/copy.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <c10/core/DynamicCast.h>
#include <runtime/memory.h>

namespace tbk {
namespace {

at::Tensor cast(const at::Tensor& tensor, at::ScalarType dtype) {
  const at::Tensor result =
      tensor.is_non_overlapping_and_dense()
          ? empty_strided_on(tensor.device().index(), tensor.sizes(), tensor.strides(), dtype)
          : empty_on(tensor.device().index(), tensor.sizes(), dtype);
  copy_tensor(result, tensor, /*non_blocking=*/false);
  return result;
}

at::Tensor settle(const at::Tensor& tensor, c10::DeviceIndex device, at::ScalarType dtype) {
  if (is_host_number(tensor)) return number_on(device, tensor, dtype);
  return tensor.scalar_type() == dtype ? tensor : cast(tensor, dtype);
}

}  // namespace

at::Tensor number_on(c10::DeviceIndex device, const at::Tensor& number, at::ScalarType dtype) {
  at::Tensor result = empty_on(device, {}, dtype);
  Stream& stream = current_stream(device);
  AT_DISPATCH_V2(dtype, "number_on", AT_WRAP([&] {
                   const auto value =
                       c10::fetch_and_cast<scalar_t>(number.scalar_type(), number.const_data_ptr());
                   // With a stream, an upload would have to be waited for, since `value` ends here.
                   if (stream.handle != nullptr)
                     result.fill_(at::Scalar(value));
                   else
                     upload(Location{device, handle_of(result.storage().data()), 0}, &value,
                            sizeof value, stream);
                 }),
                 AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), at::kHalf, at::kBFloat16,
                 at::kBool);
  return result;
}

Operand::Operand(const at::Tensor& tensor, c10::DeviceIndex device, at::ScalarType dtype,
                 at::IntArrayRef sizes)
    : tensor_(settle(tensor, device, dtype)), description_(describe_input(tensor_)) {
  if (tensor_.sizes() != sizes) broadcast(sizes);
}

/// The caller has seen to it that the tensor's sizes broadcast to `sizes`.
void Operand::broadcast(at::IntArrayRef sizes) {
  const auto missing = sizes.size() - static_cast<size_t>(tensor_.dim());
  strides_.resize(sizes.size(), 0);
  for (size_t i = missing; i < sizes.size(); i++) {
    const auto own = static_cast<int64_t>(i - missing);
    strides_[i] = tensor_.size(own) == sizes[i] ? tensor_.stride(own) : 0;
  }
  description_.rank = static_cast<int32_t>(sizes.size());
  description_.sizes = sizes.data();
  description_.strides = strides_.data();
}

at::Scalar number_in(at::ScalarType dtype, const at::Scalar& value) {
  at::Scalar result;
  AT_DISPATCH_V2(dtype, "number_in", AT_WRAP([&] { result = value.to<scalar_t>(); }),
                 AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES),
                 AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), AT_EXPAND(AT_FLOAT8_TYPES), at::kHalf,
                 at::kBFloat16, at::kComplexHalf, at::kBool);
  return result;
}

tbk_scalar_t to_scalar(const at::Scalar& value) {
  if (value.isBoolean()) return {TBK_SCALAR_BOOL, value.to<bool>(), 0, 0};
  if (value.type() == at::kUInt64)
    return {TBK_SCALAR_INT, static_cast<int64_t>(value.to<uint64_t>()), 0, 0};
  if (value.isIntegral(/*includeBool=*/false)) return {TBK_SCALAR_INT, value.to<int64_t>(), 0, 0};
  if (value.isFloatingPoint()) return {TBK_SCALAR_DOUBLE, 0, value.to<double>(), 0};
  const auto number = value.to<c10::complex<double>>();
  return {TBK_SCALAR_COMPLEX, 0, number.real(), number.imag()};
}

}  // namespace tbk
