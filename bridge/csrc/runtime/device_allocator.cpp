// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's view of the caches: one object for all devices, and one for each.
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/device_allocator.h>
#include <runtime/device_allocator_cache.h>
#include <runtime/error.h>
#include <runtime/memory.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace tbk {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

std::array<std::atomic<DeviceCache*>, max_devices> caches;

/// NULL for what nobody has named yet; of any index.
inline DeviceCache* cache_or_null(int device) noexcept {
  if (device < 0 || device >= max_devices) return nullptr;
  return caches[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

/// A child that was forked after a device was opened leaves everything as it is: another thread may
/// have held a lock when it was forked.
bool usable() noexcept {
  return !Backend::in_bad_fork();
}

DeviceCache& make_cache(c10::DeviceIndex device) {
  static std::mutex mutex;
  const DeviceState& state = Backend::get().device(device);
  std::lock_guard lock(mutex);
  std::atomic<DeviceCache*>& cache = caches[static_cast<size_t>(device)];
  // Never deleted: blocks may be freed after all static objects have gone.
  if (cache.load(std::memory_order_relaxed) == nullptr)
    cache.store(new DeviceCache(device, state.properties), std::memory_order_release);
  return *cache.load(std::memory_order_relaxed);
}

/// Errors: RuntimeError for an index out of range, and where no backend is loaded.
DeviceCache& cache_of(c10::DeviceIndex device) {
  DeviceCache* cache = cache_or_null(device);
  return cache != nullptr ? *cache : make_cache(device);
}

/// The caches of all devices that have one, in turn.
template <typename Function>
void for_each_cache(Function function) {
  if (!usable()) return;
  for (int device = 0; device < max_devices; device++)
    if (DeviceCache* cache = cache_or_null(device)) function(device, *cache);
}

/// The first question of c10::memoryProfilingEnabled(): one call less, twice for each block.
bool may_be_profiled() {
  return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) != nullptr;
}

void report(void* data, int64_t bytes, const MemoryReport& totals, c10::DeviceIndex device) {
  c10::reportMemoryUsageToProfiler(data, bytes, totals.allocated, totals.reserved,
                                   c10::Device(c10::kPrivateUse1, device));
}

// --------------------------------------------------------------------------------- deleters --

/// May run in any thread, also when the interpreter has ended.
template <int device>
void free_on(void* data) {
  if (data == nullptr || !usable()) return;
  DeviceCache& cache = *cache_or_null(device);
  if (!may_be_profiled()) [[likely]] {
    cache.free(handle_of(data), nullptr);
    return;
  }
  MemoryReport totals;
  if (!cache.free(handle_of(data), &totals)) return;
  try {
    report(data, -static_cast<int64_t>(totals.bytes), totals, device);
  } catch (...) {
    // The profiler's own trouble: the memory is free.
  }
}

template <int... devices>
constexpr std::array<c10::DeleterFnPtr, max_devices> all_deleters(
    std::integer_sequence<int, devices...>) {
  return {&free_on<devices>...};
}

constexpr std::array<c10::DeleterFnPtr, max_devices> deleters =
    all_deleters(std::make_integer_sequence<int, max_devices>());

c10::DataPtr allocate_block(c10::DeviceIndex device, size_t bytes) {
  const c10::Device place(c10::kPrivateUse1, device);
  if (bytes == 0) [[unlikely]] {
    Backend::get().device(device);  // raises where there is none
    return {nullptr, place};
  }
  Stream& stream = current_stream(device);  // opens the device
  const bool profiled = may_be_profiled();
  MemoryReport totals;
  const tbk_memory_t memory =
      cache_of(device).allocate(bytes, stream, profiled ? &totals : nullptr);
  void* data = reinterpret_cast<void*>(memory);
  c10::DataPtr pointer(data, data, deleters[static_cast<size_t>(device)], place);
  if (profiled) [[unlikely]]
    report(data, static_cast<int64_t>(totals.bytes), totals, device);
  return pointer;
}

// ------------------------------------------------------------------------------------ copies --

/// The copy is enqueued on the current stream of the source's device; the source is held until then.
void copy_block(void* destination, c10::DeviceIndex to, const void* source, c10::DeviceIndex from,
                size_t bytes) {
  if (bytes == 0) return;
  Stream& stream = current_stream(from);
  if (to != from) {
    // What the destination's stream did before, and does after, is kept in order by waiting.
    synchronize(current_stream(to));
  }
  copy({to, handle_of(destination), 0}, {from, handle_of(source), 0}, bytes, stream);
  if (to != from) synchronize(stream);
  cache_of(from).record_use(handle_of(source), stream);
}

class StorageAllocator final : public c10::Allocator {
 public:
  explicit StorageAllocator(c10::DeviceIndex device) : device_(device) {}

  c10::DataPtr allocate(size_t bytes) override {
    return allocate_block(device_, bytes);
  }
  void copy_data(void* destination, const void* source, size_t count) const override {
    copy_block(destination, device_, source, device_, count);
  }

 private:
  c10::DeviceIndex device_;
};

// ------------------------------------------------------------------------------ all devices --

class CachingAllocator final : public DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    return allocate_block(current_device(), bytes);
  }
  c10::DataPtr allocate_on(c10::DeviceIndex device, size_t bytes) override {
    return allocate_block(device, bytes);
  }

  void copy_data(void* destination, const void* source, size_t count) const override {
    const auto to = owner(destination), from = owner(source);
    TORCH_CHECK(count == 0 || (to.has_value() && from.has_value()),
                "copy_data: not memory of this allocator");
    if (count != 0) copy_block(destination, *to, source, *from, count);
  }

  std::optional<c10::DeviceIndex> owner(const void* pointer) const override {
    if (pointer == nullptr || !usable()) return std::nullopt;
    // Where handles are not addresses, another device may have the same: the current one comes first.
    const c10::DeviceIndex current = current_device();
    const uint64_t memory = handle_of(pointer);
    if (DeviceCache* cache = cache_or_null(current); cache != nullptr && cache->owns(memory))
      return current;
    std::optional<c10::DeviceIndex> found;
    for_each_cache([&](int device, DeviceCache& cache) {
      if (!found.has_value() && cache.owns(memory)) found = static_cast<c10::DeviceIndex>(device);
    });
    return found;
  }

  bool initialized() override {
    const Backend* backend = Backend::get_or_null();
    if (backend == nullptr || !backend->is_counted() || !usable()) return false;
    for (int device = 0; device < backend->device_count(); device++)
      if (backend->is_open(device)) return true;
    return false;
  }

  void emptyCache(c10::MempoolId_t pool) override {
    // There are no private pools: a graph would need one.
    if (pool != c10::MempoolId_t{0, 0}) return;
    for_each_cache([](int, DeviceCache& cache) { cache.flush(); });
  }

  void give_back_cached(c10::DeviceIndex device) override {
    if (DeviceCache* cache = cache_or_null(device); cache != nullptr && usable()) cache->flush();
  }

  void recordStream(const c10::DataPtr& pointer, c10::Stream stream) override {
    if (pointer.get() == nullptr || !pointer.device().is_privateuseone() || !usable()) return;
    if (DeviceCache* cache = cache_or_null(pointer.device().index()))
      cache->record_use(handle_of(pointer.get()), find_stream(stream));
  }

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    DeviceCache& cache = cache_of(device);
    return usable() ? cache.statistics() : DeviceStats();
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    if (DeviceCache& cache = cache_of(device); usable()) cache.reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    if (DeviceCache& cache = cache_of(device); usable()) cache.reset_peak();
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override;

  void set_memory_limit(c10::DeviceIndex device, uint64_t bytes) override {
    if (DeviceCache& cache = cache_of(device); usable()) cache.set_limit(bytes);
  }
  uint64_t memory_limit(c10::DeviceIndex device) const override {
    const DeviceCache& cache = cache_of(device);
    return usable() ? cache.limit() : 0;
  }
};

