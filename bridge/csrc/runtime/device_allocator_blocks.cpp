// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_blocks.h>

#include <algorithm>

namespace tbk {
namespace {

constexpr uint64_t mib = UINT64_C(1) << 20;
// What users of PyTorch know from its other devices.
constexpr uint64_t least_unit = 512, small_segment = 2 * mib;
constexpr uint64_t packed_most = 10 * mib, packed_segment = 20 * mib, large_step = 2 * mib;

uint64_t round_up(uint64_t bytes, uint64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

// --------------------------------------------------------------------------------------- nodes --

Block* BlockStore::take() {
  if (unused_ == nullptr) return &nodes_.emplace_back();
  Block* block = unused_;
  unused_ = block->next;
  block->next = nullptr;
  return block;
}

void BlockStore::give(Block* block) noexcept {
  block->before = block->after = block->previous = nullptr;
  block->state = BlockState::detached;
  block->next = unused_;
  unused_ = block;
}

// --------------------------------------------------------------------------------------- sizes --

BlockSizes::BlockSizes(const tbk_device_properties_t& properties)
    : unit(std::max({least_unit, properties.memory_alignment, properties.copy_granularity})),
      splits((properties.flags & TBK_DEVICE_FLAT_ADDRESS) != 0),
      most(properties.max_allocation_bytes != 0 ? properties.max_allocation_bytes : UINT64_MAX),
      granularity_(std::max(properties.copy_granularity, UINT64_C(1))) {
  unit_shift = static_cast<unsigned>(std::countr_zero(unit));
}

/// To the least size of a list, so that all blocks of a list have one size.
uint64_t BlockSizes::round_to_list(uint64_t bytes) const {
  const uint64_t units = bytes >> unit_shift;
  if (units < 32) return bytes;
  return round_up(units, UINT64_C(1) << (std::bit_width(units) - 5)) << unit_shift;
}

/// For what fits into one allocation, and would not once it is rounded: as little more as copies need.
uint64_t BlockSizes::within_most(uint64_t requested, uint64_t bytes) const {
  const uint64_t least = round_up(requested, granularity_);
  return least <= most ? least : bytes;
}

uint64_t BlockSizes::segment_bytes(uint64_t bytes) const {
  if (!splits) return bytes;
  uint64_t segment = round_up(bytes, std::max(large_step, unit));
  if (bytes <= small_most)
    segment = round_up(small_segment, unit);
  else if (bytes < packed_most)
    segment = round_up(packed_segment, unit);
  return segment <= most ? segment : bytes;
}

bool BlockSizes::worth_splitting(const Block& block, uint64_t bytes) const {
  if (!splits) return false;
  const uint64_t rest = block.bytes - bytes;
  return rest >= unit && (block.kind == BlockKind::small || rest > small_most);
}

// --------------------------------------------------------------------------------------- lists --

void FreeLists::insert(Block* block) noexcept {
  Block*& head = heads_[block->list];
  block->previous = nullptr;
  block->next = head;
  if (head != nullptr) head->previous = block;
  head = block;
  has_blocks_[block->list / 64] |= UINT64_C(1) << block->list % 64;
  block->state = BlockState::free;
}

void FreeLists::remove(Block* block) noexcept {
  if (block->next != nullptr) block->next->previous = block->previous;
  if (block->previous != nullptr)
    block->previous->next = block->next;
  else
    heads_[block->list] = block->next;
  if (heads_[block->list] == nullptr)
    has_blocks_[block->list / 64] &= ~(UINT64_C(1) << block->list % 64);
  block->previous = block->next = nullptr;
  block->state = BlockState::detached;
}

/// The first list from `from` on that has blocks; `count` if there is none.
unsigned FreeLists::next_list(unsigned from) const {
  if (from >= count) return count;
  uint64_t word = has_blocks_[from / 64] >> from % 64 << from % 64;
  for (unsigned i = from / 64;;) {
    if (word != 0) return i * 64 + static_cast<unsigned>(std::countr_zero(word));
    if (++i == has_blocks_.size()) return count;
    word = has_blocks_[i];
  }
}

Block* FreeLists::best_of(Block* head, uint64_t bytes) {
  Block* best = nullptr;
  int left = 8;
  for (Block* block = head; block != nullptr && left > 0; block = block->next, left--) {
    if (block->bytes < bytes || (best != nullptr && best->bytes <= block->bytes)) continue;
    best = block;
    if (best->bytes == bytes) break;
  }
  return best;
}

Block* FreeLists::find(uint64_t bytes, unsigned list, bool larger) const {
  Block* found = best_of(heads_[list], bytes);
  if (found != nullptr || !larger) return found;
  const unsigned next = next_list(list + 1);
  return next < count ? best_of(heads_[next], bytes) : nullptr;
}

Block* FreeLists::remove_whole(Block* others) {
  for (unsigned list = next_list(0); list < count; list = next_list(list + 1)) {
    for (Block *block = heads_[list], *next; block != nullptr; block = next) {
      next = block->next;
      if (!block->whole()) continue;
      remove(block);
      block->next = others;
      others = block;
    }
  }
  return others;
}

Block* QuickLists::remove_all() noexcept {
  Block* all = nullptr;
  for (Block*& head : heads_) {
    while (head != nullptr) {
      Block* block = head;
      head = block->next;
      block->next = all;
      block->state = BlockState::detached;
      all = block;
    }
  }
  return all;
}

}  // namespace tbk
