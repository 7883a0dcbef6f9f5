// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// How long operators take on the device, for PyTorch's own profiler: events around each of them.
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/event.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <c10/util/ApproximateClock.h>

#include <memory>

namespace tbk {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

const Event& event_of(const ProfilerVoidEventStub* stub) {
  return *static_cast<const Event*>(stub->get());
}

struct Profiler final : torch::profiler::impl::ProfilerStubs {
  /// On the current stream. Where events tell no time the host waits for the stream, as always.
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event,
              int64_t* cpu_ns) const override {
    const c10::DeviceIndex index = current_device();
    if (device != nullptr) *device = index;
    const auto made = std::make_shared<Event>(/*timing=*/true);
    if (cpu_ns != nullptr) *cpu_ns = c10::getTime();
    made->record(current_stream(index));
    *event = made;
  }

  /// Returns microseconds.
  float elapsed(const ProfilerVoidEventStub* start,
                const ProfilerVoidEventStub* end) const override {
    event_of(start).synchronize();
    event_of(end).synchronize();
    return static_cast<float>(Event::elapsed_ms(event_of(start), event_of(end)) * 1e3);
  }

  // The C interface has no marks in a vendor's own tools.
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}

  bool enabled() const override {
    return Backend::get_or_null() != nullptr && !Backend::in_bad_fork();
  }
  void onEachDevice(std::function<void(int)> call) const override {
    for (int index = 0; index < Backend::get().device_count(); index++) {
      const CurrentDeviceGuard guard(static_cast<c10::DeviceIndex>(index));
      call(index);
    }
  }
  void synchronize() const override {
    const c10::DeviceIndex index = current_device();
    if (Backend::get().is_open(index)) synchronize_device(index);
  }
};

// Never destroyed: PyTorch keeps the pointer until the process has ended.
[[maybe_unused]] const bool profiler_registered = [] {
  torch::profiler::impl::registerPrivateUse1Methods(new Profiler);
  return true;
}();

}  // namespace
}  // namespace tbk
