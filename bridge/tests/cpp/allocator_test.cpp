// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What the device and the pinned allocator promise, one thing at a time.
#include "check.h"
#include "gate.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/impl/COW.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/device_allocator.h>
#include <runtime/event.h>
#include <runtime/host_allocator.h>
#include <runtime/memory.h>
#include <runtime/stream.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

namespace tbk::test {
namespace {

constexpr uint64_t kib = 1024, mib = 1024 * kib;

c10::CachingDeviceAllocator::DeviceStats statistics() {
  return device_allocator().getDeviceStats(0);
}

Location at(const c10::DataPtr& data) {
  return {data.device().index(), handle_of(data.get()), 0};
}

c10::DataPtr allocate_on_stream(Stream& stream, uint64_t bytes) {
  Stream& previous = exchange_stream(stream);
  c10::DataPtr data = device_allocator().allocate_on(0, bytes);
  exchange_stream(previous);
  return data;
}

bool holds(const c10::DataPtr& data, uint64_t bytes, uint8_t value, Stream& stream) {
  std::vector<uint8_t> seen(bytes);
  download(seen.data(), at(data), bytes, stream);
  synchronize(stream);
  return std::all_of(seen.begin(), seen.end(), [=](uint8_t byte) { return byte == value; });
}

// --------------------------------------------------------------------------------------- reuse --

/// A block is freed while another stream, held by a gate, is still to read it; then its own stream
/// asks for as much, and writes. Returns whether the late reader has read what it should.
bool late_reader_is_right(bool record) {
  constexpr uint64_t bytes = 64 * kib;
  Stream &own = new_stream(0, 0), &other = new_stream(0, 0);
  c10::DataPtr block = allocate_on_stream(own, bytes);
  const c10::DataPtr copied = allocate_on_stream(other, bytes);
  fill(at(block), 1, bytes, own);
  synchronize(own);
  Gate gate(other);
  copy(at(copied), at(block), bytes, other);
  if (record) device_allocator().recordStream(block, other.wrap());
  block.clear();
  const c10::DataPtr next = allocate_on_stream(own, bytes);
  fill(at(next), 2, bytes, own);
  synchronize(own);
  gate.open();
  return holds(copied, bytes, 1, other);
}

void allocator_waits_for_recorded_streams() {
  TBK_CHECK(late_reader_is_right(/*record=*/true));
  TBK_CHECK(!late_reader_is_right(/*record=*/false));  // the control: else nothing has been shown
}

void allocator_counts_what_waits() {
  Stream &own = new_stream(0, 0), &other = new_stream(0, 0);
  c10::DataPtr block = allocate_on_stream(own, 3 * kib);
  const auto before = statistics();
  Gate gate(other);
  device_allocator().recordStream(block, other.wrap());
  device_allocator().recordStream(block, own.wrap());
  block.clear();
  const auto after = statistics();
  TBK_CHECK_EQUAL(after.allocation[0].current, before.allocation[0].current - 1);
  TBK_CHECK_EQUAL(after.active[0].current, before.active[0].current);
  TBK_CHECK_EQUAL(after.active_bytes[1].current, before.active_bytes[1].current);
  gate.open();
  synchronize(other);
  c10::DataPtr again = allocate_on_stream(own, 3 * kib);
  TBK_CHECK_EQUAL(statistics().active[0].current, before.active[0].current);
  TBK_CHECK_EQUAL(statistics().active[0].freed, before.active[0].freed + 1);
}

void allocator_reuses_on_one_stream() {
  const void* first = device_allocator().allocate_on(0, 1000).get();
  TBK_CHECK(device_allocator().allocate_on(0, 1000).get() == first);
  const auto allocs = statistics().num_device_alloc;
  for (int i = 0; i < 10000; i++)
    device_allocator().allocate_on(0, 1 + static_cast<size_t>(i) % 5000);
  TBK_CHECK_EQUAL(statistics().num_device_alloc, allocs);
  TBK_CHECK_EQUAL(statistics().allocation[0].current, 0);
}

void allocator_joins_neighbours() {
  std::vector<c10::DataPtr> blocks;
  for (int i = 0; i < 4096; i++)
    blocks.push_back(device_allocator().allocate_on(0, 512));
  TBK_CHECK_EQUAL(statistics().reserved_bytes[1].current, 2 * mib);
  TBK_CHECK_EQUAL(statistics().inactive_split[0].current, 0);
  for (size_t i = 0; i < blocks.size(); i += 2)
    blocks[i].clear();
  TBK_CHECK_EQUAL(statistics().inactive_split[0].current, 2048);
  TBK_CHECK_EQUAL(statistics().inactive_split_bytes[0].current, 1 * mib);
  blocks.clear();
  const c10::DataPtr half = device_allocator().allocate_on(0, 1 * mib);
  TBK_CHECK_EQUAL(statistics().reserved_bytes[1].current, 2 * mib);
  TBK_CHECK_EQUAL(statistics().inactive_split[0].current, 1);
  TBK_CHECK_EQUAL(statistics().inactive_split_bytes[0].current, 1 * mib);
}

void allocator_splits_only_flat_addresses() {
  const bool flat = Backend::get().device(0).flat_address();
  const c10::DataPtr block = device_allocator().allocate_on(0, 1000);
  TBK_CHECK_EQUAL(statistics().reserved_bytes[0].current, flat ? 2 * mib : 1 * kib);
  TBK_CHECK_EQUAL(statistics().inactive_split[0].current, flat ? 1 : 0);
  TBK_CHECK((statistics().max_split_size > 0) == flat);
}

// ------------------------------------------------------------------------------------ edges --

void allocator_edges() {
  const c10::DataPtr nothing = device_allocator().allocate_on(1, 0);
  TBK_CHECK(nothing.get() == nullptr && nothing.device().index() == 1);
  TBK_CHECK(!device_allocator().initialized());
  device_allocator().emptyCache();
  TBK_CHECK_EQUAL(statistics().num_device_alloc, 0);
  const CurrentDeviceGuard guard(1);
  const c10::DataPtr block = device_allocator().allocate(100);
  TBK_CHECK(block.device() == c10::Device(c10::kPrivateUse1, 1));
  TBK_CHECK(device_allocator().initialized());
  TBK_CHECK(device_allocator().owner(block.get()) == std::optional<c10::DeviceIndex>(1));
  TBK_CHECK(!device_allocator().owner(&block).has_value());
  for (const c10::DeviceIndex index : {-1, 2, 127}) {
    try {
      device_allocator().getDeviceStats(index);
      TBK_CHECK(false && "an index out of range raises");
    } catch (const c10::Error& error) {
      TBK_CHECK(std::strstr(error.what(), "2") != nullptr);
    }
  }
}

std::string out_of_memory_text(uint64_t bytes) {
  try {
    device_allocator().allocate_on(0, bytes);
  } catch (const c10::OutOfMemoryError& error) {
    return error.what_without_backtrace();
  }
  return "";
}

void allocator_out_of_memory() {
  std::string text;
  const c10::DataPtr used = device_allocator().allocate_on(0, 4 * mib);
  fill(at(used), 5, 4 * mib, default_stream(0));
  for (const uint64_t bytes :
       {std::numeric_limits<uint64_t>::max(), UINT64_C(1) << 63, UINT64_C(1) << 56, 100 * mib}) {
    text = out_of_memory_text(bytes);
    TBK_CHECK_SEEN(text.find("Tried to allocate") == 0, text);
  }
  for (const char* part :
       {"100.00 MiB", ":0", "In use: 4.00 MiB", "says: OUT_OF_MEMORY", "free of 64.00 MiB"})
    TBK_CHECK_SEEN(text.find(part) != std::string::npos, text);
  TBK_CHECK_EQUAL(statistics().num_ooms, 4);
  TBK_CHECK(holds(used, 4 * mib, 5, default_stream(0)));
  TBK_CHECK(device_allocator().allocate_on(0, 30 * mib).get() != nullptr);
}

void allocator_limit() {
  device_allocator().set_memory_limit(0, 3 * mib);
  TBK_CHECK_EQUAL(device_allocator().memory_limit(0), 3 * mib);
  TBK_CHECK(device_allocator().allocate_on(0, 100).get() != nullptr);
  // What is cached makes room; segments are no larger than the limit.
  c10::DataPtr most = device_allocator().allocate_on(0, 3 * mib);
  TBK_CHECK_EQUAL(statistics().reserved_bytes[0].current, 3 * mib);
  const std::string text = out_of_memory_text(100);
  TBK_CHECK_SEEN(text.find("limit: 3.00 MiB") != std::string::npos, text);
  device_allocator().set_memory_limit(0, 0);
  TBK_CHECK(device_allocator().allocate_on(0, 100).get() != nullptr);
}

/// Memory that another stream's cache holds, and what waits for an event, is not lost to this one.
void allocator_takes_back_from_other_streams() {
  device_allocator().set_memory_limit(0, 8 * mib);
  Stream &own = new_stream(0, 0), &other = new_stream(0, 0);
  c10::DataPtr block = allocate_on_stream(own, 6 * mib);
  fill(at(block), 1, 6 * mib, other);
  device_allocator().recordStream(block, other.wrap());
  block.clear();
  TBK_CHECK(allocate_on_stream(other, 6 * mib).get() != nullptr);
  TBK_CHECK_EQUAL(statistics().num_alloc_retries, 1);
  TBK_CHECK_EQUAL(statistics().num_ooms, 0);
}

void allocator_resets_statistics() {
  { const c10::DataPtr block = device_allocator().allocate_on(0, 2 * mib); }
  const c10::DataPtr kept = device_allocator().allocate_on(0, 1000);
  auto stats = statistics();
  TBK_CHECK_EQUAL(stats.allocated_bytes[0].peak, 2 * mib);
  TBK_CHECK_EQUAL(stats.allocated_bytes[0].current, 1024);
  TBK_CHECK_EQUAL(stats.requested_bytes[0].current, 1000);
  TBK_CHECK_EQUAL(stats.allocation[2].freed, 1);
  device_allocator().resetPeakStats(0);
  device_allocator().resetAccumulatedStats(0);
  stats = statistics();
  for (const auto& array : {stats.allocated_bytes, stats.active_bytes}) {
    TBK_CHECK_EQUAL(array[0].peak, 1024);
    TBK_CHECK_EQUAL(array[0].current, 1024);
    TBK_CHECK_EQUAL(array[0].allocated, 0);
    TBK_CHECK_EQUAL(array[0].freed, 0);
  }
}

/// With no event left, the stream itself is asked later, and the deleter does not wait for it: the
/// gate is closed, and opens only after the block was freed.
void allocator_frees_without_an_event() {
  Stream &own = new_stream(0, 0), &other = new_stream(0, 0);
  Event only;
  only.record(own);
  c10::DataPtr block = allocate_on_stream(own, 4 * kib);
  const void* address = block.get();
  Gate gate(other);
  fill(at(block), 1, 4 * kib, other);
  device_allocator().recordStream(block, other.wrap());
  block.clear();
  TBK_CHECK(allocate_on_stream(own, 4 * kib).get() != address);
  TBK_CHECK_EQUAL(statistics().active[0].current - statistics().allocation[0].current, 1);
  gate.open();
  synchronize(other);
  TBK_CHECK(allocate_on_stream(own, 4 * kib).get() == address);
}

void allocator_keeps_to_the_largest_allocation() {
  const uint64_t most = Backend::get().device(0).properties.max_allocation_bytes;
  TBK_CHECK(most != 0);
  TBK_CHECK(device_allocator().allocate_on(0, most).get() != nullptr);
  TBK_CHECK(device_allocator().allocate_on(0, most - 1).get() != nullptr);
  TBK_CHECK(device_allocator().allocate_on(0, 100).get() != nullptr);
  const std::string text = out_of_memory_text(most + 1);
  TBK_CHECK_SEEN(text.find("in one allocation") != std::string::npos, text);
}

// ---------------------------------------------------------------------------- copy on write --

/// PyTorch allocates and copies by itself when such a storage is written to, also while another
/// device is current; and devices may have equal handles.
void allocator_copies_on_write() {
  constexpr size_t bytes = 1000;
  const CurrentDeviceGuard guard(1);
  const c10::DataPtr same_handle_elsewhere = device_allocator().allocate_on(1, bytes);
  auto first = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                     storage_allocator(0).allocate(bytes),
                                                     &storage_allocator(0), true);
  fill({0, handle_of(first->data()), 0}, 7, bytes, current_stream(0));
  const auto second = c10::impl::cow::lazy_clone_storage(*first);
  TBK_CHECK(second != nullptr && second->data() == first->data());
  void* written = second->mutable_data();
  TBK_CHECK(written != first->data());
  TBK_CHECK_EQUAL(static_cast<int>(second->device().index()), 0);
  TBK_CHECK(holds(second->data_ptr(), bytes, 7, current_stream(0)));
  TBK_CHECK(first->mutable_data() != nullptr);  // the last: it takes the memory over
  TBK_CHECK(!c10::impl::cow::is_cow_data_ptr(first->data_ptr()));
  TBK_CHECK_EQUAL(statistics().allocation[0].current, 2);
  first.reset();
  TBK_CHECK_EQUAL(statistics().allocation[0].current, 1);
  TBK_CHECK_EQUAL(device_allocator().getDeviceStats(1).allocation[0].current, 1);
}

// ------------------------------------------------------------------------------------ pinned --

bool late_upload_is_right(bool record) {
  constexpr uint64_t bytes = 4 * kib;
  Stream& stream = new_stream(0, 0);
  const c10::DataPtr device = allocate_on_stream(stream, bytes);
  c10::DataPtr host = host_allocator().allocate(bytes);
  std::memset(host.get(), 1, bytes);
  Gate gate(stream);
  upload(at(device), host.get(), bytes, stream);
  if (record) record_pinned(static_cast<char*>(host.get()) + 100, stream.wrap());
  host.clear();
  const c10::DataPtr next = host_allocator().allocate(bytes);
  std::memset(next.get(), 2, bytes);
  gate.open();
  return holds(device, bytes, 1, stream);
}

void pinned_waits_for_copies() {
  TBK_CHECK(late_upload_is_right(/*record=*/true));
  TBK_CHECK(!late_upload_is_right(/*record=*/false));  // the control
}

void pinned_intervals() {
  const int elsewhere = 0;
  TBK_CHECK(!is_pinned(nullptr) && !is_pinned(&elsewhere));
  TBK_CHECK(!device_allocator().initialized());
  c10::DataPtr host = host_allocator().allocate(100);
  const char* begin = static_cast<const char*>(host.get());
  TBK_CHECK(host.device().is_cpu());
  TBK_CHECK(is_pinned(begin) && is_pinned(begin + 99));
  TBK_CHECK(!is_pinned(begin + 100) && !is_pinned(begin - 1));
  TBK_CHECK(!host_allocator().record_event(nullptr, nullptr, default_stream(0).wrap()));
  record_pinned(&elsewhere, default_stream(0).wrap());
  host.clear();
  TBK_CHECK(!is_pinned(begin));
  TBK_CHECK(host_allocator().allocate(100).get() == begin);
  TBK_CHECK(host_allocator().allocate(0).get() == nullptr);
  host_allocator().empty_cache();
  TBK_CHECK_EQUAL(host_allocator().get_stats().allocations.current, 0);
}

void pinned_is_refused_where_there_is_none() {
  try {
    host_allocator().allocate(100);
    TBK_CHECK(false && "pinned memory is refused");
  } catch (const c10::NotImplementedError& error) {
    TBK_CHECK(std::strstr(error.what(), "no pinned memory") != nullptr);
  }
}

const Registration registration({
    {"allocator_waits_for_recorded_streams", "cpu", "", allocator_waits_for_recorded_streams},
    {"allocator_waits_for_recorded_streams", "cpu", "flat=0", allocator_waits_for_recorded_streams},
    {"allocator_counts_what_waits", "cpu", "", allocator_counts_what_waits},
    {"allocator_reuses_on_one_stream", "cpu", "", allocator_reuses_on_one_stream},
    {"allocator_reuses_on_one_stream", "template", "", allocator_reuses_on_one_stream},
    {"allocator_joins_neighbours", "cpu", "", allocator_joins_neighbours},
    {"allocator_splits_only_flat_addresses", "cpu", "", allocator_splits_only_flat_addresses},
    {"allocator_splits_only_flat_addresses", "cpu", "flat=0", allocator_splits_only_flat_addresses},
    {"allocator_edges", "cpu", "devices=2", allocator_edges},
    {"allocator_out_of_memory", "cpu", "memory=64M", allocator_out_of_memory},
    {"allocator_limit", "cpu", "", allocator_limit},
    {"allocator_takes_back_from_other_streams", "cpu", "", allocator_takes_back_from_other_streams},
    {"allocator_resets_statistics", "cpu", "", allocator_resets_statistics},
    {"allocator_copies_on_write", "cpu", "devices=2", allocator_copies_on_write},
    {"allocator_copies_on_write", "cpu", "devices=2,flat=0", allocator_copies_on_write},
    {"allocator_frees_without_an_event", "cpu", "events=1", allocator_frees_without_an_event},
    {"allocator_keeps_to_the_largest_allocation", "cpu", "max_allocation=5000000,memory=64M",
     allocator_keeps_to_the_largest_allocation},
    {"pinned_waits_for_copies", "cpu", "", pinned_waits_for_copies},
    {"pinned_intervals", "cpu", "", pinned_intervals},
    {"pinned_is_refused_where_there_is_none", "template", "",
     pinned_is_refused_where_there_is_none},
});

}  // namespace
}  // namespace tbk::test
