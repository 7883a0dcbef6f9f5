// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/stream_point.h>

namespace tbk {

void StreamPoint::record() noexcept {
  try {
    // Where the backend has no more events, the stream itself is asked later.
    event_.try_record(*stream_);
  } catch (...) {
    // A deleter can't tell. An error of the device comes again when the stream is asked.
    event_ = Event();
  }
}

void StreamPoint::synchronize_point() const {
  event_.recorded() ? event_.synchronize() : synchronize(*stream_);
}

bool StreamPoint::passed(bool wait, std::exception_ptr& error) const noexcept {
  if (!wait) {
    try {
      return event_.recorded() ? event_.query() : query(*stream_);
    } catch (...) {
      // Of earlier work, perhaps: what this is about may still run.
      if (!error) error = std::current_exception();
    }
  }
  try {
    synchronize_point();
  } catch (...) {
    // It has waited all the same.
    if (!error) error = std::current_exception();
  }
  return true;
}

}  // namespace tbk
