// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_statistics.h>

#include <limits>

namespace tbk {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

struct Member {
  SeriesByKind Statistics::*ours;
  c10::CachingAllocator::StatArray DeviceStats::*theirs;
};

constexpr Member members[] = {
    {&Statistics::allocation, &DeviceStats::allocation},
    {&Statistics::allocated_bytes, &DeviceStats::allocated_bytes},
    {&Statistics::requested_bytes, &DeviceStats::requested_bytes},
    {&Statistics::active, &DeviceStats::active},
    {&Statistics::active_bytes, &DeviceStats::active_bytes},
    {&Statistics::segment, &DeviceStats::segment},
    {&Statistics::reserved_bytes, &DeviceStats::reserved_bytes},
    {&Statistics::inactive_split, &DeviceStats::inactive_split},
    {&Statistics::inactive_split_bytes, &DeviceStats::inactive_split_bytes},
};

}  // namespace

c10::CachingAllocator::Stat Series::stat() const {
  c10::CachingAllocator::Stat stat;
  stat.current = current;
  stat.peak = peak;
  stat.allocated = grown - grown_at_reset;
  stat.freed = grown - current - shrunk_at_reset;
  return stat;
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
    for (Series& series : (this->*member.ours).series)
      series.reset_accumulated();
  retries = failures = flushes = device_allocs = device_frees = 0;
}

void Statistics::reset_peak() {
  for (const Member& member : members)
    for (Series& series : (this->*member.ours).series)
      series.peak = series.current;
}

DeviceStats Statistics::report(bool splits) const {
  DeviceStats stats;
  for (const Member& member : members)
    for (size_t i = 0; i < 3; i++)
      (stats.*member.theirs)[i] = (this->*member.ours).series[i].stat();
  stats.num_alloc_retries = retries;
  stats.num_ooms = failures;
  stats.num_sync_all_streams = flushes;
  stats.num_device_alloc = device_allocs;
  stats.num_device_free = device_frees;
  stats.max_split_size = splits ? std::numeric_limits<int64_t>::max() : 0;
  return stats;
}

}  // namespace tbk
