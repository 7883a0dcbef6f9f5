// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>
#include <c10/util/SmallVector.h>
#include <runtime/stream.h>

namespace tbk {

/// Shows the host the tensors of one call, of one device: storages that are brought to the host
/// once each, and tensors that are views of those. One thread. First add() all, then bring(), then
/// host(); after the operator write_back() and to_device(), then finish(). Where the host may
/// dereference the device's memory, the storages are that memory.
class HostMirror {
 public:
  /// Opens the device. `operation` is noted for messages about deferred errors.
  HostMirror(c10::DeviceIndex device, const char* operation);
  /// Waits for what is still enqueued, since it reads and writes memory that ends here.
  ~HostMirror();
  HostMirror(const HostMirror&) = delete;
  HostMirror& operator=(const HostMirror&) = delete;

  /// Takes up `tensor`, which the operator reads, or writes as well. Errors: RuntimeError where it
  /// reaches beyond its storage.
  void add(const at::Tensor& tensor, bool written);
  /// Brings the storages to the host, after what the current stream was given.
  void bring();
  /// Returns what stands on the host for `tensor`, which was added; valid as long as the mirror.
  const at::Tensor& host(const at::Tensor& tensor) const;
  /// Gives back what was written, and the sizes and strides that the operator gave it.
  void write_back();
  /// Returns `result`, which is of the host, strided and dense, on the device, with the same
  /// strides.
  at::Tensor to_device(const at::Tensor& result);
  /// Waits for what is still enqueued. Errors: those of the stream.
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
