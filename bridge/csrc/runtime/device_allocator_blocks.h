// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/stream_point.h>
#include <tbk/tbk.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tbk {

struct FreeLists;

/// Blocks of at most 1 MiB are small; statistics are kept for both kinds.
enum class BlockKind : uint8_t { small, large };

/// A piece of a segment (what memory_alloc gave), or a whole one.
struct Block {
  tbk_memory_t memory = 0;
  uint64_t bytes = 0;
  uint64_t requested = 0;
  Block* before = nullptr;  // neighbours in the segment
  Block* after = nullptr;
  Block* previous = nullptr;  // in a list
  Block* next = nullptr;
  FreeLists* home = nullptr;  // of the stream that it was allocated on
  Stream* stream = nullptr;
  size_t waits = 0;  // once freed: uses that are not known to have passed
  bool is_free = false;
  bool in_use = false;  // neither: freed, but a recorded stream has not passed
  BlockKind kind = BlockKind::small;
  std::vector<StreamPoint> uses;  // by other streams; recorded when the block is freed

  bool whole() const {
    return before == nullptr && after == nullptr;
  }
};

/// Where blocks live. Nodes are reused, and never given back.
class BlockStore {
 public:
  Block* take();
  void give(Block* block) noexcept;

 private:
  std::deque<Block> nodes_;
  Block* unused_ = nullptr;
};

/// How sizes are rounded on one device.
struct BlockSizes {
  explicit BlockSizes(const tbk_device_properties_t& properties);

  uint64_t unit;  // blocks are multiples of it: of 512, the alignment and the copy granularity
  bool splits;    // addresses are flat

  /// 0 for what no device can have.
  uint64_t block_bytes(uint64_t requested) const;
  /// How much to ask the backend for, when a block of `bytes` is not in the cache.
  uint64_t segment_bytes(uint64_t bytes) const;
  bool worth_splitting(const Block& block, uint64_t bytes) const;
  static BlockKind kind_of(uint64_t bytes);
};

/// The free blocks of one stream and kind, by size: one list each for the first 32 sizes, then 16 for
/// each power of two; a bitmap says which lists have blocks.
struct FreeLists {
  static constexpr unsigned exact = 32, steps = 16, count = exact + steps * 49;

  /// The list for blocks of `units`; from list to list sizes rise.
  static unsigned list_of(uint64_t units);
  /// `units`, raised to the least size of a list.
  static uint64_t round_up(uint64_t units);

  void insert(Block* block, uint64_t unit);
  void remove(Block* block, uint64_t unit);
  /// A block of at least `bytes`, of the least size but for what is behind the eighth in a list.
  /// Where `larger` is false, only of the list that `bytes` belongs to. NULL if there is none.
  Block* find(uint64_t bytes, uint64_t unit, bool larger) const;
  /// Unlink all blocks that are whole segments, and link them by `next` before `others`.
  Block* remove_whole(uint64_t unit, Block* others);

 private:
  unsigned next_list(unsigned from) const;
  static Block* best_of(Block* head, uint64_t bytes);

  std::array<Block*, count> heads_{};
  std::array<uint64_t, (count + 63) / 64> has_blocks_{};
};

}  // namespace tbk
