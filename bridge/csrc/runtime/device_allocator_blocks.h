// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/stream_point.h>
#include <tbk/tbk.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tbk {

struct StreamLists;

/// Tells small blocks, of at most 1 MiB, from large ones; statistics are kept for both kinds.
enum class BlockKind : uint8_t { small, large };

/// Says where a block is.
enum class BlockState : uint8_t {
  detached,  // in transit
  in_use,
  waiting,  // freed, but a recorded stream has not passed
  quick,    // free, in a list of its size, not joined with its neighbours
  free,     // joined with those of its neighbours that are
};

/// Describes a piece of a segment (what memory_alloc gave), or a whole one. The owner of its cache
/// locks.
struct Block {
  tbk_memory_t memory = 0;  // of its first byte
  uint64_t bytes = 0;
  uint64_t requested = 0;
  Block* next = nullptr;  // in a list
  Block* previous = nullptr;
  Block* before = nullptr;  // neighbours in the segment
  Block* after = nullptr;
  StreamLists* home = nullptr;  // of the stream that it was allocated on
  Stream* stream = nullptr;
  size_t waits = 0;               // once freed: uses that are not known to have passed
  std::vector<StreamPoint> uses;  // by other streams; recorded when the block is freed
  BlockState state = BlockState::detached;
  BlockKind kind = BlockKind::small;
  bool known = false;  // in the table by address
  uint16_t list = 0;   // for its size

  /// Returns whether the block is a segment of its own.
  bool whole() const {
    return before == nullptr && after == nullptr;
  }
};

/// Holds the descriptions of blocks. They are reused, and never given back. The owner locks.
class BlockStore {
 public:
  Block* take();
  void give(Block* block) noexcept;

 private:
  std::deque<Block> nodes_;
  Block* unused_ = nullptr;
};

inline constexpr uint64_t small_most = UINT64_C(1) << 20;

/// Rounds sizes, which are in bytes, as one device has it. Never changes.
struct BlockSizes {
  explicit BlockSizes(const tbk_device_properties_t& properties);

  /// Returns what a block for `requested` bytes has; 0 for what no device can have.
  uint64_t block_bytes(uint64_t requested) const {
    if (requested > (UINT64_C(1) << 56)) [[unlikely]]
      return 0;
    const uint64_t rounded = (requested + unit - 1) & ~(unit - 1);
    const uint64_t bytes = splits ? rounded : round_to_list(rounded);
    return bytes <= most ? bytes : within_most(requested, bytes);
  }
  /// Returns the list for free blocks of `bytes`: one for each of the first 32 multiples of the
  /// unit, then 16 for each power of two. From list to list sizes rise.
  unsigned list_of(uint64_t bytes) const {
    const uint64_t units = bytes >> unit_shift;
    if (units < 32) return static_cast<unsigned>(units);
    const auto power = static_cast<unsigned>(std::bit_width(units)) - 1;
    return 32 + (power - 5) * 16 + static_cast<unsigned>((units >> (power - 4)) & 15);
  }
  /// Returns how much to ask the backend for, when a block of `bytes` is not in the cache.
  uint64_t segment_bytes(uint64_t bytes) const;
  /// Returns whether what is left of `block` behind `bytes` is worth a block of its own.
  bool worth_splitting(const Block& block, uint64_t bytes) const;

  static BlockKind kind_of(uint64_t bytes) {
    return bytes <= small_most ? BlockKind::small : BlockKind::large;
  }

  unsigned unit_shift;
  uint64_t unit;  // blocks are multiples of it: of 512, the alignment and the copy granularity
  bool splits;    // addresses are flat
  uint64_t most;  // in one allocation

 private:
  uint64_t within_most(uint64_t requested, uint64_t bytes) const;
  uint64_t round_to_list(uint64_t bytes) const;

  uint64_t granularity_;
};

/// Keeps the free blocks of one stream and kind, by size; a bitmap says which lists have blocks.
/// The owner locks.
class FreeLists {
 public:
  static constexpr unsigned count = 32 + 16 * 49;

  void insert(Block* block) noexcept;
  void remove(Block* block) noexcept;
  /// Returns a block of at least `bytes`, which belong to `list`; of the least size, but for what
  /// is behind the eighth in a list. Where `larger` is false, only of that list. NULL if there is
  /// none.
  Block* find(uint64_t bytes, unsigned list, bool larger) const;
  /// Unlinks all blocks that are whole segments; returns them, linked by `next` before `others`.
  Block* remove_whole(Block* others);

 private:
  unsigned next_list(unsigned from) const;
  static Block* best_of(Block* head, uint64_t bytes);

  std::array<Block*, count> heads_{};
  std::array<uint64_t, (count + 63) / 64> has_blocks_{};
};

/// Keeps what was freed last, by size, the latest first: found without a search, and given out as
/// it is.
class QuickLists {
 public:
  void push(Block* block) noexcept {
    block->state = BlockState::quick;
    Block*& head = heads_[block->list];
    block->next = head;
    head = block;
  }
  /// Returns a block of exactly `bytes`, which belong to `list`; NULL if it isn't the latest of
  /// that list.
  Block* pop(uint64_t bytes, unsigned list) noexcept {
    Block* head = heads_[list];
    if (head == nullptr || head->bytes != bytes) return nullptr;
    heads_[list] = head->next;
    return head;
  }
  /// Unlinks all; returns them, linked by `next`.
  Block* remove_all() noexcept;

 private:
  // Small blocks have at most 2048 units.
  std::array<Block*, 32 + 16 * 6 + 1> heads_{};
};

/// Keeps the free blocks of one stream.
struct StreamLists {
  QuickLists quick;  // small ones only
  FreeLists small, large;

  FreeLists& of(BlockKind kind) {
    return kind == BlockKind::small ? small : large;
  }
};

}  // namespace tbk
