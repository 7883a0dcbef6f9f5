// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/Dispatch_v2.h>
#include <runtime/device_allocator.h>
#include <runtime/memory.h>
#include <torch/library.h>

#include <array>
#include <cstring>

namespace tbk {
namespace {

/// Waits for the current stream of the tensor's device.
at::Scalar local_scalar_dense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
  std::array<std::byte, 16> bytes;
  const size_t element = self.element_size();
  const c10::DeviceIndex device = self.device().index();
  Stream& stream = current_stream(device);
  const uint64_t offset = static_cast<uint64_t>(self.storage_offset()) * element;
  download(bytes.data(), {device, handle_of(self.storage().data()), offset}, element, stream);
  synchronize(stream);
  at::Scalar value;
  AT_DISPATCH_V2(self.scalar_type(), "_local_scalar_dense", AT_WRAP([&] {
                   scalar_t element_value;
                   std::memcpy(&element_value, bytes.data(), sizeof element_value);
                   value = at::Scalar(element_value);
                 }),
                 AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), AT_EXPAND(AT_FLOAT8_TYPES),
                 AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), at::kComplexHalf, at::kHalf, at::kBFloat16,
                 at::kBool);
  return value;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_local_scalar_dense", local_scalar_dense);
}

}  // namespace tbk
