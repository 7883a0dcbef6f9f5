// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The allocator of device memory, as PyTorch knows it, and that of storages.
#include <c10/core/StorageImpl.h>
#include <registered.h>
#include <storages.h>

#include <atomic>
#include <string>
#include <vector>

namespace tbk::mutants {
namespace {

using c10::DataPtr;
using c10::kPrivateUse1;
using c10::Stream;

std::atomic<int> calls{0};

void free_nothing(void*) {}

/// A second context frees the block, and spoils what is current where it does.
void free_and_set_device(void* context) {
  auto* held = static_cast<DataPtr*>(context);
  const c10::Device device = held->device();
  delete held;
  guard().uncheckedSetDevice(device);
}

constexpr Mutant table[] = {
    {"record_stream_is_ignored",
     on_allocator<&Allocator::recordStream, [](auto, const DataPtr&, Stream) {}>},
    {"record_stream_on_default_stream",
     on_allocator<&Allocator::recordStream,
                  [](auto record, const DataPtr& pointer, Stream stream) {
                    record(pointer, Stream(Stream::DEFAULT, stream.device()));
                  }>},
    {"record_stream_refuses_own_stream",
     on_allocator<&Allocator::recordStream,
                  [](auto record, const DataPtr& pointer, Stream stream) {
                    TORCH_CHECK(stream != guard().getStream(stream.device()), "its own stream");
                    record(pointer, stream);
                  }>},
    {"record_stream_refuses_foreign_memory",
     on_allocator<&Allocator::recordStream,
                  [](auto record, const DataPtr& pointer, Stream stream) {
                    TORCH_CHECK(pointer.device().is_privateuseone() && pointer.get() != nullptr,
                                "not allocated here");
                    record(pointer, stream);
                  }>},
    {"record_stream_crashes_for_null",
     on_allocator<&Allocator::recordStream,
                  [](auto record, const DataPtr& pointer, Stream stream) {
                    if (pointer.get() == nullptr) abort();
                    record(pointer, stream);
                  }>},
    {"empty_cache_does_nothing",
     on_allocator<&Allocator::emptyCache, [](auto, c10::MempoolId_t) {}>},
    {"emptying_keeps_a_small_block",
     on_allocator<&Allocator::emptyCache,
                  [](auto empty, c10::MempoolId_t pool) {
                    const DataPtr kept = c10::GetAllocator(kPrivateUse1)->allocate(40'000);
                    empty(pool);
                  }>},
    {"emptying_is_of_the_current_device",
     on_allocator<&Allocator::emptyCache,
                  [](auto empty, c10::MempoolId_t pool) {
                    const auto current = guard().getDevice();
                    std::vector<DataPtr> kept;
                    for (c10::DeviceIndex i = 0; i < guard().deviceCount(); ++i) {
                      guard().setDevice(c10::Device(kPrivateUse1, i));
                      if (i == current.index()) continue;
                      kept.push_back(c10::GetAllocator(kPrivateUse1)->allocate(400));
                      kept.push_back(c10::GetAllocator(kPrivateUse1)->allocate((1 << 20) + 1));
                    }
                    guard().setDevice(current);
                    empty(pool);
                  }>},
    {"never_initialized", on_allocator<&Allocator::initialized, [](auto) { return false; }>},
    {"always_initialized", on_allocator<&Allocator::initialized, [](auto) { return true; }>},
};

// -------------------------------------------------------------------------------- storages --

template <auto Method, auto Broken>
void on_storage(OfStorage& allocator) {
  replace<Method, Broken>(allocator);
}

constexpr OfStorageMutant storage_table[] = {
    {"copy_data_does_nothing",
     on_storage<&OfStorage::copy_data, [](auto, void*, const void*, std::size_t) {}>},
    {"copy_data_drops_last_byte",
     on_storage<&OfStorage::copy_data,
                [](auto copy, void* destination, const void* source, std::size_t count) {
                  copy(destination, source, count == 0 ? 0 : count - 1);
                }>},
    {"copy_data_on_default_stream",
     on_storage<&OfStorage::copy_data,
                [](auto copy, void* destination, const void* source, std::size_t count) {
                  const Stream before = guard().getStream(guard().getDevice());
                  guard().exchangeStream(Stream(Stream::DEFAULT, before.device()));
                  copy(destination, source, count);
                  guard().exchangeStream(before);
                }>},
    {"allocate_for_default_stream",
     on_storage<&OfStorage::allocate,
                [](auto allocate, size_t bytes) {
                  const Stream before = guard().getStream(guard().getDevice());
                  guard().exchangeStream(Stream(Stream::DEFAULT, before.device()));
                  DataPtr made = allocate(bytes);
                  guard().exchangeStream(before);
                  return made;
                }>},
    {"allocate_forgets_to_free", on_storage<&OfStorage::allocate,
                                            [](auto allocate, size_t bytes) {
                                              DataPtr made = allocate(bytes);
                                              void* data = made.release_context();
                                              return DataPtr(data, data, free_nothing,
                                                             made.device());
                                            }>},
    {"deleter_sets_device", on_storage<&OfStorage::allocate,
                                       [](auto allocate, size_t bytes) {
                                         auto* held = new DataPtr(allocate(bytes));
                                         return DataPtr(held->get(), held, free_and_set_device,
                                                        held->device());
                                       }>},
    {"allocate_misaligned", on_storage<&OfStorage::allocate,
                                       [](auto allocate, size_t bytes) {
                                         if (bytes == 0) return allocate(bytes);
                                         auto* held = new DataPtr(allocate(bytes + 8));
                                         auto* data = static_cast<char*>(held->get()) + 8;
                                         return DataPtr(data, held, free_and_set_device,
                                                        held->device());
                                       }>},
    {"allocate_is_short", on_storage<&OfStorage::allocate,
                                     [](auto allocate, size_t bytes) {
                                       return allocate(bytes > 64 ? bytes / 2 : bytes);
                                     }>},
    {"allocate_nothing_crashes", on_storage<&OfStorage::allocate,
                                            [](auto allocate, size_t bytes) {
                                              if (bytes == 0) abort();
                                              return allocate(bytes);
                                            }>},
    {"out_of_memory_is_another_error", on_storage<&OfStorage::allocate,
                                                  [](auto allocate, size_t bytes) {
                                                    try {
                                                      return allocate(bytes);
                                                    } catch (const c10::OutOfMemoryError&) {
                                                      TORCH_CHECK(false, "the allocation failed");
                                                    }
                                                  }>},
    {"out_of_memory_crashes", on_storage<&OfStorage::allocate,
                                         [](auto allocate, size_t bytes) {
                                           try {
                                             return allocate(bytes);
                                           } catch (const c10::OutOfMemoryError&) {
                                             abort();
                                           }
                                         }>},
    {"out_of_memory_leaks", on_storage<&OfStorage::allocate,
                                       [](auto allocate, size_t bytes) {
                                         try {
                                           return allocate(bytes);
                                         } catch (const c10::OutOfMemoryError&) {
                                           static DataPtr kept[8];
                                           kept[calls++ % 8] = allocate(4096);
                                           throw;
                                         }
                                       }>},
    {"block_given_out_twice", on_storage<&OfStorage::allocate,
                                         [](auto allocate, size_t bytes) {
                                           static std::atomic<void*> latest{nullptr};
                                           static std::atomic<size_t> room{0};
                                           void* data = latest;
                                           if (bytes != 0 && bytes <= room && calls++ % 5 == 4)
                                             return DataPtr(data, data, free_nothing,
                                                            guard().getDevice());
                                           DataPtr made = allocate(bytes);
                                           latest = made.get();
                                           room = bytes;
                                           return made;
                                         }>},
};

}  // namespace

Mutants allocator_mutants() {
  return all_of(table);
}

namespace {

template <class Function>
void for_each_of_storages(Function function) {
  for (const OfStorageMutants& mutants : {all_of_storages(storage_table), lifetime_mutants()})
    for (size_t i = 0; i < mutants.count; i++)
      function(mutants.first[i]);
}

}  // namespace

}  // namespace tbk::mutants

/// Only a storage of a device knows the allocator of that device's storages: Python calls this with
/// the first one. Returns how many mutants have that name; -1 where it failed.
extern "C" [[gnu::visibility("default")]] int tbk_torch_mutants_apply_to_storage(const char* name,
                                                                                 void* storage) {
  int found = 0;
  try {
    tbk::mutants::for_each_of_storages([&](const tbk::mutants::OfStorageMutant& mutant) {
      if (std::string(name) != mutant.name) return;
      found++;
      mutant.apply(*static_cast<c10::StorageImpl*>(storage)->allocator());
    });
  } catch (const std::exception&) {
    return -1;
  }
  return found;
}

/// The names of those, one on each line.
extern "C" [[gnu::visibility("default")]] const char* tbk_torch_mutants_storage_names() {
  static const std::string names = [] {
    std::string lines;
    tbk::mutants::for_each_of_storages([&](const tbk::mutants::OfStorageMutant& mutant) {
      lines += std::string(mutant.name) + "\n";
    });
    return lines;
  }();
  return names.c_str();
}
