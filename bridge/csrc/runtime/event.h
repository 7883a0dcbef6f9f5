// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/stream.h>

#include <chrono>
#include <utility>

namespace tbk {

/// Stands for a point in a stream. Where the backend has no events, or no more of them, or can't
/// tell the time that an event with timing is to tell, recording waits for the stream on the host
/// and takes the host's clock: order holds, at the price of the wait, without the GIL. Moved, not
/// copied. Events of the backend are pooled and reused. Any thread; one object not by two threads
/// at a time, but for query, synchronize and wait, which may run side by side.
class Event {
 public:
  Event() = default;
  explicit Event(bool timing) : timing_(timing) {}
  Event(Event&& other) noexcept {
    swap(other);
  }
  Event& operator=(Event&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Event();

  /// Records the point that `stream` has come to, instead of an earlier one. Errors: RuntimeError
  /// for a stream of another device than at the first record; those of the backend.
  void record(Stream& stream);
  /// Records as above, but never waits: returns false, with nothing done, where the backend has no
  /// event to record.
  bool try_record(Stream& stream);
  /// Lets later work of `stream` run after what was last recorded; waits on the host where the
  /// backend can't (another device without cross_device_wait). Does nothing where nothing was
  /// recorded.
  void wait(Stream& stream) const;
  /// Returns whether the recorded work is complete; true where nothing was recorded. Errors of the
  /// recorded work are thrown, not taken for "not yet".
  bool query() const;
  /// Waits on the host until the recorded work is complete. Does not touch the GIL: who holds it
  /// releases it first.
  void synchronize() const;
  /// Returns the milliseconds from `start` to `end`. Errors: ValueError unless both have timing and
  /// are recorded, RuntimeError unless both are complete.
  static double elapsed_ms(const Event& start, const Event& end);

  /// Returns whether something was recorded.
  bool recorded() const {
    return recorded_;
  }
  /// Returns the device of the first record; -1 before it.
  c10::DeviceIndex device() const {
    return device_;
  }
  void swap(Event& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(host_time_, other.host_time_);
    std::swap(device_, other.device_);
    std::swap(timing_, other.timing_);
    std::swap(recorded_, other.recorded_);
  }

 private:
  bool prepare(Stream& stream);
  void record_prepared(Stream& stream);

  tbk_event_t* handle_ = nullptr;  // stays NULL where the host records
  std::chrono::steady_clock::time_point host_time_{};
  c10::DeviceIndex device_ = -1;
  bool timing_ = false;
  bool recorded_ = false;
};

}  // namespace tbk
