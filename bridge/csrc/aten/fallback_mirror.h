// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>
#include <c10/util/SmallVector.h>
#include <runtime/stream.h>

namespace tbk {

/// The tensors of one call, of one device, as the host sees them: storages that are brought to the
/// host once each, and tensors that are views of those. First add() all, then bring(), then host();
/// after the operator write_back() and to_device(), then finish().
/// Where the host may dereference the device's memory, the storages are that memory.
class HostMirror {
 public:
  /// Opens the device. `operation` is noted for messages about deferred errors.
  HostMirror(c10::DeviceIndex device, const char* operation);
  /// Waits for what is still enqueued, since it reads and writes memory that ends here.
  ~HostMirror();
  HostMirror(const HostMirror&) = delete;
  HostMirror& operator=(const HostMirror&) = delete;

  /// Errors: RuntimeError where the tensor reaches beyond its storage.
  void add(const at::Tensor& tensor, bool written);
  /// Orders the host after the current stream.
  void bring();
  const at::Tensor& host(const at::Tensor& tensor) const;
  /// Give what was written back, and the sizes that the operator gave it.
  void write_back();
  /// `result`, which is of the host, strided and dense, with its strides, on the device.
  at::Tensor to_device(const at::Tensor& result);
  void finish();

 private:
  struct Storage {
    c10::StorageImpl* device;
    c10::Storage host;
    void* host_data = nullptr;
    uint64_t begin = 0, end = 0;  // bytes of the device's storage that are mirrored
  };
  struct View {
    at::Tensor device;
    at::Tensor host;
    size_t storage;
    bool written;
  };

  size_t storage_of(c10::StorageImpl* device);
  void alias(size_t index);
  void fetch(Storage& storage);
  at::Tensor view_of(const View& view);
  bool was_moved(const View& view) const;
  void give_back(const View& view);
  void send(const c10::Storage& to, uint64_t offset, const void* from, uint64_t bytes);

  c10::DeviceIndex device_;
  bool host_visible_;
  bool pending_ = false;
  Stream& stream_;
  c10::SmallVector<Storage, 4> storages_;
  c10::SmallVector<View, 4> views_;
  c10::SmallVector<at::Tensor, 2> sent_;  // must outlive what is pending
};

}  // namespace tbk
