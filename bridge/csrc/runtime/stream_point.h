// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/event.h>
#include <runtime/stream.h>

#include <exception>

namespace tbk {

/// Stands for what a stream has to pass before memory that it uses is given to somebody else. One
/// thread at a time. Where the backend has no event for it, that is all that the stream is given to
/// do.
class StreamPoint {
 public:
  explicit StreamPoint(Stream& stream) : stream_(&stream) {}

  Stream& stream() const {
    return *stream_;
  }
  /// Records the point that the stream has come to; never waits.
  void record() noexcept;
  /// Returns whether the stream has passed; where `wait`, it has, on return. An error of its work
  /// means that the work is over: true, and the error goes to `error`, unless there is one already.
  bool passed(bool wait, std::exception_ptr& error) const noexcept;

 private:
  void synchronize_point() const;

  Stream* stream_;
  Event event_;
};

}  // namespace tbk
