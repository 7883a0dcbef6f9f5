// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator.h>
#include <torch/library.h>

namespace tbk {
namespace {

/// `stream` uses the memory of `self`: it is not given to anybody else before that is over.
void record_stream(at::Tensor& self, c10::Stream stream) {
  device_allocator().recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("record_stream", record_stream);
}

}  // namespace tbk
