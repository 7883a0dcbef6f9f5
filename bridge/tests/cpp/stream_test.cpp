// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Streams and events, with a gate that holds a stream shut where the backend has callbacks.
#include "check.h"

#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/event.h>
#include <runtime/memory.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <type_traits>

namespace tbk::test {
namespace {

/// Work of `stream` that is not over before open(), or the gate's end.
class Gate {
 public:
  explicit Gate(Stream& stream) : stream_(stream) {
    Backend& backend = Backend::get();
    ErrorBuffer error;
    tbk::check(backend.tables().callback.callback_enqueue(
                   backend.instance(), stream.handle,
                   [](void* self) { static_cast<Gate*>(self)->opened_.get_future().wait(); }, this,
                   &error),
               error, "callback_enqueue", stream.device);
  }
  ~Gate() {
    open();
    synchronize(stream_);
  }
  void open() {
    if (!is_open_) opened_.set_value();
    is_open_ = true;
  }

 private:
  Stream& stream_;
  std::promise<void> opened_;
  bool is_open_ = false;
};

template <typename Error>
bool throws(const std::function<void()>& call, const char* reason) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what_without_backtrace()).find(reason) != std::string::npos;
  }
  return false;
}

Location allocate(c10::DeviceIndex device, uint64_t bytes) {
  Backend& backend = Backend::get();
  backend.ensure_open(device);
  Location location{device, 0, 0};
  ErrorBuffer error;
  tbk::check(
      backend.core().memory_alloc(backend.instance(), device, bytes, &location.memory, &error),
      error, "memory_alloc", device);
  return location;
}

/// The first of 64 bytes.
int read_byte(Location location, Stream& stream) {
  uint8_t bytes[64];
  download(bytes, location, sizeof bytes, stream);
  synchronize(stream);
  return bytes[0];
}

void streams_are_given_out_in_turn() {
  Backend& backend = Backend::get();
  TBK_CHECK(!backend.is_open(0));
  TBK_CHECK_EQUAL(current_stream_id(0), 0);
  TBK_CHECK(!backend.is_open(0));
  std::vector<Stream*> made;
  for (int i = 0; i < 40; i++)
    made.push_back(&new_stream(0, 0));
  TBK_CHECK_EQUAL(std::set<Stream*>(made.begin(), made.end()).size(), size_t{32});
  TBK_CHECK(made[32] == made[0] && made[39] == made[7]);
  for (Stream* stream : made) {
    TBK_CHECK(stream != &default_stream(0) && stream->device == 0 && stream->id != 0);
    TBK_CHECK(&find_stream(stream->wrap()) == stream);
  }
  TBK_CHECK(backend.is_open(0));
}

void priorities_are_clamped() {
  const tbk_device_properties_t& properties = Backend::get().device(0).properties;
  TBK_CHECK_EQUAL(new_stream(0, 1 << 30).priority, properties.priority_least);
  TBK_CHECK_EQUAL(new_stream(0, -(1 << 30)).priority, properties.priority_greatest);
}

void unknown_streams_are_refused() {
  auto find = [](c10::Device device, c10::StreamId id) {
    find_stream(c10::Stream(c10::Stream::UNSAFE, device, id));
  };
  c10::Device device(c10::kPrivateUse1, 0);
  for (c10::StreamId id : {c10::StreamId{1}, c10::StreamId{-1}, c10::StreamId{1} << 40})
    TBK_CHECK(throws<c10::Error>([&] { find(device, id); }, "no stream with the id"));
  TBK_CHECK(throws<c10::Error>([&] { find(c10::Device(c10::kCPU, 0), 0); }, "not of cpu"));
  TBK_CHECK(throws<c10::Error>([&] { find(c10::Device(c10::kPrivateUse1, 100), 0); },
                               "invalid device index 100"));
}

void the_current_stream_is_the_threads() {
  Stream& side = new_stream(0, 0);
  TBK_CHECK(&exchange_stream(side) == &default_stream(0));
  TBK_CHECK(&current_stream(0) == &side);
  TBK_CHECK_EQUAL(current_stream_id(0), side.id);
  std::thread([] {
    TBK_CHECK(&current_stream(0) == &default_stream(0));
    exchange_stream(new_stream(0, 0));
  }).join();
  TBK_CHECK(&exchange_stream(default_stream(0)) == &side);
}

