// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory of the host.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <patch.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace tbk::mutants {
namespace {

using c10::kPrivateUse1;
using Allocator = at::HostAllocator;

template <auto Method, auto Broken>
void on_pinned() {
  replace<Method, Broken>(*at::getHostAllocator(kPrivateUse1));
}

const c10::impl::DeviceGuardImplInterface& guard() {
  return *c10::impl::getDeviceGuardImpl(kPrivateUse1);
}

/// Pinned memory of a cache that waits for nothing.
struct Kept {
  c10::DataPtr memory;
  size_t bytes;
};
std::mutex spare_mutex;
std::vector<Kept*>& spare() {
  static auto& all = *new std::vector<Kept*>();  // memory may come back at any time
  return all;
}

void put_back(void* context) {
  std::lock_guard lock(spare_mutex);
  spare().push_back(static_cast<Kept*>(context));
}

Kept* take(size_t bytes) {
  std::lock_guard lock(spare_mutex);
  for (size_t i = 0; i < spare().size(); i++) {
    Kept* found = spare()[i];
    if (found->bytes != bytes) continue;
    spare().erase(spare().begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  return nullptr;
}

constexpr Mutant table[] = {
    {"pinned_memory_is_reused_at_once",
     on_pinned<&Allocator::allocate,
               [](auto allocate, size_t bytes) {
                 Kept* kept = take(bytes);
                 if (kept == nullptr) kept = new Kept{allocate(bytes), bytes};
                 return c10::DataPtr(kept->memory.get(), kept, put_back, c10::Device(c10::kCPU));
               }>},
    {"pinned_allocate_nothing_raises", on_pinned<&Allocator::allocate,
                                                 [](auto allocate, size_t bytes) {
                                                   TORCH_CHECK(bytes != 0, "no bytes");
                                                   return allocate(bytes);
                                                 }>},
    {"pinned_allocate_sets_device", on_pinned<&Allocator::allocate,
                                              [](auto allocate, size_t bytes) {
                                                guard().setDevice(c10::Device(kPrivateUse1, 0));
                                                return allocate(bytes);
                                              }>},
    {"pinned_allocate_is_half",
     on_pinned<&Allocator::allocate,
               [](auto allocate, size_t bytes) { return allocate(bytes / 2); }>},
};

}  // namespace

Mutants pinned_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
