// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What the allocator tells of itself.
#include <registered.h>

#include <utility>

namespace tbk::mutants {
namespace {

using c10::DeviceIndex;
using c10::kPrivateUse1;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingDeviceAllocator::DeviceStats;

/// The statistics with `Change` applied to those of bytes and blocks in use.
template <auto Change>
void on_statistics() {
  on_allocator<&Allocator::getDeviceStats, [](auto get, DeviceIndex device) {
    DeviceStats stats = get(device);
    for (StatArray* array : {&stats.allocation, &stats.allocated_bytes, &stats.active_bytes})
      for (Stat& stat : *array)
        Change(stat);
    return stats;
  }>();
}

DeviceIndex in_range(DeviceIndex device) {
  const int count = c10::impl::getDeviceGuardImpl(kPrivateUse1)->deviceCount();
  return device >= 0 && device < count ? device : DeviceIndex{0};
}

constexpr Mutant table[] = {
    {"allocated_is_constant", on_statistics<[](Stat& stat) { stat = Stat(); }>},
    {"allocated_never_falls", on_statistics<[](Stat& stat) { stat.current = stat.allocated; }>},
    {"allocated_is_half", on_statistics<[](Stat& stat) { stat.current /= 2; }>},
    {"peak_below_current", on_statistics<[](Stat& stat) { stat.peak = stat.current / 2; }>},
    {"statistics_below_zero", on_statistics<[](Stat& stat) { stat.freed = -stat.freed - 1; }>},
    {"peak_is_current", on_statistics<[](Stat& stat) { stat.peak = stat.current; }>},
    {"allocated_counts_twice", on_statistics<[](Stat& stat) { stat.allocated *= 2; }>},
    {"freed_lags_behind", on_statistics<[](Stat& stat) { stat.freed -= stat.freed % 4096; }>},
    {"large_blocks_stay_in_use", on_allocator<&Allocator::getDeviceStats,
                                              [](auto get, DeviceIndex device) {
                                                DeviceStats stats = get(device);
                                                // The last one of an array is of large blocks, the first one of all.
                                                StatArray& in_use = stats.allocated_bytes;
                                                in_use[0].current += in_use.back().freed;
                                                in_use[0].peak += in_use.back().freed;
                                                return stats;
                                              }>},
    {"emptying_resets_peaks", on_allocator<&Allocator::emptyCache,
                                           [](auto empty, c10::MempoolId_t pool) {
                                             empty(pool);
                                             c10::getDeviceAllocator(kPrivateUse1)
                                                 ->resetPeakStats(guard().getDevice().index());
                                           }>},
    {"reserved_below_allocated", on_allocator<&Allocator::getDeviceStats,
                                              [](auto get, DeviceIndex device) {
                                                DeviceStats stats = get(device);
                                                for (Stat& stat : stats.reserved_bytes)
                                                  stat.current /= 1 << 20;
                                                return stats;
                                              }>},
    {"reserved_is_never_given_back", on_allocator<&Allocator::getDeviceStats,
                                                  [](auto get, DeviceIndex device) {
                                                    DeviceStats stats = get(device);
                                                    for (Stat& stat : stats.reserved_bytes)
                                                      stat.current = stat.allocated;
                                                    return stats;
                                                  }>},
    {"statistics_of_device_0",
     on_allocator<&Allocator::getDeviceStats, [](auto get, DeviceIndex) { return get(0); }>},
    {"statistics_take_any_index",
     on_allocator<&Allocator::getDeviceStats,
                  [](auto get, DeviceIndex device) { return get(in_range(device)); }>},
    {"statistics_forget_failures", on_allocator<&Allocator::getDeviceStats,
                                                [](auto get, DeviceIndex device) {
                                                  DeviceStats stats = get(device);
                                                  stats.num_ooms = stats.num_alloc_retries = 0;
                                                  return stats;
                                                }>},
    {"reset_peak_does_nothing", on_allocator<&Allocator::resetPeakStats, [](auto, DeviceIndex) {}>},
    {"reset_peak_resets_sums",
     on_allocator<&Allocator::resetPeakStats,
                  [](auto reset, DeviceIndex device) {
                    c10::getDeviceAllocator(kPrivateUse1)->resetAccumulatedStats(device);
                    reset(device);
                  }>},
    {"reset_accumulated_does_nothing",
     on_allocator<&Allocator::resetAccumulatedStats, [](auto, DeviceIndex) {}>},
    {"reset_accumulated_resets_peaks",
     on_allocator<&Allocator::resetAccumulatedStats,
                  [](auto reset, DeviceIndex device) {
                    c10::getDeviceAllocator(kPrivateUse1)->resetPeakStats(device);
                    reset(device);
                  }>},
    {"memory_info_is_swapped", on_allocator<&Allocator::getMemoryInfo,
                                            [](auto get, DeviceIndex device) {
                                              auto [free, total] = get(device);
                                              return std::pair<size_t, size_t>(total + 1, free);
                                            }>},
    {"memory_info_in_kilobytes", on_allocator<&Allocator::getMemoryInfo,
                                              [](auto get, DeviceIndex device) {
                                                auto [free, total] = get(device);
                                                return std::pair<size_t, size_t>(free,
                                                                                 total / 1024);
                                              }>},
    {"memory_info_raises", on_allocator<&Allocator::getMemoryInfo,
                                        [](auto, DeviceIndex) -> std::pair<size_t, size_t> {
                                          TORCH_CHECK(false, "the driver does not tell");
                                        }>},
};

}  // namespace

Mutants statistics_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
