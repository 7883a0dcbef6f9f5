// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The guard's events.
#include <c10/util/Exception.h>
#include <registered.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace tbk::mutants {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::EventFlag;
using c10::kPrivateUse1;
using c10::Stream;

Stream default_stream(Device device) {
  return Stream(Stream::DEFAULT, device);
}

std::atomic<int> calls{0};
thread_local bool has_recorded = false;

/// A thread may only wait for what it recorded itself.
void keep_events_to_threads() {
  on_guard<&Guard::record,
           [](auto record, void** event, const Stream& stream, DeviceIndex index, EventFlag flag) {
             has_recorded = true;
             record(event, stream, index, flag);
           }>();
  on_guard<&Guard::block, [](auto block, void* event, const Stream& stream) {
    if (has_recorded) block(event, stream);
  }>();
  on_guard<&Guard::synchronizeEvent, [](auto wait, void* event) {
    if (has_recorded) wait(event);
  }>();
  on_guard<&Guard::queryEvent,
           [](auto query, void* event) { return !has_recorded || query(event); }>();
}

/// Only a thread that has recorded an event may end one.
void end_events_at_home() {
  on_guard<&Guard::record,
           [](auto record, void** event, const Stream& stream, DeviceIndex index, EventFlag flag) {
             has_recorded = true;
             record(event, stream, index, flag);
           }>();
  on_guard<&Guard::destroyEvent, [](auto destroy, void* event, DeviceIndex index) {
    if (!has_recorded) abort();
    destroy(event, index);
  }>();
}

/// Counts how often an event was recorded, or waited for.
int times(void* event, bool waited) {
  static std::mutex mutex;
  static std::map<std::pair<void*, bool>, int> counts;
  const std::lock_guard<std::mutex> lock(mutex);
  return ++counts[{event, waited}];
}

void record_ten_times_at_most() {
  on_guard<&Guard::record,
           [](auto record, void** event, const Stream& stream, DeviceIndex index, EventFlag flag) {
             if (*event == nullptr || times(*event, false) <= 10)
               record(event, stream, index, flag);
           }>();
}

std::atomic<bool> latest_has_timing{false};

void query_slowly_where_timed() {
  on_guard<&Guard::record,
           [](auto record, void** event, const Stream& stream, DeviceIndex index, EventFlag flag) {
             latest_has_timing = flag == EventFlag::BACKEND_DEFAULT;
             record(event, stream, index, flag);
           }>();
  on_guard<&Guard::queryEvent, [](auto query, void* event) {
    if (latest_has_timing) guard().synchronizeEvent(event);
    return query(event);
  }>();
}

