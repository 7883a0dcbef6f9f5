// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Threads and streams that allocate, fill, use elsewhere and free, with little memory. A block that is
// given out again while recorded work still reads it shows in what that work has read.
#include "check.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>
#include <runtime/error.h>
#include <runtime/event.h>
#include <runtime/memory.h>
#include <runtime/stream.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

namespace tbk::test {
namespace {

constexpr int threads = 4, stream_count = 4, rounds = 3, operations = 250;
constexpr uint64_t limit = UINT64_C(24) << 20;

/// What PyTorch's memory profiler was told: the model of the statistics, with sizes as requested.
class Model final : public c10::MemoryReportingInfoBase {
 public:
  std::atomic<int64_t> bytes{0}, allocations{0}, frees{0}, grown{0}, failures{0}, requested{0};

  void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) override {
    bytes += size;
    (size > 0 ? allocations : frees)++;
    if (size > 0) grown += size;
  }
  void reportOutOfMemory(int64_t, size_t, size_t, c10::Device) override {
    failures++;
  }
  bool memoryProfilingEnabled() const override {
    return true;
  }
};

struct Live {
  c10::DataPtr data;
  uint64_t bytes;
  uint8_t value;
  Stream* stream;  // that its last write was enqueued on

  Location at() const {
    return {0, handle_of(data.get()), 0};
  }
};

struct Plan {
  std::vector<Stream*> streams;
  std::shared_ptr<Model> model = std::make_shared<Model>();
  bool records = true;  // false: the control, which must see the fault
  std::atomic<int> faults{0};
};

class Worker {
 public:
  Worker(Plan& plan, unsigned seed) : plan_(plan), random_(seed) {}

  void run() {
    c10::DebugInfoGuard profiled(c10::DebugInfoKind::PROFILER_STATE, plan_.model);
    for (int i = 0; i < operations; i++)
      step();
    while (!live_.empty())
      give_up(live_.size() - 1, /*look=*/true);
  }

 private:
  size_t below(size_t most) {
    return random_() % most;
  }
  Stream& any_stream() {
    return *plan_.streams[below(plan_.streams.size())];
  }

  /// Mostly some KiB, so that blocks are split and joined; now and then more than 1 MiB.
  uint64_t any_size() {
    const uint64_t most = below(20) == 0 ? 3 << 20 : below(4) == 0 ? 300 << 10 : 16 << 10;
    return 1 + below(most);
  }

  void step() {
    const size_t choice = live_.empty() ? 0 : below(10);
    if (choice < 4)
      allocate(any_stream(), any_size());
    else if (choice < 7)
      use_elsewhere(below(live_.size()));
    else
      give_up(below(live_.size()), /*look=*/choice == 9);
  }

  bool allocate(Stream& stream, uint64_t bytes) {
    Stream& previous = exchange_stream(stream);
    try {
      Live live{device_allocator().allocate_on(0, bytes), bytes,
                static_cast<uint8_t>(1 + below(255)), &stream};
      fill(live.at(), live.value, bytes, stream);
      plan_.model->requested += static_cast<int64_t>(bytes);
      live_.push_back(std::move(live));
    } catch (const c10::OutOfMemoryError&) {
      exchange_stream(previous);
      for (size_t left = live_.size() / 2; live_.size() > left;)
        give_up(below(live_.size()), false);
      return false;
    }
    exchange_stream(previous);
    return true;
  }

  /// Another stream copies the block, and it may be freed before that has happened.
  void use_elsewhere(size_t index) {
    Stream& other = any_stream();
    if (&other == live_[index].stream || !allocate(other, live_[index].bytes)) return;
    if (index >= live_.size() - 1) return;
    const Live& source = live_[index];
    Live& copied = live_.back();
    Event written;
    written.record(*source.stream);
    written.wait(other);
    if (plan_.records) device_allocator().recordStream(source.data, other.wrap());
    copy(copied.at(), source.at(), source.bytes, other);
    copied.value = source.value;
    if (below(2) == 0) give_up(index, /*look=*/false);
  }

  void give_up(size_t index, bool look) {
    Live& live = live_[index];
    if (look) {
      std::vector<uint8_t> seen(live.bytes);
      download(seen.data(), live.at(), live.bytes, *live.stream);
      synchronize(*live.stream);
      const auto is_value = [&](uint8_t byte) { return byte == live.value; };
      if (!std::all_of(seen.begin(), seen.end(), is_value)) plan_.faults++;
    }
    plan_.model->requested -= static_cast<int64_t>(live.bytes);
    std::swap(live, live_.back());
    live_.pop_back();
  }

