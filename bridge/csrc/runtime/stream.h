// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Stream.h>
#include <runtime/bad_index.h>
#include <runtime/operation_notes.h>
#include <tbk/tbk.h>

#include <string>

namespace tbk {

/// Describes a stream as the bridge keeps it. Any thread. Made once, never destroyed: a c10::Stream
/// is only a number, and copies of it may live as long as the process.
struct Stream {
  c10::DeviceIndex device = 0;
  c10::StreamId id = 0;  // 0 is the default stream
  int priority = 0;
  // NULL where the backend has no streams: every call is synchronous.
  tbk_stream_t* handle = nullptr;
  BadIndex bad_index;

  /// Remembers that `operation` was enqueued; a literal or interned, borrowed for ever. For
  /// messages about deferred errors only, so that lost updates between threads don't matter.
  void note(const char* operation) noexcept {
    notes_.note(operation);
  }
  /// Forgets what was noted: nothing enqueued so far can be the cause of a later error.
  void forget() noexcept {
    notes_.forget();
  }
  /// Returns the last eight operations since forget(), the latest last, separated by ", "; empty if
  /// none.
  std::string noted() const {
    return notes_.text();
  }

  /// Returns what PyTorch calls it.
  c10::Stream wrap() const {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kPrivateUse1, device), id);
  }

 private:
  OperationNotes notes_;
};

/// A stream whose calls are complete on return.
struct AtOnce : Stream {
  explicit AtOnce(c10::DeviceIndex index) {
    device = index;
  }
};

/// Returns stream 0 of `device`. This and what follows opens the device that it names, unless it is
/// open, and throws what that throws. Streams are the bridge's, and stay. Any thread.

Stream& default_stream(c10::DeviceIndex device);

/// Returns the current stream of this thread and `device`: the default stream until
/// exchange_stream.
Stream& current_stream(c10::DeviceIndex device);

/// Returns its id. Opens nothing and throws nothing: for a device that was not used in this thread
/// it is 0.
c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept;

/// Makes `stream` the current one of its device in this thread. Returns the one it replaces. The
/// current device stays as it is.
Stream& exchange_stream(Stream& stream);

/// Returns the stream that `stream` stands for. Errors: RuntimeError for another device type, a
/// device out of range, an id that no stream has.
Stream& find_stream(c10::Stream stream);

/// Returns a stream that is not the default one. `priority` is clamped. At most 32 of a device and
/// priority are made (fewer where the backend says OUT_OF_MEMORY); from then on they are given out
/// in turn, those of another priority where there is none of this one.
Stream& new_stream(c10::DeviceIndex device, int priority);

/// Wraps a queue of the driver's own; it stays the caller's. The same one gives the same stream.
/// Errors: NotImplementedError where the backend offers no stream_from_native.
Stream& stream_from_native(c10::DeviceIndex device, void* native);
/// Returns the driver's own handle of `stream`, which stays the backend's. Errors:
/// NotImplementedError where the backend offers no stream_native_handle.
void* native_handle(const Stream& stream);

/// Returns whether all that was enqueued is complete; true where the backend has no streams. Does
/// not block. Errors: those of that work.
bool query(Stream& stream);
/// Waits on the host for all that was enqueued. Errors: those of that work; IndexError where it found
/// an index out of range. Does not touch the GIL: who holds it releases it first.
void synchronize(Stream& stream);
/// Waits for all streams of `device`; a device that is not open has nothing to wait for and stays
/// closed. Once it has succeeded, the operations noted so far are forgotten, as in synchronize.
void synchronize_device(c10::DeviceIndex device);

/// Returns what is noted on the streams of `device`, stream by stream; empty if nothing. Opens
/// nothing.
std::string noted_operations(c10::DeviceIndex device);

/// Makes stream 0. Called while `device` is being opened, and by nobody else.
void make_default_stream(c10::DeviceIndex device);

}  // namespace tbk
