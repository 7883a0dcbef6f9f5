// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
//
// gate.cpp: the gate of tbk/gate.h for streams of the bridge, by a callback of the backend's that
// blocks. So the bridge's own library is what `--gate bridge` loads.
#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/native_stream.h>
#include <runtime/stream.h>

#include <tbk/gate.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string_view>

namespace tbk {
namespace {

constexpr size_t message_size = 256;

/// Never destroyed: a callback may still be in it when the process ends. Each closing has a number, so
/// that one which was let go before its callback ran does not hold with the next.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  uintptr_t closed = 0, opened = 0;  // up to which
};

Gate& gate() {
  static Gate& only = *new Gate;
  return only;
}

void hold(void* number) {
  Gate& here = gate();
  std::unique_lock lock(here.mutex);
  here.changed.wait(lock, [&] { return here.opened >= reinterpret_cast<uintptr_t>(number); });
}

void* next_number() {
  Gate& here = gate();
  std::lock_guard lock(here.mutex);
  return reinterpret_cast<void*>(++here.closed);
}

int32_t fail(char* message, std::string_view why) {
  if (message != nullptr)
    std::snprintf(message, message_size, "%.*s", static_cast<int>(why.size()), why.data());
  return 1;
}

using Function = void (*)(void*);

void enqueue(int32_t device, const void* native, Function function, void* argument) {
  Backend& backend = Backend::get();
  TORCH_CHECK(backend.tables().has_callback, backend.name(), " offers no host callbacks");
  const Stream* stream = find_native(static_cast<c10::DeviceIndex>(device), native);
  TORCH_CHECK(stream != nullptr, "no stream of device ", device, " has this native handle");
  ErrorBuffer error;
  check(backend.tables().callback.callback_enqueue(backend.instance(), stream->handle, function,
                                                   argument, &error),
        error, "callback_enqueue", stream->device);
}

int32_t call(int32_t device, void* native, Function function, void* argument, char* message) {
  try {
    enqueue(device, native, function, argument);
  } catch (const std::exception& failure) {
    const std::string_view text = failure.what();
    return fail(message, text.substr(0, text.find('\n')));
  }
  return 0;
}

/// The callback may run within the call, and then it returns when the gate is opened.
int32_t close_gate(int32_t device, void* native, char* message) {
  return call(device, native, hold, next_number(), message);
}

int32_t open_gate(char* /*message*/) {
  Gate& here = gate();
  std::lock_guard lock(here.mutex);
  here.opened = here.closed;
  here.changed.notify_all();
  return 0;
}

const tbk_gate_t gate_table = {
    sizeof gate_table, TBK_GATE_VERSION, 0,   "the bridge, callback_enqueue",
    close_gate,        open_gate,        call};

}  // namespace
}  // namespace tbk

const tbk_gate_t* tbk_gate(uint32_t version) {
  return version >= TBK_GATE_VERSION ? &tbk::gate_table : nullptr;
}
