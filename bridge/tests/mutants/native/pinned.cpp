// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory of the host.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <patch.h>

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

constexpr Mutant table[] = {
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
    {"pinned_allocate_never_reuses", on_pinned<&Allocator::allocate,
                                               [](auto allocate, size_t bytes) {
                                                 at::getHostAllocator(kPrivateUse1)->empty_cache();
                                                 return allocate(bytes);
                                               }>},
    {"pinned_record_raises",
     on_pinned<&Allocator::record_event,
               [](auto record, void* data, void* context, c10::Stream stream) {
                 const bool known = record(data, context, stream);
                 TORCH_CHECK(known, "not pinned");
                 return known;
               }>},
    {"pinned_record_is_ignored",
     on_pinned<&Allocator::record_event, [](auto, void*, void*, c10::Stream) { return true; }>},
};

}  // namespace

Mutants pinned_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
