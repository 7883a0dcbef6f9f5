// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/bad_index.h>
#include <runtime/error.h>
#include <runtime/memory.h>
#include <runtime/stream.h>

#include <c10/util/Exception.h>

#include <algorithm>

namespace tbk {

uint64_t BadIndex::word_bytes(const Stream& stream) {
  const uint64_t granularity = Backend::get().device(stream.device).properties.copy_granularity;
  return std::max<uint64_t>(sizeof(int32_t), granularity);
}

tbk_memory_t BadIndex::word(const Stream& stream) {
  if (is_made_.load(std::memory_order_acquire)) [[likely]]
    return memory_;
  const std::lock_guard guard(making_);
  if (is_made_.load(std::memory_order_relaxed)) return memory_;
  Backend& backend = Backend::get();
  const uint64_t bytes = word_bytes(stream);
  ErrorBuffer error;
  tbk_memory_t memory = 0;
  check(backend.core().memory_alloc(backend.instance(), stream.device, bytes, &memory, &error),
        error, "memory_alloc", stream.device);
  AtOnce at_once(stream.device);
  fill({stream.device, memory, 0}, 0, bytes, at_once);
  memory_ = memory;
  is_made_.store(true, std::memory_order_release);
  return memory;
}

void BadIndex::note(const char* operation) noexcept {
  operations_.note(operation);
  is_open_.store(true, std::memory_order_release);
}

void BadIndex::raise_if_any(const Stream& stream) {
  if (!is_open_.exchange(false, std::memory_order_acq_rel)) return;
  const std::string operations = operations_.text();
  operations_.forget();
  const Location place{stream.device, memory_, 0};
  AtOnce at_once(stream.device);
  int32_t word = 0;
  download(&word, place, sizeof word, at_once);
  if (word == 0) return;
  fill(place, 0, word_bytes(stream), at_once);
  C10_THROW_ERROR(
      IndexError,
      c10::str(Backend::get().name(), ":", static_cast<int>(stream.device),
               ": an index is out of range; what it names was left out. One of these has it: ",
               operations, " (on stream ", stream.id, " since the host last waited for it)"));
}

}  // namespace tbk
