// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBase.h>
#include <runtime/device_allocator.h>
#include <runtime/stream.h>
#include <tbk/tbk_arguments.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>

namespace tbk {

/// Returns a tensor as kernels see it that only read it: a lazy clone stays one. Borrows sizes and
/// strides from `tensor`: lives no longer than it.
inline tbk_tensor_t describe_input(const at::TensorBase& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::Storage& storage = impl->unsafe_storage();
  tbk_tensor_t description;
  description.struct_size = sizeof description;
  description.memory = handle_of(storage.data());
  description.storage_bytes = storage.nbytes();
  description.offset = impl->storage_offset();
  description.dtype = static_cast<int32_t>(tensor.scalar_type());
  description.rank = static_cast<int32_t>(impl->dim());
  description.sizes = impl->sizes().data();
  description.strides = impl->strides().data();
  return description;
}

/// Returns the same of a tensor that is written: a lazy clone gets memory of its own first.
inline tbk_tensor_t describe(const at::TensorBase& tensor) {
  tbk_tensor_t description = describe_input(tensor);
  description.memory = handle_of(tensor.storage().mutable_data());
  return description;
}

/// One operator that backends may serve; a static object beside its wrapper. `name` and `version`
/// are TBK_NAME_... and TBK_VERSION_... of tbk_operators.h.
class Kernel {
 public:
  constexpr Kernel(const char* name, uint32_t version) : name_(name), version_(version) {}

  const char* name() const {
    return name_;
  }
  /// NULL where the backend does not offer it for `device`. Asked once a device, then remembered.
  /// The device is open.
  const tbk_kernel_t* find(c10::DeviceIndex device);

 private:
  const char* name_;
  uint32_t version_;
  // 0: not asked yet; 1: not offered; else the kernel.
  std::array<std::atomic<uintptr_t>, 128> found_{};
};

/// Whether it is worth while to prepare operands of `dtype` for `kernel`. Opens the device.
bool offers(Kernel& kernel, c10::DeviceIndex device, at::ScalarType dtype);

/// Run `kernel` with `arguments` on the current stream of `device`, through prepare and a cached plan
/// where the backend offers that. False, with nothing done, where the backend does not offer the
/// kernel, the dtype or the rank, or answers UNSUPPORTED: the caller falls back. Other errors throw.
/// `tensors` are those in `arguments`, for the dtype, the rank and the plan's signature; `others` is
/// what else is in there and a plan may depend on, as numbers: scalars, dimensions, flags.
bool launch(Kernel& kernel, c10::DeviceIndex device, const void* arguments,
            std::initializer_list<const tbk_tensor_t*> tensors, c10::ArrayRef<int64_t> others = {});

}  // namespace tbk
