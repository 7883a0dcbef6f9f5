// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_blocks.h>

#include <algorithm>
#include <bit>

namespace tbk {
namespace {

constexpr uint64_t mib = UINT64_C(1) << 20;
// What users of PyTorch know from its other devices.
constexpr uint64_t least_unit = 512, small_most = mib, small_segment = 2 * mib;
constexpr uint64_t packed_most = 10 * mib, packed_segment = 20 * mib, large_step = 2 * mib;
constexpr uint64_t size_most = UINT64_C(1) << 56;

uint64_t multiple(uint64_t bytes, uint64_t of) {
  return (bytes + of - 1) / of * of;
}

}  // namespace

Block* BlockStore::take() {
  if (unused_ == nullptr) return &nodes_.emplace_back();
  Block* block = unused_;
  unused_ = block->next;
  block->next = nullptr;
  return block;
}

void BlockStore::give(Block* block) noexcept {
  block->uses.clear();
  block->before = block->after = block->previous = nullptr;
  block->is_free = block->in_use = false;
  block->next = unused_;
  unused_ = block;
}

BlockSizes::BlockSizes(const tbk_device_properties_t& properties)
    : unit(std::max({least_unit, properties.memory_alignment, properties.copy_granularity})),
      splits((properties.flags & TBK_DEVICE_FLAT_ADDRESS) != 0) {}

BlockKind BlockSizes::kind_of(uint64_t bytes) {
  return bytes <= small_most ? BlockKind::small : BlockKind::large;
}

uint64_t BlockSizes::block_bytes(uint64_t requested) const {
  if (requested > size_most) return 0;
  // The unit is a power of two, as both of tbk.h are.
  const uint64_t bytes = (requested + unit - 1) & ~(unit - 1);
  return splits ? bytes : FreeLists::round_up(bytes / unit) * unit;
}

uint64_t BlockSizes::segment_bytes(uint64_t bytes) const {
  if (!splits) return bytes;
  if (bytes <= small_most) return std::max(small_segment, unit);
  if (bytes < packed_most) return multiple(packed_segment, unit);
  return multiple(bytes, std::max(large_step, unit));
}

bool BlockSizes::worth_splitting(const Block& block, uint64_t bytes) const {
  if (!splits) return false;
  const uint64_t rest = block.bytes - bytes;
  return block.kind == BlockKind::small ? rest >= unit : rest > small_most && rest >= unit;
}

unsigned FreeLists::list_of(uint64_t units) {
  if (units < exact) return static_cast<unsigned>(units);
  const auto power = static_cast<unsigned>(std::bit_width(units)) - 1;
  return exact + (power - 5) * steps + static_cast<unsigned>((units >> (power - 4)) & (steps - 1));
}

uint64_t FreeLists::round_up(uint64_t units) {
  if (units < exact) return units;
  const uint64_t step = UINT64_C(1) << (std::bit_width(units) - 5);
  return (units + step - 1) & ~(step - 1);
}

void FreeLists::insert(Block* block, uint64_t unit) {
  const unsigned list = list_of(block->bytes / unit);
  Block*& head = heads_[list];
  block->previous = nullptr;
  block->next = head;
  if (head != nullptr) head->previous = block;
  head = block;
  has_blocks_[list / 64] |= UINT64_C(1) << list % 64;
  block->is_free = true;
}

void FreeLists::remove(Block* block, uint64_t unit) {
  if (block->next != nullptr) block->next->previous = block->previous;
  if (block->previous != nullptr) {
    block->previous->next = block->next;
  } else {
    const unsigned list = list_of(block->bytes / unit);
    heads_[list] = block->next;
    if (block->next == nullptr) has_blocks_[list / 64] &= ~(UINT64_C(1) << list % 64);
  }
  block->previous = block->next = nullptr;
  block->is_free = false;
}

unsigned FreeLists::next_list(unsigned from) const {
  uint64_t bits = from < count ? has_blocks_[from / 64] >> from % 64 << from % 64 : 0;
  for (size_t word = from / 64; word < has_blocks_.size();) {
    if (bits != 0) return static_cast<unsigned>(word * 64) + std::countr_zero(bits);
    if (++word < has_blocks_.size()) bits = has_blocks_[word];
  }
  return count;
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

Block* FreeLists::find(uint64_t bytes, uint64_t unit, bool larger) const {
  const unsigned own = list_of(bytes / unit);
  Block* found = best_of(heads_[own], bytes);
  if (found != nullptr || !larger) return found;
  const unsigned list = next_list(own + 1);
  return list < count ? best_of(heads_[list], bytes) : nullptr;
}

Block* FreeLists::remove_whole(uint64_t unit, Block* others) {
  for (unsigned list = next_list(0); list < count; list = next_list(list + 1)) {
    for (Block *block = heads_[list], *next; block != nullptr; block = next) {
      next = block->next;
      if (!block->whole()) continue;
      remove(block, unit);
      block->next = others;
      others = block;
    }
  }
  return others;
}

}  // namespace tbk
