// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// set_: give a tensor another storage, or another place in it.
#include <ATen/native/Resize.h>
#include <ATen/ops/set_native.h>
#include <aten/resize.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>
#include <torch/library.h>

namespace tbk {
namespace {

at::Tensor& set_place(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef sizes,
                      at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(source), offset, sizes, strides);
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  const bool strided = strides.data() != nullptr;
  resize_tensor(self, sizes, strided ? at::OptionalIntArrayRef(strides) : std::nullopt);
  return self;
}

at::Tensor& set_nothing(at::Tensor& self) {
  const c10::DeviceIndex device = self.device().index();
  Backend::get().ensure_open(device);
  c10::Allocator& allocator = storage_allocator(device);
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, allocator.allocate(0), &allocator,
                       /*resizable=*/true);
  return set_place(self, std::move(storage), 0, {0}, {});
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  return at::native::set_(self, std::move(source));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("set_", set_nothing);
  m.impl("set_.source_Tensor", at::native::set_tensor_);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_place);
}

}  // namespace tbk
