// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/util/flat_hash_map.h>
#include <runtime/device_allocator_blocks.h>
#include <runtime/device_allocator_statistics.h>
#include <runtime/device_allocator_waiting.h>
#include <runtime/short_lock.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tbk {

/// Tells the bytes of a block, and the totals after it was allocated or freed, for PyTorch's
/// profiler.
struct MemoryReport {
  uint64_t bytes = 0;
  uint64_t allocated = 0;
  uint64_t reserved = 0;
};

/// Keeps the memory of one device. Threads: any. Made when the device is first named, never
/// destroyed.
///
/// Locks: `mutex_` guards all members but `waiting_`, and is never held while the backend is
/// called: a call may block until another thread of the program frees memory, and what a backend
/// logs may reach Python. `waiting_mutex_` is taken before it, and may be held while the backend is
/// called; freeing never takes it.
class DeviceCache {
 public:
  DeviceCache(c10::DeviceIndex device, const tbk_device_properties_t& properties)
      : device_(device), sizes_(properties) {}

  /// Returns a block of `bytes`, which are not 0, for `stream` of the device, which is open.
  /// `report` may be NULL. May wait for the device where memory is short.
  /// Errors: c10::OutOfMemoryError; those of earlier work.
  tbk_memory_t allocate(uint64_t bytes, Stream& stream, MemoryReport* report);
  /// Takes back the block that begins with `memory`; never waits. Returns false, with nothing done,
  /// where none in use does. `report` may be NULL.
  bool free(tbk_memory_t memory, MemoryReport* report) noexcept;

  /// Returns whether `pointer` lies in a block in use.
  bool owns(uint64_t pointer) const;
  /// Notes that `stream` uses the block in use that `pointer` lies in; does nothing where there is
  /// none.
  void record_use(uint64_t pointer, Stream& stream);

  /// Waits for the blocks that wait, and for the device where something is cached; gives all that
  /// back.
  /// Errors: those of earlier work, and of the backend; what was not given back stays cached.
  void flush();

  /// Sets the most bytes that are held from now on; 0 for no limit. What is over it stays.
  void set_limit(uint64_t bytes);
  uint64_t limit() const;
  /// Returns the bytes that are held, in use or not.
  uint64_t reserved_bytes() const;
  c10::CachingDeviceAllocator::DeviceStats statistics() const;
  void reset_accumulated();
  void reset_peak();

 private:
  StreamLists& lists_of(Stream& stream) {
    return latest_stream_ == &stream ? *latest_lists_ : find_lists(stream);
  }
  StreamLists& find_lists(Stream& stream);
  Block* take_quick(uint64_t bytes, unsigned list, StreamLists& lists) noexcept;
  Block* take_cached(uint64_t bytes, StreamLists& lists);
  void learn(Block* block);
  tbk_memory_t use(Block* block, uint64_t requested, MemoryReport* report);
  void cut(Block* block, uint64_t bytes);
  Block* find_block(uint64_t pointer) const;
  void fill(MemoryReport* report, const Block& block) const;

  void add_free(Block* block) noexcept;
  void remove_free(Block* block) noexcept;
  void merge(Block* left, Block* right) noexcept;
  void join(Block* block) noexcept;
  bool join_quick(StreamLists& lists) noexcept;
  void make_free(Block* block) noexcept {
    if (block->kind == BlockKind::large) return make_large_free(block);
    block->home->quick.push(block);
    if (!block->whole()) statistics_.add_inactive_split(*block);
  }
  void make_large_free(Block* block) noexcept;
  void settle_inactive(BlockKind kind) noexcept;

  void collect();
  void collect_held(bool wait);
  bool claim(uint64_t bytes);
  Block* try_segment(uint64_t bytes, BlockKind kind, Stream& stream, std::string& reason);
  Block* add_segment(tbk_memory_t memory, uint64_t bytes, BlockKind kind, Stream& stream);
  Block* new_segment(uint64_t bytes, Stream& stream, std::string& reason);
  Block* detach_whole();
  void attach(Block* whole) noexcept;
  Block* give_back(Block* whole);
  Block* allocate_slowly(uint64_t requested, uint64_t bytes, Stream& stream);
  [[noreturn]] void raise_out_of_memory(uint64_t requested, const std::string& reason);

  const c10::DeviceIndex device_;
  const BlockSizes sizes_;

  mutable ShortLock mutex_;
  size_t waiting_count_ = 0;  // of blocks in freed_ and in waiting_
  Stream* latest_stream_ = nullptr;
  StreamLists* latest_lists_ = nullptr;
  ska::flat_hash_map<tbk_memory_t, Block*> by_memory_;  // blocks in use, and in quick lists
  Statistics statistics_;
  int64_t inactive_count_ = 0, inactive_bytes_ = 0;  // changes that are not in statistics_ yet
  std::unordered_map<Stream*, std::unique_ptr<StreamLists>> lists_;
  BlockStore store_;
  std::map<tbk_memory_t, Block*> segments_;  // the first block of each
  BlockQueue freed_;                         // with uses, not yet seen by waiting_
  uint64_t limit_ = 0;
  uint64_t claimed_ = 0;  // being asked for

  std::mutex waiting_mutex_;
  WaitingBlocks waiting_;
};

}  // namespace tbk
