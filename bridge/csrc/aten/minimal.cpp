// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Small operators that PyTorch registers for each of its devices by itself.
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/is_set_to_native.h>
#include <aten/fallback.h>
#include <c10/core/DispatchKeySet.h>
#include <torch/library.h>

namespace tbk {
namespace {

bool is_dense(c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet backends(
      {c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit});
  return keys.has_any(c10::DispatchKeySet(c10::DispatchKey::Dense)) && keys.has_any(backends);
}

/// What `parameter.data = tensor` and Module.to ask: whether a tensor on the host may become one on the
/// device, and keep its identity. PyTorch's own answer knows only its own devices.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set()) ||
         (is_dense(self.key_set()) && is_dense(from.key_set()));
}

/// PyTorch's own, for all devices, wants a kernel of its TensorIterator for the device.
at::Tensor& conj_physical_(at::Tensor& self) {
  return self.is_complex() ? at::conj_physical_out(self, self) : self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("is_set_to", at::native::is_set_to);
  m.impl("conj_physical_", conj_physical_);
  // What PyTorch has for all devices wants a kernel of its TensorIterator as well.
  for (const char* window : {"kaiser_window", "kaiser_window.periodic", "kaiser_window.beta"})
    m.impl(window, torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());
  m.impl("_has_compatible_shallow_copy_type", has_compatible_shallow_copy_type);
}

}  // namespace tbk
