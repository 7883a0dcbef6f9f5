// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Faults of the runtime that show in one situation only.
#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/Exception.h>
#include <registered.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

namespace tbk::mutants {
namespace {

using c10::DataPtr;
using c10::Device;
using c10::DeviceIndex;
using c10::EventFlag;
using c10::kPrivateUse1;
using c10::Stream;
using Generator = c10::GeneratorImpl;

template <auto Method, auto Broken>
void on_generator() {
  const at::Generator& generator = at::detail::getPrivateUse1Hooks().getDefaultGenerator(0);
  replace<Method, Broken>(*generator.unsafeGetGeneratorImpl());
}

std::atomic<int> calls{0};

Stream default_stream(Device device) {
  return Stream(Stream::DEFAULT, device);
}

/// How often something was done to an event.
int count_of(void* event) {
  static std::mutex mutex;
  static std::map<void*, int> counts;
  const std::lock_guard<std::mutex> lock(mutex);
  return ++counts[event];
}

/// The flag of the latest record of any event.
std::atomic<bool> latest_has_timing{false};

void complete_timing_events_at_once() {
  on_guard<&Guard::record,
           [](auto record, void** event, const Stream& stream, DeviceIndex index, EventFlag flag) {
             latest_has_timing = flag == EventFlag::BACKEND_DEFAULT;
             record(event, stream, index, flag);
           }>();
  on_guard<&Guard::queryEvent,
           [](auto query, void* event) { return latest_has_timing || query(event); }>();
}

void forget_stream_after_failure() {
  on_guard<&Guard::synchronizeStream, [](auto synchronize, const Stream& stream) {
    try {
      synchronize(stream);
    } catch (...) {
      guard().exchangeStream(default_stream(stream.device()));
      throw;
    }
  }>();
}

void overstate_when_half_full() {
  on_allocator<&Allocator::getMemoryInfo, [](auto info, DeviceIndex index) {
    auto found = info(index);
    if (found.first < found.second / 2) found.first = found.second + 1;
    return found;
  }>();
}

const std::thread::id main_thread = std::this_thread::get_id();

constexpr Mutant table[] = {
    {"third_new_stream_is_default", on_guard<&Guard::getNewStream,
                                             [](auto make, Device device, int priority) {
                                               return ++calls % 3 == 0 ? default_stream(device)
                                                                       : make(device, priority);
                                             }>},
    {"priority_stream_is_default", on_guard<&Guard::getNewStream,
                                            [](auto make, Device device, int priority) {
                                              return priority < 0 ? default_stream(device)
                                                                  : make(device, priority);
                                            }>},
    {"low_priorities_are_refused", on_guard<&Guard::getNewStream,
                                            [](auto make, Device device, int priority) {
                                              TORCH_CHECK(priority > -1000, "no such priority");
                                              return make(device, priority);
                                            }>},
    {"second_device_stream_is_not_awaited", on_guard<&Guard::synchronizeStream,
                                                     [](auto synchronize, const Stream& stream) {
                                                       if (stream.device_index() != 1)
                                                         synchronize(stream);
                                                     }>},
    {"fourth_stream_query_is_true", on_guard<&Guard::queryStream,
                                             [](auto query, const Stream& stream) {
                                               const bool done = query(stream);
                                               return done || ++calls % 4 == 0;
                                             }>},
    {"default_stream_query_waits", on_guard<&Guard::queryStream,
                                            [](auto query, const Stream& stream) {
                                              if (stream.id() == 0)
                                                guard().synchronizeStream(stream);
                                              return query(stream);
                                            }>},
    {"second_device_synchronize_is_of_first",
     on_guard<&Guard::synchronizeDevice,
              [](auto synchronize, DeviceIndex index) { synchronize(index == 1 ? 0 : index); }>},
    {"stream_is_forgotten_after_failure", forget_stream_after_failure},
    {"third_record_is_lost", on_guard<&Guard::record,
                                      [](auto record, void** event, const Stream& stream,
                                         DeviceIndex index, EventFlag flag) {
                                        if (*event == nullptr || count_of(*event) < 2)
                                          record(event, stream, index, flag);
                                      }>},
    {"ninth_block_is_lost", on_guard<&Guard::block,
                                     [](auto block, void* event, const Stream& stream) {
                                       if (event == nullptr || count_of(event) < 9)
                                         block(event, stream);
                                     }>},
    {"timing_events_are_complete", complete_timing_events_at_once},
    {"default_stream_never_blocks", on_guard<&Guard::block,
                                             [](auto block, void* event, const Stream& stream) {
                                               if (stream.id() != 0) block(event, stream);
                                             }>},
    {"elapsed_time_wraps_at_50_ms",
     on_guard<&Guard::elapsedTime,
              [](auto elapsed, void* start, void* end, DeviceIndex index) {
                return std::fmod(elapsed(start, end, index), 50.0);
              }>},
    {"eleventh_event_synchronize_is_early", on_guard<&Guard::synchronizeEvent,
                                                     [](auto synchronize, void* event) {
                                                       if (++calls % 11 != 0) synchronize(event);
                                                     }>},
    {"exchange_of_same_device_gives_0", on_guard<&Guard::exchangeDevice,
                                                 [](auto exchange, Device device) {
                                                   const Device before = exchange(device);
                                                   return before == device ? Device(kPrivateUse1, 0)
                                                                           : before;
                                                 }>},
    {"threads_count_no_device", on_guard<&Guard::deviceCount,
                                         [](auto count) {
                                           return std::this_thread::get_id() == main_thread
                                                      ? count()
                                                      : DeviceIndex(0);
                                         }>},
    {"second_record_of_memory_is_lost",
     on_guard<&Guard::recordDataPtrOnStream,
              [](auto record, const DataPtr& pointer, const Stream& stream) {
                if (count_of(pointer.get()) != 2) record(pointer, stream);
              }>},
    {"memory_is_recorded_once",
     on_allocator<&Allocator::recordStream,
                  [](auto record, const DataPtr& pointer, Stream stream) {
                    if (count_of(pointer.get()) == 1) record(pointer, stream);
                  }>},
    {"peak_is_reset_on_all_devices",
     on_allocator<&Allocator::resetPeakStats,
                  [](auto reset, DeviceIndex index) {
                    reset(index);
                    reset(index == 0 ? DeviceIndex(guard().deviceCount() - 1) : DeviceIndex(0));
                  }>},
    {"accumulated_reset_on_all_devices",
     on_allocator<&Allocator::resetAccumulatedStats,
                  [](auto reset, DeviceIndex index) {
                    reset(index);
                    reset(index == 0 ? DeviceIndex(guard().deviceCount() - 1) : DeviceIndex(0));
                  }>},
    {"second_empty_cache_raises", on_allocator<&Allocator::emptyCache,
                                               [](auto empty, c10::MempoolId_t pool) {
                                                 TORCH_CHECK(++calls % 2 == 1,
                                                             "there is nothing in the cache");
                                                 empty(pool);
                                               }>},
    {"free_exceeds_total_when_half_full", overstate_when_half_full},
    {"inside_of_pinned_is_not_pinned",
     on_hooks<&Hooks::isPinnedPtr,
              [](auto is_pinned, const void* pointer) {
                return reinterpret_cast<uintptr_t>(pointer) % 64 == 0 && is_pinned(pointer);
              }>},
    {"far_inside_of_pinned_is_not_pinned",
     on_hooks<&Hooks::isPinnedPtr,
              [](auto is_pinned, const void* pointer) {
                return is_pinned(pointer) && !is_pinned(static_cast<const char*>(pointer) - 4096);
              }>},
    {"unaligned_pointers_raise",
     on_hooks<&Hooks::isPinnedPtr,
              [](auto is_pinned, const void* pointer) {
                TORCH_CHECK(reinterpret_cast<uintptr_t>(pointer) % 2 == 0, "an odd address");
                return is_pinned(pointer);
              }>},
    {"device_of_inside_pointer_raises",
     on_hooks<&Hooks::getDeviceFromPtr,
              [](auto device_of, void* pointer) {
                TORCH_CHECK(reinterpret_cast<uintptr_t>(pointer) % 64 == 0, "no allocation");
                return device_of(pointer);
              }>},
    {"seed_of_63_bits", on_generator<&Generator::set_current_seed,
                                     [](auto set, uint64_t seed) { set(seed & INT64_MAX); }>},
    {"offset_of_32_bits",
     on_generator<&Generator::set_offset,
                  [](auto set, uint64_t offset) { set(offset & UINT32_MAX); }>},
};

}  // namespace

Mutants narrow_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
