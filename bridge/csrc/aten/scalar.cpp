// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/from_blob.h>
#include <runtime/device_allocator.h>
#include <runtime/memory.h>
#include <torch/library.h>

#include <array>
#include <cstddef>

namespace tbk {
namespace {

/// Waits for the current stream of the tensor's device.
at::Scalar local_scalar_dense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
  alignas(16) std::array<std::byte, 16> bytes;
  const size_t element = self.element_size();
  const c10::DeviceIndex device = self.device().index();
  Stream& stream = current_stream(device);
  const uint64_t offset = static_cast<uint64_t>(self.storage_offset()) * element;
  download(bytes.data(), {device, handle_of(self.storage().data()), offset}, element, stream);
  synchronize(stream);
  // Which dtypes there are, is PyTorch's matter, and grows.
  return at::_local_scalar_dense(at::from_blob(bytes.data(), {}, self.options().device(at::kCPU)));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_local_scalar_dense", local_scalar_dense);
}

}  // namespace tbk
