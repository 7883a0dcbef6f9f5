// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What the cache asks of the backend, and gives back to it.
#include <c10/util/Exception.h>
#include <runtime/backend.h>
#include <runtime/device_allocator_cache.h>
#include <runtime/error.h>

#include <algorithm>
#include <limits>

namespace tbk {

// ------------------------------------------------------------------------------------- waiting --

/// Make blocks free whose recorded streams have passed; all of them, where `wait`. Holds
/// waiting_mutex_.
/// Errors: those of the work that was waited for; the blocks are free all the same.
void DeviceCache::collect_held(bool wait) {
  {
    std::lock_guard lock(mutex_);
    waiting_.add(freed_);
  }
  WaitingBlocks::Passed passed = waiting_.collect(wait);
  {
    std::lock_guard lock(mutex_);
    while (!passed.blocks.empty()) {
      Block* block = passed.blocks.pop();
      statistics_.remove_waiting(*block);
      make_free(block);
      waiting_count_--;
    }
  }
  if (passed.error) std::rethrow_exception(passed.error);
}

void DeviceCache::collect() {
  // Where another thread is at it, this one needs not wait for it.
  std::unique_lock waiting(waiting_mutex_, std::try_to_lock);
  if (waiting.owns_lock()) collect_held(/*wait=*/false);
}

// ------------------------------------------------------------------------------------ segments --

/// Count `bytes` as held while the backend is asked for them. False where the limit has no room.
bool DeviceCache::claim(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto held = static_cast<uint64_t>(statistics_.reserved_bytes.current()) + claimed_;
  if (limit_ != 0 && bytes > limit_ - std::min(limit_, held)) return false;
  claimed_ += bytes;
  return true;
}

/// A new segment of `bytes` for blocks of `kind`, in no list; NULL, with the reason, where the device
/// or the limit has no room for it.
Block* DeviceCache::try_segment(uint64_t bytes, BlockKind kind, Stream& stream,
                                std::string& reason) {
  if (!claim(bytes)) {
    reason = "the limit does not allow it";
    return nullptr;
  }
  const Backend& backend = Backend::get();
  tbk_memory_t memory = 0;
  ErrorBuffer error;
  const tbk_status_t status =
      backend.core().memory_alloc(backend.instance(), device_, bytes, &memory, &error);
  {
    std::lock_guard lock(mutex_);
    claimed_ -= bytes;
    if (status == TBK_OK) return add_segment(memory, bytes, kind, stream);
  }
  if (status != TBK_OUT_OF_MEMORY) check(status, error, "memory_alloc", device_);
  reason = backend.name() + " says: " + describe_status(status, error);
  return nullptr;
}

Block* DeviceCache::add_segment(tbk_memory_t memory, uint64_t bytes, BlockKind kind,
                                Stream& stream) {
  Block* block = store_.take();
  block->memory = memory;
  block->bytes = bytes;
  block->kind = kind;
  block->stream = &stream;
  block->home = &lists_of(stream);
  segments_[memory] = block;
  statistics_.add_segment(kind, bytes);
  return block;
}

/// First as large as segments are, so that others find room in it; then only what is needed.
Block* DeviceCache::new_segment(uint64_t bytes, Stream& stream, std::string& reason) {
  const BlockKind kind = BlockSizes::kind_of(bytes);
  const uint64_t segment = sizes_.segment_bytes(bytes);
  Block* block = try_segment(segment, kind, stream, reason);
  if (block == nullptr && segment > bytes) block = try_segment(bytes, kind, stream, reason);
  if (block == nullptr || !sizes_.worth_splitting(*block, bytes)) return block;
  std::lock_guard lock(mutex_);
  cut(block, bytes);
  settle_inactive(kind);
  return block;
}

// -------------------------------------------------------------------------------- giving back --

/// Take all free blocks that are whole segments out of their lists, linked by `next`.
Block* DeviceCache::detach_whole() {
  std::lock_guard lock(mutex_);
  Block* whole = nullptr;
  for (auto& [stream, lists] : lists_) {
    join_quick(*lists);
    whole = lists->small.remove_whole(whole);
    whole = lists->large.remove_whole(whole);
  }
  if (whole != nullptr) statistics_.flushes++;
  return whole;
}

void DeviceCache::attach(Block* whole) noexcept {
  std::lock_guard lock(mutex_);
  while (whole != nullptr) {
    Block* next = whole->next;
    add_free(whole);
    whole = next;
  }
}

/// Give the segment `whole` back; returns the next of the list. On error it stays what it was.
Block* DeviceCache::give_back(Block* whole) {
  {
    // Forgotten first: once it is given back, another thread may get the same address.
    std::lock_guard lock(mutex_);
    segments_.erase(whole->memory);
  }
  const Backend& backend = Backend::get();
  ErrorBuffer error;
  const tbk_status_t status =
      backend.core().memory_free(backend.instance(), device_, whole->memory, &error);
  std::unique_lock lock(mutex_);
  if (status != TBK_OK) {
    segments_[whole->memory] = whole;
    lock.unlock();
    raise_status(status, error, "memory_free", device_);
  }
  statistics_.remove_segment(whole->kind, whole->bytes);
  Block* next = whole->next;
  store_.give(whole);
  return next;
}

void DeviceCache::flush() {
  std::lock_guard waiting(waiting_mutex_);
  collect_held(/*wait=*/true);
  Block* whole = detach_whole();
  if (whole == nullptr) return;
  try {
    // What the device may still do with them was enqueued before they were freed.
    synchronize_device(device_);
    while (whole != nullptr)
      whole = give_back(whole);
  } catch (...) {
    attach(whole);
    throw;
  }
}

// ------------------------------------------------------------------------------- out of memory --

/// A block of at least `bytes`, in no list, where the cache has none.
Block* DeviceCache::allocate_slowly(uint64_t requested, uint64_t bytes, Stream& stream) {
  std::string reason = "no device has that much";
  if (bytes > sizes_.most) {
    using c10::CachingAllocator::format_size;
    reason = "this device gives at most " + format_size(sizes_.most) + " in one allocation";
  } else if (bytes != 0) {
    if (Block* block = new_segment(bytes, stream, reason)) return block;
    {
      std::lock_guard lock(mutex_);
      statistics_.retries++;
    }
    flush();
    {
      // Perhaps what waited for another stream is part of a segment that stays.
      std::lock_guard lock(mutex_);
      if (Block* block = take_cached(bytes, lists_of(stream))) return block;
    }
    if (Block* block = new_segment(bytes, stream, reason)) return block;
  }
  raise_out_of_memory(requested, reason);
}

namespace {

/// As getMemoryInfo has them, but that no error covers the one that this is a part of.
std::string free_of_total(c10::DeviceIndex device, uint64_t reserved) {
  Backend& backend = Backend::get();
  uint64_t total_bytes = backend.device(device).properties.memory_bytes;
  uint64_t free_bytes = total_bytes - std::min(total_bytes, reserved);
  ErrorBuffer error;
  if (backend.core().memory_info != nullptr &&
      backend.core().memory_info(backend.instance(), device, &free_bytes, &total_bytes, &error) !=
          TBK_OK)
    return "";
  if (total_bytes == 0) return "";
  using c10::CachingAllocator::format_size;
  return "; the device has " + format_size(free_bytes) + " free of " + format_size(total_bytes);
}

}  // namespace

void DeviceCache::raise_out_of_memory(uint64_t requested, const std::string& reason) {
  uint64_t allocated, reserved, limit;
  {
    std::lock_guard lock(mutex_);
    statistics_.failures++;
    allocated = static_cast<uint64_t>(statistics_.allocated_bytes.current());
    reserved = static_cast<uint64_t>(statistics_.reserved_bytes.current());
    limit = limit_;
  }
  const c10::Device device(c10::kPrivateUse1, device_);
  const auto asked = static_cast<int64_t>(
      std::min(requested, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  c10::reportOutOfMemoryToProfiler(asked, allocated, reserved, device);
  using c10::CachingAllocator::format_size;
  TORCH_CHECK_WITH(OutOfMemoryError, false, "Tried to allocate ", format_size(requested), " on ",
                   device, ": ", reason, ". In use: ", format_size(allocated),
                   "; cached: ", format_size(reserved - allocated),
                   free_of_total(device_, reserved),
                   limit == 0 ? std::string() : "; limit: " + format_size(limit), ".");
}

}  // namespace tbk
