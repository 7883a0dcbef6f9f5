// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <tbk/tbk.h>

#include <cstdint>
#include <optional>

namespace tbk {

/// Allocates device memory, and caches it.
///
/// A freed block is kept for the stream that it was allocated on, and used again for it without
/// waiting: what the stream does next comes after what it did before. A block that other streams
/// used (recordStream) comes back only when an event of each of them has passed. Sizes are rounded
/// to classes; a block is split, and joined again, only where the device declares flat addresses.
/// Out of memory: blocks that wait for events are waited for, the cache is given back to the
/// backend, and the allocation is tried once more; then c10::OutOfMemoryError says how much was
/// asked for, is in use, is cached and free.
///
/// DataPtr::get() is the backend's handle, so offset 0 is the block's first byte. It is the context
/// too: PyTorch's copy-on-write storages ask for that. Two devices may have equal handles, so each
/// device has a deleter of its own, and there is no raw_deleter.
/// Threads: any. No lock is held while PyTorch or Python may be called; the GIL is never taken.
class DeviceAllocator : public c10::DeviceAllocator {
 public:
  /// Returns `bytes` on `device`, for its current stream; a null pointer for 0 bytes. Opens the
  /// device.
  /// Errors: c10::OutOfMemoryError; those of earlier work.
  virtual c10::DataPtr allocate_on(c10::DeviceIndex device, size_t bytes) = 0;

  /// Returns the device of the block in use that `pointer` lies in; where addresses are not flat,
  /// that begins with `pointer`. Nothing for what the allocator does not own.
  virtual std::optional<c10::DeviceIndex> owner(const void* pointer) const = 0;

  /// Gives back to the backend what is kept for later on `device`; waits for its work. Errors:
  /// those of that work.
  virtual void give_back_cached(c10::DeviceIndex device) = 0;

  /// Sets, or returns, how many bytes are held on `device` at most; 0 means no limit. What is over
  /// it already stays.
  virtual void set_memory_limit(c10::DeviceIndex device, uint64_t bytes) = 0;
  virtual uint64_t memory_limit(c10::DeviceIndex device) const = 0;
};

/// Returns the allocator of the process. Never destroyed: tensors may outlive every static object.
DeviceAllocator& device_allocator();

/// Returns an allocator of the same memory for storages of `device`: allocate() takes it there,
/// whichever device is current. A storage made with it stays on its device when PyTorch allocates
/// for it by itself, as it does when a copy-on-write storage is written to. Never destroyed.
c10::Allocator& storage_allocator(c10::DeviceIndex device);

/// Returns the handle that DataPtr::get() stands for.
inline tbk_memory_t handle_of(const void* data) {
  return static_cast<tbk_memory_t>(reinterpret_cast<uintptr_t>(data));
}

}  // namespace tbk