  Plan& plan_;
  std::mt19937 random_;
  std::vector<Live> live_;
};

uint64_t free_on_device() {
  uint64_t free_bytes = 0, total_bytes = 0;
  ErrorBuffer error;
  const Backend& backend = Backend::get();
  if (backend.core().memory_info == nullptr) return 0;
  TBK_CHECK(backend.core().memory_info(backend.instance(), 0, &free_bytes, &total_bytes, &error) ==
            TBK_OK);
  return free_bytes;
}

constexpr size_t all = 0, small = 1, large = 2;  // StatType of c10

void check_sums(const c10::CachingAllocator::StatArray& stats) {
  for (const size_t kind : {all, small, large}) {
    TBK_CHECK(stats[kind].current >= 0 && stats[kind].peak >= stats[kind].current);
    TBK_CHECK_EQUAL(stats[kind].allocated - stats[kind].freed, stats[kind].current);
  }
  TBK_CHECK_EQUAL(stats[small].current + stats[large].current, stats[all].current);
  TBK_CHECK_EQUAL(stats[small].allocated + stats[large].allocated, stats[all].allocated);
}

/// No thread is at work; what is in use is `model`.
void check_statistics(const Model& model, uint64_t free_at_start) {
  const auto stats = device_allocator().getDeviceStats(0);
  for (const auto& array : {stats.allocation, stats.allocated_bytes, stats.requested_bytes,
                            stats.active, stats.active_bytes, stats.segment, stats.reserved_bytes,
                            stats.inactive_split, stats.inactive_split_bytes})
    check_sums(array);
  TBK_CHECK_EQUAL(stats.allocation[all].current, model.allocations - model.frees);
  TBK_CHECK_EQUAL(stats.allocation[all].allocated, model.allocations.load());
  TBK_CHECK_EQUAL(stats.allocation[all].freed, model.frees.load());
  TBK_CHECK_EQUAL(stats.allocated_bytes[all].current, model.bytes.load());
  TBK_CHECK_EQUAL(stats.allocated_bytes[all].allocated, model.grown.load());
  TBK_CHECK_EQUAL(stats.requested_bytes[all].current, model.requested.load());
  TBK_CHECK_EQUAL(stats.num_ooms, model.failures.load());
  TBK_CHECK_EQUAL(stats.num_device_alloc - stats.num_device_free, stats.segment[all].current);
  TBK_CHECK(stats.active[all].current >= stats.allocation[all].current);
  TBK_CHECK(stats.active[all].peak >= stats.allocation[all].peak);
  TBK_CHECK(stats.active_bytes[all].current >= stats.allocated_bytes[all].current);
  TBK_CHECK(stats.reserved_bytes[all].peak <= static_cast<int64_t>(limit));
  const auto held = static_cast<int64_t>(free_at_start - free_on_device());
  if (free_at_start != 0) TBK_CHECK_EQUAL(held, stats.reserved_bytes[all].current);
}

void check_all_given_back(uint64_t free_at_start) {
  auto stats = device_allocator().getDeviceStats(0);
  TBK_CHECK_EQUAL(stats.allocation[all].current, 0);
  device_allocator().emptyCache();
  stats = device_allocator().getDeviceStats(0);
  TBK_CHECK_EQUAL(stats.active[all].current, 0);
  TBK_CHECK_EQUAL(stats.active_bytes[all].current, 0);
  TBK_CHECK_EQUAL(stats.segment[all].current, 0);
  TBK_CHECK_EQUAL(stats.reserved_bytes[all].current, 0);
  TBK_CHECK_EQUAL(stats.inactive_split[all].current, 0);
  TBK_CHECK_EQUAL(stats.inactive_split_bytes[all].current, 0);
  TBK_CHECK_EQUAL(free_on_device(), free_at_start);
}

/// Returns in how many blocks something else was found than had been written.
int run_rounds(bool records) {
  Plan plan;
  plan.records = records;
  Backend::get().ensure_open(0);
  const uint64_t free_at_start = free_on_device();
  device_allocator().set_memory_limit(0, limit);
  plan.streams.push_back(&default_stream(0));
  while (plan.streams.size() < stream_count)
    plan.streams.push_back(&new_stream(0, 0));
  for (int round = 0; round < rounds; round++) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; i++)
      running.emplace_back([&plan, seed = round * threads + i] {
        try {
          Worker(plan, static_cast<unsigned>(seed)).run();
        } catch (const std::exception& error) {
          TBK_CHECK_SEEN(false && "a worker throws", error.what());
        }
      });
    for (std::thread& thread : running)
      thread.join();
    check_statistics(*plan.model, free_at_start);
    if (round == 1) device_allocator().emptyCache();
  }
  synchronize_device(0);
  check_all_given_back(free_at_start);
  TBK_CHECK(device_allocator().getDeviceStats(0).num_alloc_retries > 0);
  return plan.faults;
}

void allocator_stress() {
  TBK_CHECK_EQUAL(run_rounds(/*records=*/true), 0);
}

/// Shows that the stress can fail: the same, but nothing is recorded.
void allocator_stress_control() {
  TBK_CHECK(run_rounds(/*records=*/false) > 0);
}

const Registration registration({
    {"allocator_stress", "cpu", "memory=64M", allocator_stress},
    {"allocator_stress", "cpu", "memory=64M,policy=lazy", allocator_stress},
    {"allocator_stress", "cpu", "memory=64M,flat=0,handles=reuse", allocator_stress},
    {"allocator_stress", "cpu", "memory=64M,granularity=64,alignment=4096", allocator_stress},
    {"allocator_stress", "cpu", "memory=64M,events=8,policy=lazy", allocator_stress},
    {"allocator_stress", "template", "", allocator_stress},
    {"allocator_stress_control", "cpu", "memory=64M,policy=lazy", allocator_stress_control},
});

}  // namespace
}  // namespace tbk::test