void native_handles_go_both_ways() {
  Stream& side = new_stream(0, 0);
  if (Backend::get().tables().stream.stream_native_handle == nullptr) {
    TBK_CHECK(throws<c10::NotImplementedError>([&] { native_handle(side); }, "native handles"));
    TBK_CHECK(throws<c10::NotImplementedError>([&] { stream_from_native(0, &side); }, "native"));
    return;
  }
  void* native = native_handle(side);
  TBK_CHECK(native != nullptr && native_handle(side) == native);
  Stream& wrapped = stream_from_native(0, native);
  TBK_CHECK(&wrapped != &side && &stream_from_native(0, native) == &wrapped);
  TBK_CHECK(native_handle(wrapped) == native);
}

void operations_are_noted_until_all_is_well() {
  Stream& stream = default_stream(0);
  TBK_CHECK(noted_operations(0).empty());
  for (const char* operation : {"a", "b", "c", "d", "e", "f", "g", "h", "i"})
    stream.note(operation);
  TBK_CHECK_SEEN(stream.noted() == "b, c, d, e, f, g, h, i", stream.noted());
  stream.forget();
  stream.note("k");
  TBK_CHECK_SEEN(noted_operations(0) == "on stream 0: k", noted_operations(0));
  ErrorBuffer error;
  auto fail = [&](tbk_status_t status) { raise_status(status, error, "stream_synchronize", 0); };
  TBK_CHECK(throws<c10::AcceleratorError>([&] { fail(TBK_FAILED); }, "on stream 0: k"));
  TBK_CHECK(!throws<c10::ValueError>([&] { fail(TBK_INVALID); }, "on stream"));
  synchronize_device(0);
  TBK_CHECK(noted_operations(0).empty());
}

void statuses_become_exceptions() {
  ErrorBuffer error;
  auto fail = [&](tbk_status_t status) { raise_status(status, error, "upload", 1); };
  std::string head = Backend::get().name() + ":1: upload: ";
  auto becomes = [&]<typename Error>(tbk_status_t status, const char* text,
                                     std::type_identity<Error>) {
    return throws<Error>([&] { fail(status); }, (head + text).c_str());
  };
  TBK_CHECK(becomes(TBK_INVALID, "INVALID: an argument", std::type_identity<c10::ValueError>{}));
  TBK_CHECK(
      becomes(TBK_UNSUPPORTED, "UNSUPPORTED: ", std::type_identity<c10::NotImplementedError>{}));
  TBK_CHECK(
      becomes(TBK_OUT_OF_MEMORY, "OUT_OF_MEMORY: ", std::type_identity<c10::OutOfMemoryError>{}));
  TBK_CHECK(becomes(TBK_DEVICE_LOST, "DEVICE_LOST: ", std::type_identity<c10::AcceleratorError>{}));
  TBK_CHECK(becomes(TBK_UNAVAILABLE, "UNAVAILABLE: ", std::type_identity<c10::Error>{}));
  TBK_CHECK(becomes(77, "status 77, which tbk.h does not know", std::type_identity<c10::Error>{}));
  std::fill_n(error.message, sizeof error.message, 'x');  // a backend that forgot the end
  TBK_CHECK(becomes(TBK_FAILED, "FAILED: xxxx", std::type_identity<c10::AcceleratorError>{}));
}

void events_order_streams() {
  Stream& first = new_stream(0, 0);
  Stream& second = new_stream(0, 0);
  Location memory = allocate(0, 64);
  Event event(false);
  TBK_CHECK(event.query() && !event.recorded());
  event.wait(second);
  event.synchronize();
  Gate gate(first);
  fill(memory, 1, 64, first);
  event.record(first);
  TBK_CHECK(!event.query() && !query(first));
  event.wait(second);
  event.record(first);  // changes nothing for the wait before
  fill(memory, 2, 64, second);
  TBK_CHECK(!query(second));
  gate.open();
  TBK_CHECK_EQUAL(read_byte(memory, second), 2);
  event.synchronize();
  TBK_CHECK(event.query());
}

