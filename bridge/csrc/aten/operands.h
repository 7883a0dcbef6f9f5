// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <aten/kernels.h>

#include <array>

namespace tbk {

/// Returns whether `tensor` is there and of a device of the backend.
inline bool is_ours(const at::TensorBase& tensor) {
  return tensor.defined() && tensor.device().is_privateuseone();
}

/// Returns whether `tensor` is a number of the host, which may stand beside tensors of a device.
inline bool is_host_number(const at::TensorBase& tensor) {
  return tensor.defined() && tensor.dim() == 0 && tensor.device().is_cpu();
}

/// Returns whether both are of one device of ours, of one dtype and size, and contiguous: then
/// nothing is left to be settled.
inline bool have_same_form(const at::TensorBase& self, const at::TensorBase& other) {
  return self.scalar_type() == other.scalar_type() && self.device() == other.device() &&
         is_ours(self) && self.sizes() == other.sizes() && self.is_contiguous() &&
         other.is_contiguous();
}

/// Returns whether `tensor` is a dense one of the device, of ours, and of the dtype of `like`.
inline bool is_beside(const at::TensorBase& tensor, const at::TensorBase& like) {
  return is_ours(tensor) && tensor.device() == like.device() && tensor.layout() == at::kStrided &&
         tensor.scalar_type() == like.scalar_type();
}

/// Returns whether it is that, without a pending sign.
inline bool is_plain_beside(const at::TensorBase& tensor, const at::TensorBase& like) {
  return is_beside(tensor, like) && !tensor.is_neg();
}

/// Returns `number` of the host, cast to `dtype`, on `device`. Ordered on its current stream.
at::Tensor number_on(c10::DeviceIndex device, const at::Tensor& number, at::ScalarType dtype);

/// Holds an input as the rules of operators want it: on the device, of a dtype, broadcast to
/// `sizes` by strides of 0. Owns what it describes; neither copied nor moved, since the description
/// points into it. Errors: those of a cast on the device.
class Operand {
 public:
  Operand(const at::Tensor& tensor, c10::DeviceIndex device, at::ScalarType dtype,
          at::IntArrayRef sizes);
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  const tbk_tensor_t* operator*() const {
    return &description_;
  }

 private:
  void broadcast(at::IntArrayRef sizes);

  at::Tensor tensor_;
  tbk_tensor_t description_;
  at::DimVector strides_;
};

/// Returns `value` as `dtype` holds it. Errors: RuntimeError where it does not fit, as PyTorch's
/// CPU has it.
at::Scalar number_in(at::ScalarType dtype, const at::Scalar& value);

/// Returns `value` as the C interface has it: what kind it is, and its value.
tbk_scalar_t to_scalar(const at::Scalar& value);
/// Returns what a plan may depend on of `scalar`: its kind. A plan is launched with any values.
inline std::array<int64_t, 1> plan_key_of(const tbk_scalar_t& scalar) {
  return {scalar.kind};
}

}  // namespace tbk
