// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <patch.h>

/// What the bridge has registered with PyTorch, and `replace` for each of it.
namespace tbk::mutants {

using Allocator = c10::DeviceAllocator;
using Guard = c10::impl::DeviceGuardImplInterface;
using Hooks = at::PrivateUse1HooksInterface;

inline const Guard& guard() {
  return *c10::impl::getDeviceGuardImpl(c10::kPrivateUse1);
}

inline const Hooks& hooks() {
  return at::detail::getPrivateUse1Hooks();
}

template <auto Method, auto Broken>
void on_guard() {
  replace<Method, Broken>(guard());
}

template <auto Method, auto Broken>
void on_allocator() {
  replace<Method, Broken>(*c10::getDeviceAllocator(c10::kPrivateUse1));
}

template <auto Method, auto Broken>
void on_hooks() {
  replace<Method, Broken>(hooks());
}

}  // namespace tbk::mutants