void pending_events_may_go() {
  Stream& first = new_stream(0, 0);
  Stream& second = new_stream(0, 0);
  Location memory = allocate(0, 64);
  Gate gate(first);
  fill(memory, 1, 64, first);
  {
    Event event(false);
    event.record(first);
    event.wait(second);
  }
  Event reused(false);  // the pool gives the same one, recorded on a stream that is not held
  reused.record(new_stream(0, 0));
  reused.synchronize();
  fill(memory, 2, 64, second);
  TBK_CHECK(!query(second));
  gate.open();
  TBK_CHECK_EQUAL(read_byte(memory, second), 2);
}

void events_cross_devices() {
  Stream& there = new_stream(1, 0);
  Stream& here = new_stream(0, 0);
  Location memory = allocate(1, 64), copied = allocate(0, 64);
  fill(memory, 9, 64, there);
  Event event(false);
  event.record(there);
  TBK_CHECK(throws<c10::Error>([&] { event.record(here); }, "can't be recorded on a stream of"));
  event.wait(here);
  Event ready(false);
  ready.record(here);
  ready.wait(there);
  copy(copied, memory, 64, there);
  synchronize(there);
  TBK_CHECK_EQUAL(read_byte(copied, here), 9);
}

void time_passes_between_events() {
  Stream& stream = default_stream(0);
  Event start(true), end(true), untimed(false), unrecorded(true);
  start.record(stream);
  Location memory = allocate(0, 1 << 20);
  fill(memory, 3, 1 << 20, stream);
  end.record(stream);
  untimed.record(stream);
  end.synchronize();
  TBK_CHECK(Event::elapsed_ms(start, end) >= 0);
  TBK_CHECK(throws<c10::ValueError>([&] { Event::elapsed_ms(start, untimed); }, "enable_timing"));
  TBK_CHECK(throws<c10::ValueError>([&] { Event::elapsed_ms(start, unrecorded); }, "recorded"));
}

void an_incomplete_event_has_no_time() {
  Event start(true), end(true);
  Gate gate(default_stream(0));
  start.record(default_stream(0));
  end.record(default_stream(0));
  TBK_CHECK(throws<c10::Error>([&] { Event::elapsed_ms(start, end); }, "complete"));
}

/// The device has eight events, and the program wants a hundred at a time, of both kinds.
void events_never_run_out() {
  std::vector<Event> events;
  for (int i = 0; i < 100; i++) {
    events.emplace_back(i % 2 == 1);
    fill(allocate(0, 64), 1, 64, default_stream(0));
    events.back().record(default_stream(0));
    TBK_CHECK(events.back().recorded());
  }
  for (Event& event : events)
    event.synchronize();
  TBK_CHECK(std::all_of(events.begin(), events.end(), [](const Event& e) { return e.query(); }));
}

void a_closed_device_stays_closed() {
  synchronize_device(0);
  TBK_CHECK(!Backend::get().is_open(0));
  TBK_CHECK(throws<c10::Error>([] { synchronize_device(9); }, "invalid device index 9"));
}

const Registration everywhere(on_both({
    {"streams_are_given_out_in_turn", "", "", streams_are_given_out_in_turn},
    {"priorities_are_clamped", "", "", priorities_are_clamped},
    {"unknown_streams_are_refused", "", "", unknown_streams_are_refused},
    {"the_current_stream_is_the_threads", "", "", the_current_stream_is_the_threads},
    {"native_handles_go_both_ways", "", "", native_handles_go_both_ways},
    {"operations_are_noted_until_all_is_well", "", "", operations_are_noted_until_all_is_well},
    {"statuses_become_exceptions", "", "", statuses_become_exceptions},
    {"events_cross_devices", "", "", events_cross_devices},
    {"time_passes_between_events", "", "", time_passes_between_events},
    {"a_closed_device_stays_closed", "", "", a_closed_device_stays_closed},
}));

const Registration with_gates({
    {"events_order_streams", "cpu", "", events_order_streams},
    {"pending_events_may_go", "cpu", "", pending_events_may_go},
    {"an_incomplete_event_has_no_time", "cpu", "", an_incomplete_event_has_no_time},
    {"events_never_run_out", "cpu", "events=8", events_never_run_out},
    {"events_order_streams", "cpu", "events=8", events_order_streams},
});

}  // namespace
}  // namespace tbk::test
