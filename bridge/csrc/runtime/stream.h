// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Stream.h>
#include <tbk/tbk.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

namespace tbk {

/// A stream as the bridge keeps it. Made once, never destroyed: a c10::Stream is only a number, and
/// copies of it may live as long as the process.
struct Stream {
  c10::DeviceIndex device = 0;
  c10::StreamId id = 0;  // 0 is the default stream
  int priority = 0;
  tbk_stream_t* handle =
      nullptr;  // NULL where the backend has no streams: every call is synchronous

  /// Remember that `operation` was enqueued; a literal or interned, borrowed for ever. For messages
  /// about deferred errors only, so that lost updates between threads don't matter.
  void note(const char* operation) noexcept {
    size_t at = noted_.fetch_add(1, std::memory_order_relaxed);
    operations_[at % operations_.size()].store(operation, std::memory_order_relaxed);
  }
  /// Nothing enqueued so far can be the cause of a later error.
  void forget() noexcept {
    noted_.store(0, std::memory_order_relaxed);
  }
  /// The last operations since forget(), the latest last, separated by ", "; empty if none.
  std::string noted() const;

  c10::Stream wrap() const {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kPrivateUse1, device), id);
  }

 private:
  std::array<std::atomic<const char*>, 8> operations_{};
  std::atomic<size_t> noted_{0};
};

/// All of these open the device that they name, unless it is open, and throw what that throws.

Stream& default_stream(c10::DeviceIndex device);

/// The stream of this thread and `device`: the default stream until exchange_stream.
Stream& current_stream(c10::DeviceIndex device);

/// Its id. Opens nothing and throws nothing: for a device that was not used in this thread it is 0.
c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept;

/// Make `stream` the current one of its device in this thread. Returns the one it replaces. The
/// current device stays as it is.
Stream& exchange_stream(Stream& stream);

/// The stream that `stream` stands for. Errors: RuntimeError for another device type, a device out of
/// range, an id that no stream has.
Stream& find_stream(c10::Stream stream);

/// A stream that is not the default one. `priority` is clamped. At most 32 of a device and priority
/// are made (fewer where the backend says OUT_OF_MEMORY); from then on they are given out in turn,
/// those of another priority where there is none of this one.
Stream& new_stream(c10::DeviceIndex device, int priority);

/// Wrap a queue of the driver's own; it stays the caller's. The same one gives the same stream. Errors: NotImplementedError where the
/// backend offers no stream_from_native.
Stream& stream_from_native(c10::DeviceIndex device, void* native);
/// Errors: NotImplementedError where the backend offers no stream_native_handle.
void* native_handle(const Stream& stream);

/// Does not block. True where the backend has no streams.
bool query(Stream& stream);
/// Wait on the host for all that was enqueued. Does not touch the GIL: who holds it releases it first.
void synchronize(Stream& stream);
/// For all streams of `device`; a device that is not open has nothing to wait for and stays closed.
/// Once it has succeeded, the operations noted so far are forgotten, as in synchronize.
void synchronize_device(c10::DeviceIndex device);

/// What is noted on the streams of `device`, stream by stream; empty if nothing. Opens nothing.
std::string noted_operations(c10::DeviceIndex device);

/// Called while `device` is being opened, and by nobody else.
void make_default_stream(c10::DeviceIndex device);

}  // namespace tbk
