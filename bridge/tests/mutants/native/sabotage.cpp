// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Faults for the bench of first diagnoses (tbk_torch_sabotages.py), and for no kill matrix.
#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>
#include <registered.h>
#include <unistd.h>

#include <set>

namespace tbk::mutants {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::EventFlag;
using c10::kPrivateUse1;
using c10::Stream;
using Generator = c10::GeneratorImpl;
using Stats = c10::CachingDeviceAllocator::DeviceStats;

bool is_main_thread() {
  return getpid() == gettid();
}

/// Memory that another stream uses is waited for on the stream that is current when it is recorded.
void record_current_stream() {
  on_allocator<&Allocator::recordStream, [](auto record, const c10::DataPtr& pointer, Stream) {
    record(pointer, guard().getStream(pointer.device()));
  }>();
}

void cut_seeds() {
  const at::Generator& generator = at::detail::getPrivateUse1Hooks().getDefaultGenerator(0);
  replace<&Generator::set_current_seed, [](auto set, uint64_t seed) { set(seed & 0xffff); }>(
      *generator.unsafeGetGeneratorImpl());
}

constexpr Mutant table[] = {
    {"sabotage_stream_query_is_of_the_default", on_guard<&Guard::queryStream,
                                                         [](auto query, const Stream& stream) {
                                                           return query(Stream(Stream::DEFAULT,
                                                                               stream.device()));
                                                         }>},
    {"sabotage_own_streams_are_not_awaited", on_guard<&Guard::synchronizeStream,
                                                      [](auto wait, const Stream& stream) {
                                                        if (stream == Stream(Stream::DEFAULT,
                                                                             stream.device()))
                                                          wait(stream);
                                                      }>},
    {"sabotage_record_takes_current_stream",
     on_guard<&Guard::record,
              [](auto record, void** event, const Stream& stream, DeviceIndex index,
                 EventFlag flag) {
                record(event, guard().getStream(stream.device()), index, flag);
              }>},
    {"sabotage_block_takes_current_stream",
     on_guard<&Guard::block,
              [](auto block, void* event, const Stream& stream) {
                block(event, guard().getStream(stream.device()));
              }>},
    {"sabotage_event_is_complete_when_asked_again", on_guard<&Guard::queryEvent,
                                                             [](auto query, void* event) {
                                                               static auto& asked =
                                                                   *new std::set<void*>();
                                                               return !asked.insert(event).second ||
                                                                      query(event);
                                                             }>},
    {"sabotage_elapsed_time_in_microseconds",
     on_guard<&Guard::elapsedTime,
              [](auto elapsed, void* start, void* end, DeviceIndex index) {
                return 1000 * elapsed(start, end, index);
              }>},
    {"sabotage_threads_stay_on_device_0", on_guard<&Guard::setDevice,
                                                   [](auto set, Device device) {
                                                     if (is_main_thread()) set(device);
                                                   }>},
    {"sabotage_recorded_stream_is_the_current_one", record_current_stream},
    {"sabotage_frees_are_counted_twice", on_allocator<&Allocator::getDeviceStats,
                                                      [](auto get, DeviceIndex device) {
                                                        Stats stats = get(device);
                                                        stats.allocated_bytes[0].current =
                                                            stats.allocated_bytes[0].allocated -
                                                            2 * stats.allocated_bytes[0].freed;
                                                        return stats;
                                                      }>},
    {"sabotage_generator_cuts_seeds", cut_seeds},
    {"sabotage_waits_are_for_the_current_device",
     on_guard<&Guard::block,
              [](auto block, void* event, const Stream& stream) {
                if (stream.device() == guard().getDevice()) block(event, stream);
              }>},
    {"sabotage_second_record_is_lost", on_guard<&Guard::record,
                                                [](auto record, void** event, const Stream& stream,
                                                   DeviceIndex index, EventFlag flag) {
                                                  if (*event == nullptr)
                                                    record(event, stream, index, flag);
                                                }>},
    {"sabotage_backward_leaves_its_stream",
     on_guard<&Guard::exchangeStream,
              [](auto exchange, Stream stream) {
                return is_main_thread() ? exchange(stream) : guard().getStream(stream.device());
              }>},
    {"sabotage_peaks_are_what_is_current", on_allocator<&Allocator::getDeviceStats,
                                                        [](auto get, DeviceIndex device) {
                                                          Stats stats = get(device);
                                                          for (auto& one : stats.allocated_bytes)
                                                            one.peak = one.current;
                                                          return stats;
                                                        }>},
};

}  // namespace

Mutants sabotages() {
  return all_of(table);
}

}  // namespace tbk::mutants
