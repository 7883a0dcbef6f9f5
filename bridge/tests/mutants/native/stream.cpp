// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The guard's streams.
#include <c10/util/Exception.h>
#include <registered.h>
#include <torch/version.h>

#include <atomic>
#include <cstdint>

namespace tbk::mutants {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::kPrivateUse1;
using c10::Stream;

Device concrete(Device device) {
  return device.has_index() ? device : guard().getDevice();
}

Stream stream_of(Device device, c10::StreamId id) {
  return Stream(Stream::UNSAFE, concrete(device), id);
}

Device next_device(Device device) {
  const int count = guard().deviceCount();
  return Device(kPrivateUse1, static_cast<DeviceIndex>((concrete(device).index() + 1) % count));
}

std::atomic<int> calls{0};
std::atomic<c10::StreamId> last_set{0};

/// What any thread has set is current in all of them.
void share_current_stream() {
  on_guard<&Guard::exchangeStream, [](auto exchange, Stream stream) {
    last_set = stream.id();
    return exchange(stream);
  }>();
  on_guard<&Guard::getStream, [](auto, Device device) { return stream_of(device, last_set); }>();
}

std::atomic<c10::StreamId> first_made{0};

/// The first stream that was made is gone once 32 others were made.
void expire_streams() {
  on_guard<&Guard::getNewStream, [](auto make, Device device, int priority) {
    Stream made = make(device, priority);
    if (calls++ == 0) first_made = made.id();
    return made;
  }>();
  on_guard<&Guard::exchangeStream, [](auto exchange, Stream stream) {
    TORCH_CHECK(calls < 32 || stream.id() == 0 || stream.id() != first_made, "no such stream");
    return exchange(stream);
  }>();
}

constexpr Mutant table[] = {
    {"get_stream_always_default",
     on_guard<&Guard::getStream, [](auto, Device device) { return stream_of(device, 0); }>},
    {"get_stream_of_next_device",
     on_guard<&Guard::getStream, [](auto get, Device device) { return get(next_device(device)); }>},
    {"get_stream_of_current_device",
     on_guard<&Guard::getStream, [](auto get, Device) { return get(guard().getDevice()); }>},
    {"get_stream_is_new_each_time",
     on_guard<&Guard::getStream, [](auto, Device device) { return guard().getNewStream(device); }>},
    {"get_stream_takes_any_index", on_guard<&Guard::getStream,
                                            [](auto get, Device device) {
                                              return get(device.index() < guard().deviceCount()
                                                             ? device
                                                             : Device(kPrivateUse1, 0));
                                            }>},
    {"get_stream_fails_late", on_guard<&Guard::getStream,
                                       [](auto get, Device device) {
                                         TORCH_CHECK(calls++ < 500, "no more streams");
                                         return get(device);
                                       }>},
    {"current_stream_is_shared", share_current_stream},
    {"exchange_stream_does_nothing",
     on_guard<&Guard::exchangeStream,
              [](auto, Stream stream) { return guard().getStream(stream.device()); }>},
    {"exchange_stream_changes_others", on_guard<&Guard::exchangeStream,
                                                [](auto exchange, Stream stream) {
                                                  const Device other = next_device(stream.device());
                                                  exchange(guard().getNewStream(other));
                                                  return exchange(stream);
                                                }>},
    {"query_stream_is_always_true",
     on_guard<&Guard::queryStream, [](auto, const Stream&) { return true; }>},
    {"query_of_the_second_device_waits", on_guard<&Guard::queryStream,
                                                  [](auto query, const Stream& stream) {
                                                    if (stream.device_index() == 1)
                                                      guard().synchronizeStream(stream);
                                                    return query(stream);
                                                  }>},
    {"query_stream_waits", on_guard<&Guard::queryStream,
                                    [](auto, const Stream& stream) {
                                      guard().synchronizeStream(stream);
                                      return true;
                                    }>},
    {"query_stream_is_never_true",
     on_guard<&Guard::queryStream, [](auto, const Stream&) { return false; }>},
    {"synchronize_stream_does_nothing",
     on_guard<&Guard::synchronizeStream, [](auto, const Stream&) {}>},
    {"synchronize_waits_for_default_stream",
     on_guard<&Guard::synchronizeStream,
              [](auto wait, const Stream& stream) { wait(stream_of(stream.device(), 0)); }>},
    {"synchronize_device_does_nothing",
     on_guard<&Guard::synchronizeDevice, [](auto, DeviceIndex) {}>},
    {"synchronize_device_of_current",
     on_guard<&Guard::synchronizeDevice,
              [](auto wait, DeviceIndex) { wait(guard().getDevice().index()); }>},
    {"synchronize_device_its_default_stream", on_guard<&Guard::synchronizeDevice,
                                                       [](auto, DeviceIndex index) {
                                                         guard().synchronizeStream(stream_of(
                                                             Device(kPrivateUse1, index), 0));
                                                       }>},
    {"synchronize_device_its_current_stream",
     on_guard<&Guard::synchronizeDevice,
              [](auto, DeviceIndex index) {
                guard().synchronizeStream(guard().getStream(Device(kPrivateUse1, index)));
              }>},
    {"synchronize_device_wants_its_thread",
     on_guard<&Guard::synchronizeDevice,
              [](auto wait, DeviceIndex index) {
                static thread_local const bool known = calls++ == 0;
                TORCH_CHECK(known, "this thread has no context");
                wait(index);
              }>},
    {"synchronize_device_sets_it", on_guard<&Guard::synchronizeDevice,
                                            [](auto wait, DeviceIndex index) {
                                              wait(index);
                                              guard().setDevice(Device(kPrivateUse1, index));
                                            }>},
    {"new_stream_is_default",
     on_guard<&Guard::getNewStream, [](auto, Device device, int) { return stream_of(device, 0); }>},
    {"stream_ids_expire", expire_streams},
    {"new_stream_refuses_priorities", on_guard<&Guard::getNewStream,
                                               [](auto make, Device device, int priority) {
                                                 TORCH_CHECK(priority >= -2 && priority <= 2,
                                                             "no such priority");
                                                 return make(device, priority);
                                               }>},
    {"new_streams_run_out", on_guard<&Guard::getNewStream,
                                     [](auto make, Device device, int priority) {
                                       TORCH_CHECK(calls++ < 64, "no more streams");
                                       return make(device, priority);
                                     }>},
    {"later_streams_have_no_priority", on_guard<&Guard::getNewStream,
                                                [](auto make, Device device, int priority) {
                                                  return make(device, ++calls > 32 ? 0 : priority);
                                                }>},
    {"native_handle_differs_each_time", on_guard<&Guard::getStreamNativeHandle,
                                                 [](auto, Stream) {
                                                   return reinterpret_cast<void*>(
                                                       static_cast<uintptr_t>(++calls));
                                                 }>},
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 12
    {"stream_is_capturing",
     on_guard<&Guard::isStreamCapturing, [](auto, const Stream&) { return true; }>},
    {"stream_capturing_raises",
     on_guard<&Guard::isStreamCapturing,
              [](auto, const Stream&) -> bool { TORCH_CHECK(false, "no graphs"); }>},
#endif
};

}  // namespace

Mutants stream_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
