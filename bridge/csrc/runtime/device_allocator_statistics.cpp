// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_statistics.h>

#include <limits>

namespace tbk {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingDeviceAllocator::DeviceStats;

namespace {

Stat sum_of(const Stat& a, const Stat& b, int64_t peak) {
  Stat sum;
  sum.current = a.current + b.current;
  sum.peak = peak;
  sum.allocated = a.allocated + b.allocated;
  sum.freed = a.freed + b.freed;
  return sum;
}

struct Member {
  Series Statistics::*ours;
  StatArray DeviceStats::*theirs;
};

constexpr Member members[] = {
    {&Statistics::allocation, &DeviceStats::allocation},
    {&Statistics::allocated_bytes, &DeviceStats::allocated_bytes},
    {&Statistics::requested_bytes, &DeviceStats::requested_bytes},
    {&Statistics::segment, &DeviceStats::segment},
    {&Statistics::reserved_bytes, &DeviceStats::reserved_bytes},
    {&Statistics::inactive_split, &DeviceStats::inactive_split},
    {&Statistics::inactive_split_bytes, &DeviceStats::inactive_split_bytes},
};

}  // namespace

// -------------------------------------------------------------------------------------- series --

Stat Series::Part::stat() const {
  Stat stat;
  stat.current = current();
  stat.peak = peak;
  stat.allocated = grown - grown_at_reset;
  stat.freed = shrunk - shrunk_at_reset;
  return stat;
}

void Series::reset_accumulated() {
  for (Part& part : parts_) {
    part.grown_at_reset = part.grown;
    part.shrunk_at_reset = part.shrunk;
  }
}

void Series::reset_peak() {
  for (Part& part : parts_)
    part.peak = part.current();
  peak_ = current();
}

StatArray Series::stats() const {
  const Stat small = parts_[0].stat(), large = parts_[1].stat();
  return {sum_of(small, large, peak_), small, large};
}

ActiveSeries::Values ActiveSeries::current(const Series& in_use) const {
  const int64_t small = in_use.parts_[0].current() + waiting.parts_[0].current();
  const int64_t large = in_use.parts_[1].current() + waiting.parts_[1].current();
  return {small + large, small, large};
}

void ActiveSeries::raise_peak(const Series& in_use) {
  const Values now = current(in_use);
  for (size_t i = 0; i < now.size(); i++)
    peak_[i] = std::max(peak_[i], now[i]);
}

void ActiveSeries::reset_peak(const Series& in_use) {
  peak_ = current(in_use);
}

/// What is freed stops being active when it does not wait, or no longer.
StatArray ActiveSeries::stats(const Series& in_use) const {
  StatArray stats = in_use.stats();
  const StatArray waits = waiting.stats();
  for (size_t i = 0; i < stats.size(); i++) {
    stats[i].current += waits[i].current;
    stats[i].freed -= waits[i].allocated - waits[i].freed;
    stats[i].peak = std::max(stats[i].peak, peak_[i]);
  }
  return stats;
}

// ---------------------------------------------------------------------------------- statistics --

void Statistics::raise_active_peak() {
  active.raise_peak(allocation);
  active_bytes.raise_peak(allocated_bytes);
}

void Statistics::add_waiting(const Block& block) {
  active.waiting.increase(block.kind, 1);
  active_bytes.waiting.increase(block.kind, static_cast<int64_t>(block.bytes));
}

void Statistics::remove_waiting(const Block& block) {
  active.waiting.decrease(block.kind, 1);
  active_bytes.waiting.decrease(block.kind, static_cast<int64_t>(block.bytes));
}

void Statistics::add_segment(BlockKind kind, uint64_t bytes) {
  device_allocs++;
  segment.increase(kind, 1);
  reserved_bytes.increase(kind, static_cast<int64_t>(bytes));
}

void Statistics::remove_segment(BlockKind kind, uint64_t bytes) {
  device_frees++;
  segment.decrease(kind, 1);
  reserved_bytes.decrease(kind, static_cast<int64_t>(bytes));
}

void Statistics::reset_accumulated() {
  for (const Member& member : members)
    (this->*member.ours).reset_accumulated();
  active.waiting.reset_accumulated();
  active_bytes.waiting.reset_accumulated();
  retries = failures = flushes = device_allocs = device_frees = 0;
}

void Statistics::reset_peak() {
  for (const Member& member : members)
    (this->*member.ours).reset_peak();
  active.reset_peak(allocation);
  active_bytes.reset_peak(allocated_bytes);
}

DeviceStats Statistics::report(bool splits) const {
  DeviceStats stats;
  for (const Member& member : members)
    stats.*member.theirs = (this->*member.ours).stats();
  stats.active = active.stats(allocation);
  stats.active_bytes = active_bytes.stats(allocated_bytes);
  stats.num_alloc_retries = retries;
  stats.num_ooms = failures;
  stats.num_sync_all_streams = flushes;
  stats.num_device_alloc = device_allocs;
  stats.num_device_free = device_frees;
  stats.max_split_size = splits ? std::numeric_limits<int64_t>::max() : 0;
  return stats;
}

}  // namespace tbk
