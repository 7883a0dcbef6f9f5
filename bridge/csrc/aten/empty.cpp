// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <aten/empty.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/device_allocator.h>
#include <torch/library.h>

namespace tbk {
namespace {

constexpr c10::DispatchKeySet dense_keys(c10::DispatchKey::PrivateUse1);

/// One dimension with the size 0, contiguous, over `bytes` bytes.
at::Tensor new_tensor(c10::DeviceIndex device, size_t bytes, caffe2::TypeMeta dtype) {
  c10::Allocator& allocator = storage_allocator(device);
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes), allocator.allocate(bytes),
      &allocator, /*resizable=*/true);
  return at::detail::make_tensor_base<c10::TensorImpl>(std::move(storage), dense_keys, dtype);
}

/// Where a tensor is wanted, open.
c10::DeviceIndex open_device(std::optional<at::Device> device) {
  const bool indexed = device.has_value() && device->has_index();
  const c10::DeviceIndex index = indexed ? device->index() : current_device();
  Backend::get().ensure_open(index);
  return index;
}

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided,
              "only strided tensors can be made on this device, not ", *layout);
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

void fill_if_deterministic(at::Tensor& tensor) {
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
      [[unlikely]]
    at::native::fill_empty_deterministic_(tensor);
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                 std::optional<bool> pin_memory, std::optional<at::MemoryFormat> format) {
  check_options(layout, pin_memory);
  at::detail::check_size_nonnegative(sizes);
  at::Tensor tensor = empty_on(open_device(device), sizes, c10::dtype_or_default(dtype));
  if (format.has_value() && *format != at::MemoryFormat::Contiguous)
    tensor.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  fill_if_deterministic(tensor);
  return tensor;
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  at::detail::check_size_nonnegative(sizes);
  at::Tensor tensor =
      empty_strided_on(open_device(device), sizes, strides, c10::dtype_or_default(dtype));
  fill_if_deterministic(tensor);
  return tensor;
}

}  // namespace

at::Tensor empty_on(c10::DeviceIndex device, c10::IntArrayRef sizes, at::ScalarType dtype) {
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(dtype);
  const size_t bytes = at::detail::computeStorageNbytesContiguous(sizes, meta.itemsize());
  at::Tensor tensor = new_tensor(device, bytes, meta);
  if (sizes.size() != 1 || sizes[0] != 0) tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

at::Tensor empty_strided_on(c10::DeviceIndex device, c10::IntArrayRef sizes,
                            c10::IntArrayRef strides, at::ScalarType dtype) {
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(dtype);
  const size_t bytes = at::detail::computeStorageNbytes(sizes, strides, meta.itemsize());
  at::Tensor tensor = new_tensor(device, bytes, meta);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
}

}  // namespace tbk
