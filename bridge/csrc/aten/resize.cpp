// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/ResizeCommon.h>
#include <aten/resize.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>
#include <runtime/memory.h>
#include <torch/library.h>

#include <algorithm>

namespace tbk {

void resize_storage(const c10::Storage& storage, size_t bytes) {
  c10::StorageImpl& impl = *storage.unsafeGetStorageImpl();
  TORCH_CHECK(impl.resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceIndex device = impl.device().index();
  Backend::get().ensure_open(device);
  DeviceAllocator& allocator = device_allocator();
  c10::DataPtr data = allocator.allocate_on(device, bytes);
  const size_t kept = std::min(bytes, impl.nbytes());
  if (kept > 0) {
    Stream& stream = current_stream(device);
    copy({device, handle_of(data.get()), 0}, {device, handle_of(impl.data()), 0}, kept, stream);
    allocator.recordStream(impl.data_ptr(), stream.wrap());
  }
  impl.set_data_ptr_noswap(std::move(data));
  impl.set_nbytes(bytes);
}

void resize_tensor(const at::Tensor& tensor, at::IntArrayRef sizes,
                   at::OptionalIntArrayRef strides) {
  if (tensor.sizes() == sizes && (!strides.has_value() || tensor.strides() == *strides)) return;
  at::detail::check_size_nonnegative(sizes);
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const auto offset = static_cast<size_t>(impl.storage_offset());
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  const size_t bytes =
      strides.has_value()
          ? at::detail::computeStorageNbytes(sizes, *strides, impl.itemsize(), offset)
          : at::detail::computeStorageNbytesContiguous(sizes, impl.itemsize(), offset);
  if (!empty && bytes > impl.unsafe_storage().nbytes())
    resize_storage(impl.unsafe_storage(), bytes);
  if (strides.has_value())
    impl.set_sizes_and_strides(sizes, *strides);
  else
    impl.set_sizes_contiguous(sizes);
}

namespace {

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef sizes,
                          std::optional<at::MemoryFormat> format) {
  const auto bytes_before = static_cast<int64_t>(self.storage().nbytes());
  resize_tensor(self, sizes, std::nullopt);
  if (format.has_value()) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
    self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
      [[unlikely]]
    at::native::fill_resize_deterministic_(self, bytes_before);
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", resize_);
}

}  // namespace tbk
