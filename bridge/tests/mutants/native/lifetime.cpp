// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Blocks that wait for recorded streams, kept before the allocator gets them back: where one of them
// goes too early, or never.
#include <c10/core/Event.h>
#include <c10/util/Exception.h>
#include <registered.h>
#include <storages.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace tbk::mutants {
namespace {

using c10::DataPtr;
using c10::Event;
using c10::kPrivateUse1;
using c10::Stream;

/// What is broken; at `nothing` each block waits for each stream that was recorded.
enum class Fault {
  nothing,
  cache_emptied,     // emptying the cache frees what waits
  memory_exhausted,  // running out of memory does
  few_allocations,   // the third allocation does
  other_thread,      // what another thread frees does not wait
  last_stream,       // only the stream that was recorded last is waited for
  used_again,        // memory at an address that waited once does not wait again
  two_streams_leak,  // what two streams were recorded on is never freed
  recorded_early,    // what a stream gets after it was recorded is not waited for
};

struct Waiting {
  DataPtr block;
  std::vector<Event> events;
  int allocations = 0;  // since it was freed

  bool passed() const {
    for (const Event& event : events)
      if (!event.query()) return false;
    return true;
  }
};

constexpr size_t absurd = size_t{1} << 29;  // more than devices in software have

Fault fault = Fault::nothing;
const std::thread::id first_thread = std::this_thread::get_id();

struct State {
  std::mutex mutex;
  std::map<void*, std::vector<Stream>> streams;
  std::map<void*, std::vector<Event>> events;  // of streams, where they are recorded early
  std::set<void*> waited;
  std::vector<Waiting> waiting;
};

/// Never deleted: tensors may outlive all static objects.
State& state() {
  static auto& made = *new State();
  return made;
}

Event event_of(const Stream& stream) {
  Event event(kPrivateUse1);
  event.record(stream);
  return event;
}

void record(const DataPtr& pointer, Stream stream) {
  if (pointer.get() == nullptr) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().streams[pointer.get()].push_back(stream);
  if (fault == Fault::recorded_early) state().events[pointer.get()].push_back(event_of(stream));
}

bool waits(void* data, const std::vector<Stream>& streams) {
  if (streams.empty()) return false;
  if (fault == Fault::other_thread && std::this_thread::get_id() != first_thread) return false;
  return state().waited.insert(data).second || fault != Fault::used_again;
}

/// The block that was freed last, with the events it waits for.
void free_block(void* context) {
  auto* held = static_cast<DataPtr*>(context);
  const std::lock_guard<std::mutex> lock(state().mutex);
  void* data = held->get();
  std::vector<Stream> streams = std::move(state().streams[data]);
  state().streams.erase(data);
  const std::set<c10::StreamId> ids = [&] {
    std::set<c10::StreamId> found;
    for (const Stream& stream : streams)
      found.insert(stream.id());
    return found;
  }();
  if (fault == Fault::two_streams_leak && ids.size() > 1) return;
  if (waits(data, streams)) {
    if (fault == Fault::last_stream) streams.erase(streams.begin(), streams.end() - 1);
    Waiting waiting{std::move(*held), std::move(state().events[data])};
    if (waiting.events.empty())
      for (const Stream& stream : streams)
        waiting.events.push_back(event_of(stream));
    state().waiting.push_back(std::move(waiting));
  }
  state().events.erase(data);
  delete held;
}

/// Gives back what waits no longer: all of it where `all`, once it is over if `wait`. Returns how much
/// of it had not passed.
size_t give_back(bool all, bool wait) {
  std::vector<Waiting> passed;  // freed once the lock is open
  size_t early = 0;
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::vector<Waiting>& waiting = state().waiting;
  for (size_t i = waiting.size(); i-- > 0;) {
    Waiting& one = waiting[i];
    const bool late = fault == Fault::few_allocations && ++one.allocations > 2;
    const bool over = one.passed();
    if (!all && !late && !over) continue;
    early += !over && !wait;
    if (all && wait)
      for (const Event& event : one.events)
        event.synchronize();
    passed.push_back(std::move(one));
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
  }
  return early;
}

template <class Allocate>
DataPtr allocate_block(Allocate allocate, size_t bytes) {
  give_back(/*all=*/false, /*wait=*/false);
  auto held = std::make_unique<DataPtr>();
  if (fault == Fault::memory_exhausted && bytes >= absurd) {
    give_back(/*all=*/true, /*wait=*/false);
    TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory for ", bytes, " bytes");
  }
  try {
    *held = allocate(bytes);
  } catch (const c10::OutOfMemoryError&) {
    give_back(/*all=*/true, /*wait=*/true);
    *held = allocate(bytes);
  }
  if (held->get() == nullptr) return std::move(*held);
  void* data = held->get();
  const c10::Device device = held->device();
  return DataPtr(data, held.release(), free_block, device);
}

template <Fault which>
void keep_outside(OfStorage& allocator) {
  fault = which;
  on_allocator<&Allocator::recordStream,
               [](auto, const DataPtr& pointer, Stream stream) { record(pointer, stream); }>();
  on_allocator<&Allocator::emptyCache, [](auto empty, c10::MempoolId_t pool) {
    const bool broken = fault == Fault::cache_emptied;
    // What the allocator gives back itself would wait for the whole device.
    if (give_back(/*all=*/true, /*wait=*/!broken) == 0) empty(pool);
  }>();
  replace<&OfStorage::allocate,
          [](auto allocate, size_t bytes) { return allocate_block(allocate, bytes); }>(allocator);
}

constexpr OfStorageMutant table[] = {
    {"recorded_blocks_kept_outside", keep_outside<Fault::nothing>},
    {"emptying_frees_what_waits", keep_outside<Fault::cache_emptied>},
    {"exhaustion_frees_what_waits", keep_outside<Fault::memory_exhausted>},
    {"third_allocation_frees_what_waits", keep_outside<Fault::few_allocations>},
    {"freed_in_thread_waits_for_nothing", keep_outside<Fault::other_thread>},
    {"only_last_recorded_stream_counts", keep_outside<Fault::last_stream>},
    {"block_waits_only_once", keep_outside<Fault::used_again>},
    {"recorded_twice_is_lost", keep_outside<Fault::two_streams_leak>},
    {"recorded_before_the_work", keep_outside<Fault::recorded_early>},
};

}  // namespace

OfStorageMutants lifetime_mutants() {
  return all_of_storages(table);
}

}  // namespace tbk::mutants