std::pair<size_t, size_t> CachingAllocator::getMemoryInfo(c10::DeviceIndex device) {
  Backend& backend = Backend::get();
  if (backend.core().memory_info != nullptr) {
    backend.ensure_open(device);
    uint64_t free_bytes = 0, total_bytes = 0;
    ErrorBuffer error;
    check(backend.core().memory_info(backend.instance(), device, &free_bytes, &total_bytes, &error),
          error, "memory_info", device);
    return {free_bytes, total_bytes};
  }
  const uint64_t total = backend.device(device).properties.memory_bytes;
  TORCH_CHECK_NOT_IMPLEMENTED(total != 0, backend.name(), ":", static_cast<int>(device),
                              " does not tell how much memory it has");
  const uint64_t reserved = usable() ? cache_of(device).reserved_bytes() : 0;
  return {total - std::min(total, reserved), total};
}

}  // namespace

DeviceAllocator& device_allocator() {
  static auto& allocator = *new CachingAllocator();
  return allocator;
}

c10::Allocator& storage_allocator(c10::DeviceIndex device) {
  static std::array<std::atomic<StorageAllocator*>, max_devices> allocators;
  TORCH_CHECK(device >= 0, "no device has the index ", static_cast<int>(device));
  std::atomic<StorageAllocator*>& place = allocators[static_cast<size_t>(device)];
  StorageAllocator* known = place.load(std::memory_order_acquire);
  if (known == nullptr) {
    // Never deleted, as storages keep it; of two threads that make one, the second takes the first's.
    auto made = std::make_unique<StorageAllocator>(device);
    if (place.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel))
      known = made.release();
  }
  return *known;
}

REGISTER_ALLOCATOR(c10::kPrivateUse1, &device_allocator())

}  // namespace tbk
