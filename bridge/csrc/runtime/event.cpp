// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/event.h>
#include <runtime/gil.h>

#include <c10/util/Exception.h>

#include <array>
#include <mutex>
#include <vector>

namespace tbk {
namespace {

constexpr size_t most_pooled = 256;

/// Events of one device that nobody holds. One may still be pending: a wait that was enqueued stands
/// for the point recorded before it, so that recording it again changes nothing for that.
struct EventPool {
  std::mutex mutex;
  std::array<std::vector<tbk_event_t*>, 2> events;  // without timing, with timing

  tbk_event_t* take(bool timing) {
    std::lock_guard lock(mutex);
    std::vector<tbk_event_t*>& kind = events[timing];
    if (kind.empty()) return nullptr;
    tbk_event_t* event = kind.back();
    kind.pop_back();
    return event;
  }
  bool give(tbk_event_t* event, bool timing) {
    std::lock_guard lock(mutex);
    if (events[timing].size() == most_pooled) return false;
    events[timing].push_back(event);
    return true;
  }
};

EventPool& pool_of(c10::DeviceIndex device) {
  // Never destroyed: events may be given back by static objects.
  static std::array<EventPool, max_devices>& pools = *new std::array<EventPool, max_devices>;
  return pools[static_cast<size_t>(device)];
}

void destroy(Backend& backend, tbk_event_t* event) {
  backend.tables().event.event_destroy(backend.instance(), event);
}

/// An event of the other kind makes room for one of this kind, where their number is limited.
bool make_room(Backend& backend, c10::DeviceIndex device, bool timing) {
  tbk_event_t* other = pool_of(device).take(!timing);
  if (other == nullptr) return false;
  destroy(backend, other);
  return true;
}

/// NULL where the backend has no more of them.
tbk_event_t* acquire(Backend& backend, c10::DeviceIndex device, bool timing) {
  if (tbk_event_t* pooled = pool_of(device).take(timing)) return pooled;
  ErrorBuffer error;
  tbk_event_t* event = nullptr;
  tbk_status_t status = TBK_OK;
  do {
    uint32_t flags = timing ? TBK_EVENT_TIMING : 0;
    status = backend.tables().event.event_create(backend.instance(), device, flags, &event, &error);
  } while (status == TBK_OUT_OF_MEMORY && make_room(backend, device, timing));
  if (status == TBK_OUT_OF_MEMORY) return nullptr;
  check(status, error, "event_create", device);
  return event;
}

bool takes_event(Backend& backend, c10::DeviceIndex waiting, c10::DeviceIndex recorded) {
  auto crosses = [&](c10::DeviceIndex device) {
    return (backend.device(device).properties.flags & TBK_DEVICE_CROSS_DEVICE_WAIT) != 0;
  };
  return waiting == recorded || (crosses(waiting) && crosses(recorded));
}

}  // namespace

Event::~Event() {
  // The parent's driver still has what a forked child inherits: there is nothing to give back.
  if (handle_ == nullptr || Backend::in_bad_fork()) return;
  if (!pool_of(device_).give(handle_, timing_)) destroy(Backend::get(), handle_);
}

/// False where the backend has no event, or no more of them.
bool Event::prepare(Stream& stream) {
  Backend& backend = Backend::get();
  backend.ensure_open(stream.device);
  TORCH_CHECK(device_ < 0 || device_ == stream.device, "an event of ", backend.name(), ":",
              static_cast<int>(device_), " can't be recorded on a stream of ", backend.name(), ":",
              static_cast<int>(stream.device));
  const tbk_event_ops_t& ops = backend.tables().event;
  bool on_device = backend.tables().has_event && (!timing_ || ops.event_elapsed != nullptr);
  if (on_device && handle_ == nullptr) handle_ = acquire(backend, stream.device, timing_);
  return handle_ != nullptr;
}

void Event::record_prepared(Stream& stream) {
  Backend& backend = Backend::get();
  device_ = stream.device;
  ErrorBuffer error;
  check(backend.tables().event.event_record(backend.instance(), handle_, stream.handle, &error),
        error, "event_record", device_);
  recorded_ = true;
}

bool Event::try_record(Stream& stream) {
  if (!prepare(stream)) return false;
  record_prepared(stream);
  return true;
}

void Event::record(Stream& stream) {
  if (try_record(stream)) return;
  device_ = stream.device;
  WithoutGil no_gil;
  tbk::synchronize(stream);
  host_time_ = std::chrono::steady_clock::now();
  recorded_ = true;
}

void Event::wait(Stream& stream) const {
  if (!recorded_) return;
  Backend& backend = Backend::get();
  backend.ensure_open(stream.device);
  if (handle_ == nullptr) return;
  if (!takes_event(backend, stream.device, device_)) {
    WithoutGil no_gil;
    return synchronize();
  }
  ErrorBuffer error;
  check(backend.tables().event.event_wait(backend.instance(), stream.handle, handle_, &error),
        error, "event_wait", stream.device);
}

bool Event::query() const {
  if (!recorded_) return true;
  Backend& backend = Backend::get();
  backend.ensure_open(device_);
  if (handle_ == nullptr) return true;
  ErrorBuffer error;
  tbk_status_t status = backend.tables().event.event_query(backend.instance(), handle_, &error);
  if (status == TBK_NOT_READY) return false;
  check(status, error, "event_query", device_);
  return true;
}

void Event::synchronize() const {
  if (!recorded_) return;
  Backend& backend = Backend::get();
  backend.ensure_open(device_);
  if (handle_ == nullptr) return;
  ErrorBuffer error;
  check(backend.tables().event.event_synchronize(backend.instance(), handle_, &error), error,
        "event_synchronize", device_);
}

double Event::elapsed_ms(const Event& start, const Event& end) {
  TORCH_CHECK_VALUE(start.timing_ && end.timing_,
                    "both events must be made with enable_timing=True to have a time between them");
  TORCH_CHECK_VALUE(start.recorded_ && end.recorded_, "both events must be recorded first");
  TORCH_CHECK(start.device_ == end.device_, "the events are of different devices");
  TORCH_CHECK(start.query() && end.query(), "both events must be complete first");
  if (start.handle_ == nullptr && end.handle_ == nullptr)
    return std::chrono::duration<double, std::milli>(end.host_time_ - start.host_time_).count();
  TORCH_CHECK(start.handle_ != nullptr && end.handle_ != nullptr,
              "one of the events was recorded by the host, as the device had no more events");
  Backend& backend = Backend::get();
  ErrorBuffer error;
  double milliseconds = 0;
  check(backend.tables().event.event_elapsed(backend.instance(), start.handle_, end.handle_,
                                             &milliseconds, &error),
        error, "event_elapsed", start.device_);
  return milliseconds;
}

}  // namespace tbk
