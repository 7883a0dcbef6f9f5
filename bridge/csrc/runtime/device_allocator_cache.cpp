// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_cache.h>

namespace tbk {

// ------------------------------------------------------------------------------- free blocks --

StreamLists& DeviceCache::find_lists(Stream& stream) {
  std::unique_ptr<StreamLists>& lists = lists_[&stream];
  if (lists == nullptr) lists = std::make_unique<StreamLists>();
  latest_lists_ = lists.get();
  latest_stream_ = &stream;
  return *latest_lists_;
}

void DeviceCache::add_free(Block* block) noexcept {
  block->list = static_cast<uint16_t>(sizes_.list_of(block->bytes));
  block->home->of(block->kind).insert(block);
  if (block->whole()) return;
  inactive_count_++;
  inactive_bytes_ += static_cast<int64_t>(block->bytes);
}

void DeviceCache::remove_free(Block* block) noexcept {
  block->home->of(block->kind).remove(block);
  if (block->whole()) return;
  inactive_count_--;
  inactive_bytes_ -= static_cast<int64_t>(block->bytes);
}

/// One operation may take several free blocks away and add others: what counts is the difference.
void DeviceCache::settle_inactive(BlockKind kind) noexcept {
  if (inactive_count_ != 0) statistics_.inactive_split.change(kind, inactive_count_);
  if (inactive_bytes_ != 0) statistics_.inactive_split_bytes.change(kind, inactive_bytes_);
  inactive_count_ = inactive_bytes_ = 0;
}

/// Leave `bytes` in `block`, which is in no list, and make a free one of the rest.
void DeviceCache::cut(Block* block, uint64_t bytes) {
  Block* rest = store_.take();
  rest->memory = block->memory + bytes;
  rest->bytes = block->bytes - bytes;
  rest->kind = block->kind;
  rest->home = block->home;
  rest->stream = block->stream;
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->bytes = bytes;
  add_free(rest);
}

/// `right` follows `left`; neither is in a list, nor known by its address.
void DeviceCache::merge(Block* left, Block* right) noexcept {
  left->bytes += right->bytes;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  store_.give(right);
}

/// Make `block`, which is in no list, free, together with the neighbours that are.
void DeviceCache::join(Block* block) noexcept {
  if (block->known) by_memory_.erase(block->memory);
  block->known = false;
  if (Block* after = block->after; after != nullptr && after->state == BlockState::free) {
    remove_free(after);
    merge(block, after);
  }
  if (Block* before = block->before; before != nullptr && before->state == BlockState::free) {
    remove_free(before);
    merge(before, block);
    block = before;
  }
  add_free(block);
}

/// False where there was nothing to join.
bool DeviceCache::join_quick(StreamLists& lists) noexcept {
  Block* block = lists.quick.remove_all();
  if (block == nullptr) return false;
  while (block != nullptr) {
    Block* next = block->next;
    if (!block->whole()) {
      inactive_count_--;
      inactive_bytes_ -= static_cast<int64_t>(block->bytes);
    }
    join(block);
    block = next;
  }
  settle_inactive(BlockKind::small);
  return true;
}

void DeviceCache::make_large_free(Block* block) noexcept {
  join(block);
  settle_inactive(BlockKind::large);
}

// ---------------------------------------------------------------------------- use and disuse --

/// A block of exactly `bytes`, in no list any more, where one was freed lately; else NULL.
inline Block* DeviceCache::take_quick(uint64_t bytes, unsigned list, StreamLists& lists) noexcept {
  if (BlockSizes::kind_of(bytes) == BlockKind::large) return nullptr;
  Block* block = lists.quick.pop(bytes, list);
  if (block != nullptr && !block->whole()) statistics_.remove_inactive_split(*block);
  return block;
}

/// A block of at least `bytes`, in no list any more; NULL if there is none.
Block* DeviceCache::take_cached(uint64_t bytes, StreamLists& lists) {
  const BlockKind kind = BlockSizes::kind_of(bytes);
  const unsigned list = sizes_.list_of(bytes);
  const FreeLists& free_lists = lists.of(kind);
  Block* block = free_lists.find(bytes, list, sizes_.splits);
  if (block == nullptr && kind == BlockKind::small && join_quick(lists))
    block = free_lists.find(bytes, list, sizes_.splits);
  if (block == nullptr) return nullptr;
  remove_free(block);
  if (sizes_.worth_splitting(*block, bytes)) cut(block, bytes);
  settle_inactive(kind);
  return block;
}

/// Blocks whose size will not change before they are joined can be found by their address.
void DeviceCache::learn(Block* block) {
  by_memory_.emplace(block->memory, block);
  block->known = true;
  block->list = static_cast<uint16_t>(sizes_.list_of(block->bytes));
}

void DeviceCache::fill(MemoryReport* report, const Block& block) const {
  report->bytes = block.bytes;
  report->allocated = static_cast<uint64_t>(statistics_.allocated_bytes.current());
  report->reserved = static_cast<uint64_t>(statistics_.reserved_bytes.current());
}

inline tbk_memory_t DeviceCache::use(Block* block, uint64_t requested, MemoryReport* report) {
  if (!block->known) [[unlikely]]
    learn(block);
  block->state = BlockState::in_use;
  block->requested = requested;
  statistics_.add_in_use(*block);
  if (waiting_count_ > 0) [[unlikely]]
    statistics_.raise_active_peak();
  if (report != nullptr) [[unlikely]]
    fill(report, *block);
  return block->memory;
}

tbk_memory_t DeviceCache::allocate(uint64_t requested, Stream& stream, MemoryReport* report) {
  const uint64_t bytes = sizes_.block_bytes(requested);
  const unsigned list = sizes_.list_of(bytes);
  Block* block = nullptr;
  if (bytes != 0) [[likely]] {
    std::unique_lock lock(mutex_);
    if (waiting_count_ > 0) [[unlikely]] {
      lock.unlock();
      collect();
      lock.lock();
    }
    StreamLists& lists = lists_of(stream);
    block = take_quick(bytes, list, lists);
    if (block == nullptr) block = take_cached(bytes, lists);
    if (block != nullptr) return use(block, requested, report);
  }
  block = allocate_slowly(requested, bytes, stream);
  std::lock_guard lock(mutex_);
  return use(block, requested, report);
}

bool DeviceCache::free(tbk_memory_t memory, MemoryReport* report) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = by_memory_.find(memory);
  if (found == by_memory_.end() || found->second->state != BlockState::in_use) return false;
  Block* block = found->second;
  statistics_.remove_in_use(*block);
  if (report != nullptr) [[unlikely]]
    fill(report, *block);
  if (block->uses.empty()) [[likely]] {
    make_free(block);
    return true;
  }
  block->state = BlockState::waiting;
  statistics_.add_waiting(*block);
  waiting_count_++;
  lock.unlock();
  for (StreamPoint& point : block->uses)
    point.record();
  lock.lock();
  freed_.push(block);
  return true;
}

