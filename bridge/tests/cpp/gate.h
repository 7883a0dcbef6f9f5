// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "check.h"

#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/stream.h>

#include <chrono>
#include <future>

namespace tbk::test {

/// Holds a stream: nothing that is enqueued after it was made runs before open(). Ten seconds after
/// that nobody has opened it, it lets go, and the check fails.
class Gate {
 public:
  explicit Gate(Stream& stream) : opened_(promise_.get_future()) {
    const Backend& backend = Backend::get();
    ErrorBuffer error;
    TBK_CHECK(backend.tables().callback.callback_enqueue(backend.instance(), stream.handle, hold,
                                                         this, &error) == TBK_OK);
  }
  ~Gate() {
    open();
    passed_.get_future().wait();
  }
  void open() {
    if (!std::exchange(is_open_, true)) promise_.set_value();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  static void hold(void* argument) {
    auto* gate = static_cast<Gate*>(argument);
    TBK_CHECK(gate->opened_.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    gate->passed_.set_value();
  }

  std::promise<void> promise_, passed_;
  std::future<void> opened_;
  bool is_open_ = false;
};

}  // namespace tbk::test