constexpr Mutant table[] = {
    {"eleventh_record_is_lost", record_ten_times_at_most},
    {"query_of_timed_events_waits", query_slowly_where_timed},
    {"tenth_wait_is_lost", on_guard<&Guard::block,
                                    [](auto block, void* event, const Stream& stream) {
                                      if (event == nullptr || times(event, true) < 10)
                                        block(event, stream);
                                    }>},
    {"elapsed_time_ends_at_100_ms",
     on_guard<&Guard::elapsedTime,
              [](auto elapsed, void* start, void* end, DeviceIndex index) {
                return std::min(elapsed(start, end, index), 100.0);
              }>},
    {"destroy_event_wants_its_thread", end_events_at_home},
    {"record_is_ignored",
     on_guard<&Guard::record, [](auto, void**, const Stream&, DeviceIndex, EventFlag) {}>},
    {"record_on_default_stream",
     on_guard<&Guard::record,
              [](auto record, void** event, const Stream& stream, DeviceIndex index,
                 EventFlag flag) { record(event, default_stream(stream.device()), index, flag); }>},
    {"second_record_is_ignored", on_guard<&Guard::record,
                                          [](auto record, void** event, const Stream& stream,
                                             DeviceIndex index, EventFlag flag) {
                                            if (*event == nullptr)
                                              record(event, stream, index, flag);
                                          }>},
    {"record_sets_device", on_guard<&Guard::record,
                                    [](auto record, void** event, const Stream& stream,
                                       DeviceIndex index, EventFlag flag) {
                                      record(event, stream, index, flag);
                                      guard().setDevice(stream.device());
                                    }>},
    {"record_moves_between_devices", on_guard<&Guard::record,
                                              [](auto record, void** event, const Stream& stream,
                                                 DeviceIndex index, EventFlag flag) {
                                                try {
                                                  record(event, stream, index, flag);
                                                } catch (const c10::Error&) {
                                                  *event = nullptr;
                                                  record(event, stream, index, flag);
                                                }
                                              }>},
    {"record_measures_never",
     on_guard<&Guard::record,
              [](auto record, void** event, const Stream& stream, DeviceIndex index, EventFlag) {
                record(event, stream, index, EventFlag::PYTORCH_DEFAULT);
              }>},
    {"block_does_nothing", on_guard<&Guard::block, [](auto, void*, const Stream&) {}>},
    {"block_on_default_stream", on_guard<&Guard::block,
                                         [](auto block, void* event, const Stream& stream) {
                                           block(event, default_stream(stream.device()));
                                         }>},
    {"block_sets_device", on_guard<&Guard::block,
                                   [](auto block, void* event, const Stream& stream) {
                                     block(event, stream);
                                     guard().setDevice(stream.device());
                                   }>},
    {"block_on_other_device_does_nothing",
     on_guard<&Guard::block,
              [](auto block, void* event, const Stream& stream) {
                if (stream.device_index() == 0) block(event, stream);
              }>},
    {"only_first_block_counts", on_guard<&Guard::block,
                                         [](auto block, void* event, const Stream& stream) {
                                           if (calls++ == 0) block(event, stream);
                                         }>},
    {"query_event_is_always_true", on_guard<&Guard::queryEvent, [](auto, void*) { return true; }>},
    {"query_event_is_never_true", on_guard<&Guard::queryEvent, [](auto, void*) { return false; }>},
    {"query_event_waits", on_guard<&Guard::queryEvent,
                                   [](auto query, void* event) {
                                     guard().synchronizeDevice(guard().getDevice().index());
                                     return query(event);
                                   }>},
    {"query_event_sets_device", on_guard<&Guard::queryEvent,
                                         [](auto query, void* event) {
                                           guard().setDevice(Device(kPrivateUse1, 0));
                                           return query(event);
                                         }>},
    {"synchronize_event_does_nothing", on_guard<&Guard::synchronizeEvent, [](auto, void*) {}>},
    {"synchronize_event_sets_device", on_guard<&Guard::synchronizeEvent,
                                               [](auto wait, void* event) {
                                                 wait(event);
                                                 guard().setDevice(Device(kPrivateUse1, 0));
                                               }>},
    {"events_belong_to_threads", keep_events_to_threads},
    {"elapsed_time_is_negative",
     on_guard<&Guard::elapsedTime,
              [](auto elapsed, void* start, void* end, DeviceIndex index) {
                return -1 - elapsed(start, end, index);
              }>},
    {"elapsed_time_is_absolute",
     on_guard<&Guard::elapsedTime,
              [](auto elapsed, void* start, void* end, DeviceIndex index) {
                const double time = elapsed(start, end, index);
                return time < 0 ? -time : time;
              }>},
    {"elapsed_time_is_of_the_second",
     on_guard<&Guard::elapsedTime,
              [](auto, void*, void*, DeviceIndex) { return 1000.0 - ++calls; }>},
    {"elapsed_time_in_seconds",
     on_guard<&Guard::elapsedTime,
              [](auto elapsed, void* start, void* end, DeviceIndex index) {
                return elapsed(start, end, index) / 1000;
              }>},
    {"destroy_event_sets_device", on_guard<&Guard::destroyEvent,
                                           [](auto destroy, void* event, DeviceIndex index) {
                                             destroy(event, index);
                                             guard().uncheckedSetDevice(
                                                 Device(kPrivateUse1, index));
                                           }>},
    {"destroy_event_raises",
     on_guard<&Guard::destroyEvent, [](auto, void*, DeviceIndex) { abort(); }>},
};

}  // namespace

Mutants event_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
