// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <atomic>

namespace tbk::generic {

/// Holds what was interned for each dtype.
template <class Interned>
using OfDtypes =
    std::array<std::atomic<const Interned*>, static_cast<size_t>(at::ScalarType::Undefined)>;

/// Returns what `make` gives, which is called the first time, or by several threads at that time: what is interned
/// is the same.
template <class Interned, class Make>
const Interned* made_once(std::atomic<const Interned*>& place, Make make) {
  const Interned* made = place.load(std::memory_order_acquire);
  if (made == nullptr) {
    made = make();
    place.store(made, std::memory_order_release);
  }
  return made;
}

template <class Interned, class Make>
const Interned* made_once(OfDtypes<Interned>& places, at::ScalarType dtype, Make make) {
  return made_once(places[static_cast<size_t>(dtype)], make);
}

}  // namespace tbk::generic
