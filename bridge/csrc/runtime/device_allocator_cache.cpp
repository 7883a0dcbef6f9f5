// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_cache.h>

namespace tbk {

// ------------------------------------------------------------------------------- free blocks --

DeviceCache::StreamLists& DeviceCache::lists_of(Stream& stream) {
  if (latest_stream_ == &stream) [[likely]]
    return *latest_lists_;
  std::unique_ptr<StreamLists>& lists = lists_[&stream];
  if (lists == nullptr) lists = std::make_unique<StreamLists>();
  latest_stream_ = &stream;
  latest_lists_ = lists.get();
  return *latest_lists_;
}

void DeviceCache::add_free(Block* block) noexcept {
  block->home->insert(block, sizes_.unit);
  if (block->whole()) return;
  inactive_count_++;
  inactive_bytes_ += static_cast<int64_t>(block->bytes);
}

void DeviceCache::remove_free(Block* block) noexcept {
  block->home->remove(block, sizes_.unit);
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

/// Leave `bytes` in `block`, which is not free, and make a free one, the node `rest`, of the others.
void DeviceCache::cut(Block* block, uint64_t bytes, Block* rest) noexcept {
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

/// `right` follows `left`; neither is in a list.
void DeviceCache::merge(Block* left, Block* right) noexcept {
  left->bytes += right->bytes;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  store_.give(right);
}

/// `block` was neither in use nor in a list.
void DeviceCache::release(Block* block) noexcept {
  if (Block* after = block->after; after != nullptr && after->is_free) {
    remove_free(after);
    merge(block, after);
  }
  if (Block* before = block->before; before != nullptr && before->is_free) {
    remove_free(before);
    merge(before, block);
    block = before;
  }
  add_free(block);
  settle_inactive(block->kind);
}

/// No stream uses `block` any more.
void DeviceCache::make_free(Block* block) noexcept {
  statistics_.remove_active(*block);
  release(block);
}

// ---------------------------------------------------------------------------- use and disuse --

/// A free block of at least `bytes`, not cut yet, in no list any more; NULL if there is none.
Block* DeviceCache::take_cached(uint64_t bytes, Stream& stream) {
  StreamLists& lists = lists_of(stream);
  Block* block = lists.of(BlockSizes::kind_of(bytes)).find(bytes, sizes_.unit, sizes_.splits);
  if (block != nullptr) remove_free(block);
  return block;
}

/// Cut `block`, which is in no list, to `bytes` where that is worth it, and hand it out.
MemoryChange DeviceCache::use(Block* block, uint64_t bytes, uint64_t requested) {
  try {
    if (sizes_.worth_splitting(*block, bytes)) cut(block, bytes, store_.take());
    in_use_.emplace(block->memory, block);
  } catch (...) {
    release(block);
    throw;
  }
  settle_inactive(block->kind);
  block->in_use = true;
  block->requested = requested;
  statistics_.add_in_use(*block);
  return change(*block, static_cast<int64_t>(block->bytes));
}

MemoryChange DeviceCache::change(const Block& block, int64_t bytes) const {
  return {block.memory, bytes, static_cast<uint64_t>(statistics_.allocated_bytes.current()),
          static_cast<uint64_t>(statistics_.reserved_bytes.current())};
}

MemoryChange DeviceCache::allocate(uint64_t requested, Stream& stream) {
  const uint64_t bytes = sizes_.block_bytes(requested);
  if (bytes != 0) [[likely]] {
    std::unique_lock lock(mutex_);
    if (waiting_count_ > 0) {
      lock.unlock();
      collect();
      lock.lock();
    }
    if (Block* block = take_cached(bytes, stream)) return use(block, bytes, requested);
  }
  Block* block = allocate_slowly(requested, bytes, stream);
  std::lock_guard lock(mutex_);
  return use(block, bytes, requested);
}

MemoryChange DeviceCache::free(tbk_memory_t memory) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = in_use_.find(memory);
  if (found == in_use_.end()) return {};
  Block* block = found->second;
  in_use_.erase(found);
  block->in_use = false;
  statistics_.remove_in_use(*block);
  const MemoryChange freed = change(*block, -static_cast<int64_t>(block->bytes));
  if (block->uses.empty()) [[likely]] {
    make_free(block);
    return freed;
  }
  waiting_count_++;
  lock.unlock();
  for (StreamPoint& point : block->uses)
    point.record();
  lock.lock();
  freed_.push(block);
  return freed;
}

// ------------------------------------------------------------------------------------ lookup --

/// The block in use that `pointer` lies in, or NULL.
Block* DeviceCache::find_block(uint64_t pointer) const {
  if (const auto found = in_use_.find(pointer); found != in_use_.end()) return found->second;
  if (!sizes_.splits) return nullptr;
  const auto behind = segments_.upper_bound(pointer);
  if (behind == segments_.begin()) return nullptr;
  for (Block* block = std::prev(behind)->second; block != nullptr; block = block->after)
    if (pointer - block->memory < block->bytes) return block->in_use ? block : nullptr;
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