// ------------------------------------------------------------------------------------ lookup --

/// The block in use that `pointer` lies in, or NULL.
Block* DeviceCache::find_block(uint64_t pointer) const {
  const auto in_use = [](Block* block) {
    return block->state == BlockState::in_use ? block : nullptr;
  };
  if (const auto found = by_memory_.find(pointer); found != by_memory_.end())
    return in_use(found->second);
  if (!sizes_.splits) return nullptr;
  const auto behind = segments_.upper_bound(pointer);
  if (behind == segments_.begin()) return nullptr;
  for (Block* block = std::prev(behind)->second; block != nullptr; block = block->after)
    if (pointer - block->memory < block->bytes) return in_use(block);
  return nullptr;
}

bool DeviceCache::owns(uint64_t pointer) const {
  std::lock_guard lock(mutex_);
  return find_block(pointer) != nullptr;
}

void DeviceCache::record_use(uint64_t pointer, Stream& stream) {
  // Work without a stream is complete when the call that starts it returns.
  if (stream.handle == nullptr) return;
  std::lock_guard lock(mutex_);
  Block* block = find_block(pointer);
  if (block == nullptr || block->stream == &stream) return;
  for (const StreamPoint& point : block->uses)
    if (&point.stream() == &stream) return;
  block->uses.emplace_back(stream);
}

// --------------------------------------------------------------------------- limit, statistics --

void DeviceCache::set_limit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

uint64_t DeviceCache::limit() const {
  std::lock_guard lock(mutex_);
  return limit_;
}

uint64_t DeviceCache::reserved_bytes() const {
  std::lock_guard lock(mutex_);
  return static_cast<uint64_t>(statistics_.reserved_bytes.current());
}

c10::CachingDeviceAllocator::DeviceStats DeviceCache::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_.report(sizes_.splits);
}

void DeviceCache::reset_accumulated() {
  std::lock_guard lock(mutex_);
  statistics_.reset_accumulated();
}

void DeviceCache::reset_peak() {
  std::lock_guard lock(mutex_);
  statistics_.reset_peak();
}

}  // namespace tbk
