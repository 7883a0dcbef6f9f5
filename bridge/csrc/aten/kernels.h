// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBase.h>
#include <aten/routes.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>
#include <runtime/stream.h>
#include <tbk/tbk_arguments.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>

namespace tbk {

/// Moves the memory of `description` back to an address that is aligned as `device` wants it, and
/// the difference into the offset: a storage that DLPack makes of a view begins in the middle of a
/// block. Changes nothing where addresses are not flat, or the difference is no number of elements.
void align_memory(tbk_tensor_t& description, c10::DeviceIndex device);

/// Returns a tensor as kernels see it, whose storage is at `data`.
inline tbk_tensor_t describe_at(const at::TensorBase& tensor, const void* data) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  tbk_tensor_t description;
  description.struct_size = sizeof description;
  description.memory = handle_of(data);
  description.storage_bytes = impl->unsafe_storage().nbytes();
  description.offset = impl->storage_offset();
  description.dtype = static_cast<int32_t>(tensor.scalar_type());
  description.rank = static_cast<int32_t>(impl->dim());
  description.sizes = impl->sizes().data();
  description.strides = impl->strides().data();
  if ((description.memory & Backend::base_mask()) != 0) [[unlikely]]
    align_memory(description, impl->device().index());
  return description;
}

/// Returns a tensor as kernels see it that only read it: a lazy clone stays one. Borrows sizes and
/// strides from `tensor`: lives no longer than it.
inline tbk_tensor_t describe_input(const at::TensorBase& tensor) {
  return describe_at(tensor, tensor.unsafeGetTensorImpl()->unsafe_storage().data());
}

/// Returns the same of a tensor that is written: a lazy clone gets memory of its own first.
inline tbk_tensor_t describe(const at::TensorBase& tensor) {
  return describe_at(tensor, tensor.storage().mutable_data());
}

/// Stands for one operator that backends may serve; a static object beside its wrapper. Any thread.
/// `name` and `version` are TBK_NAME_... and TBK_VERSION_... of tbk_operators.h.
class Kernel {
 public:
  constexpr Kernel(const char* name, uint32_t version) : name_(name), version_(version) {}

  /// Returns its name, such as "add.Tensor".
  const char* name() const {
    return name_;
  }
  /// Returns whether it is one of the generic kernels, which take programs.
  bool is_generic() const {
    return name_[0] == 't' && name_[1] == 'b' && name_[2] == 'k' && name_[3] == ':';
  }
  /// Returns the kernel, which the backend owns; NULL where it offers none for `device`, and where
  /// the route of named kernels is closed to one that has an operator's name. Asked once a device,
  /// then remembered. The device is open.
  const tbk_kernel_t* find(c10::DeviceIndex device);
  /// Counts a call that it has served.
  void count(c10::DeviceIndex device, int32_t dtype);

 private:
  const char* name_;
  uint32_t version_;
  // 0: not asked yet; 1: not offered; else the kernel.
  std::array<std::atomic<uintptr_t>, 128> found_{};
  std::atomic<OperatorCounter*> counter_{nullptr};
};

/// Returns whether it is worth while to prepare operands of `dtype` for `kernel`. Opens the device.
bool offers(Kernel& kernel, c10::DeviceIndex device, at::ScalarType dtype);

/// Runs `kernel` with `arguments` on the current stream of `device`, through prepare and a cached
/// plan where the backend offers that. Returns false, with nothing done, where the backend does not
/// offer the kernel, the dtype or the rank, or answers UNSUPPORTED, and where memory could not be
/// aligned: the caller falls back. Where a kernel finds no memory for itself, the device gets back
/// what the allocator keeps, and the call is made once more. Other errors throw. Any thread.
/// `tensors` are those in `arguments`, for the dtype, the rank and the plan's signature; `others`
/// is what else is in there and a plan may depend on, as numbers: dimensions, flags, kinds of scalars. What a
/// kernel with an operator's name serves is counted, with the dtype of the last tensor.
bool launch(Kernel& kernel, c10::DeviceIndex device, const void* arguments,
            c10::ArrayRef<const tbk_tensor_t*> tensors, c10::ArrayRef<int64_t> others = {});

}  // namespace tbk
