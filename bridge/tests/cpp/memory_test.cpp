// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills of any bytes against a model on the host, at each granularity and with each part of
// the contract missing.
#include "check.h"

#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/memory.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tbk::test {
namespace {

/// Memory of a device beside what it should hold.
struct Block {
  Location location;
  std::vector<uint8_t> expected;

  Block(c10::DeviceIndex device, size_t bytes, std::mt19937& random) : expected(bytes) {
    Backend& backend = Backend::get();
    Stream& stream = current_stream(device);
    location.device = device;
    ErrorBuffer error;
    tbk::check(
        backend.core().memory_alloc(backend.instance(), device, bytes, &location.memory, &error),
        error, "memory_alloc", device);
    std::generate(expected.begin(), expected.end(), [&] { return static_cast<uint8_t>(random()); });
    upload(location, expected.data(), bytes, stream);
    synchronize(stream);
  }
  Location at(size_t offset) const {
    return {location.device, location.memory, location.offset + offset};
  }
  std::vector<uint8_t> read() const {
    std::vector<uint8_t> bytes(expected.size());
    Stream& stream = current_stream(location.device);
    download(bytes.data(), location, bytes.size(), stream);
    synchronize(stream);
    return bytes;
  }
};

struct Range {
  size_t from, to, bytes;
};

/// In blocks of `size` bytes; small ones, whole ones and empty ones come often.
Range draw_range(size_t size, std::mt19937& random) {
  size_t limit = random() % 4 == 0 ? size : std::min<size_t>(size, 97);
  size_t bytes = random() % (limit + 1);
  return {random() % (size - bytes + 1), random() % (size - bytes + 1), bytes};
}

void do_upload(Block& block, const Range& range, std::mt19937& random) {
  std::vector<uint8_t> source(range.bytes);
  std::generate(source.begin(), source.end(), [&] { return static_cast<uint8_t>(random()); });
  Stream& stream = current_stream(block.location.device);
  upload(block.at(range.to), source.data(), range.bytes, stream);
  synchronize(stream);
  std::copy(source.begin(), source.end(), block.expected.begin() + range.to);
}

void do_fill(Block& block, const Range& range, std::mt19937& random) {
  auto value = static_cast<uint8_t>(random() % 2 == 0 ? 0 : random());
  fill(block.at(range.to), value, range.bytes, current_stream(block.location.device));
  std::fill_n(block.expected.begin() + range.to, range.bytes, value);
}

void do_download(const Block& block, const Range& range) {
  std::vector<uint8_t> seen(range.bytes + 2,
                            0x5a);  // a byte before and one behind stay as they are
  Stream& stream = current_stream(block.location.device);
  download(seen.data() + 1, block.at(range.from), range.bytes, stream);
  synchronize(stream);
  TBK_CHECK(std::equal(seen.begin() + 1, seen.end() - 1, block.expected.begin() + range.from));
  TBK_CHECK(seen.front() == 0x5a && seen.back() == 0x5a);
}

void do_copy(Block& to, const Block& from, const Range& range) {
  Stream& stream = current_stream(from.location.device);
  synchronize(current_stream(to.location.device));  // `stream` is ordered after it
  copy(to.at(range.to), from.at(range.from), range.bytes, stream);
  synchronize(stream);
  std::copy_n(from.expected.begin() + range.from, range.bytes, to.expected.begin() + range.to);
}

void any_bytes_arrive() {
  std::mt19937 random(7);
  constexpr size_t size = 3 << 12;
  auto last = static_cast<c10::DeviceIndex>(Backend::get().device_count() - 1);
  std::vector<Block> blocks;
  for (c10::DeviceIndex device : {c10::DeviceIndex{0}, c10::DeviceIndex{0}, last})
    blocks.emplace_back(device, size, random);
  for (int step = 0; step < 600; step++) {
    size_t which = random() % blocks.size();
    Block& block = blocks[which];
    Range range = draw_range(size, random);
    switch (random() % 4) {
      case 0:
        do_upload(block, range, random);
        break;
      case 1:
        do_fill(block, range, random);
        break;
      case 2:
        do_download(block, range);
        break;
      default:
        do_copy(block, blocks[(which + 1 + random() % 2) % blocks.size()], range);
    }
  }
  for (const Block& block : blocks)
    TBK_CHECK(block.read() == block.expected);
}

/// What is larger than the bridge's own host memory goes through it piece by piece.
void large_ranges_arrive() {
  std::mt19937 random(11);
  constexpr size_t size = 3 << 20;
  auto last = static_cast<c10::DeviceIndex>(Backend::get().device_count() - 1);
  Block here(0, size, random), there(last, size, random);
  do_copy(there, here, {1, 4, size - 5});
  TBK_CHECK(there.read() == there.expected);
  fill(there.at(3), 0x7b, size - 7, current_stream(last));
  std::fill_n(there.expected.begin() + 3, size - 7, uint8_t{0x7b});
  TBK_CHECK(there.read() == there.expected);
  fill(there.at(5), 0, size - 9, current_stream(last));
  std::fill_n(there.expected.begin() + 5, size - 9, uint8_t{0});
  TBK_CHECK(there.read() == there.expected);
}

const Registration registration({
    {"any_bytes_arrive", "template", "", any_bytes_arrive},
    {"any_bytes_arrive", "cpu", "", any_bytes_arrive},
    {"any_bytes_arrive", "cpu", "granularity=4", any_bytes_arrive},
    {"any_bytes_arrive", "cpu", "granularity=64,flat=0,policy=lazy", any_bytes_arrive},
    {"any_bytes_arrive", "cpu", "granularity=4096,alignment=4096", any_bytes_arrive},
    {"large_ranges_arrive", "template", "", large_ranges_arrive},
    {"large_ranges_arrive", "cpu", "", large_ranges_arrive},
    {"large_ranges_arrive", "cpu", "granularity=16", large_ranges_arrive},
});

}  // namespace
}  // namespace tbk::test
