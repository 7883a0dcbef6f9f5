// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

/// Mutants that change the allocator of storages, which only a storage knows.
namespace tbk::mutants {

using OfStorage = c10::Allocator;

struct OfStorageMutant {
  const char* name;
  void (*apply)(OfStorage&);
};

struct OfStorageMutants {
  const OfStorageMutant* first;
  size_t count;
};

template <size_t count>
constexpr OfStorageMutants all_of_storages(const OfStorageMutant (&table)[count]) {
  return {table, count};
}

OfStorageMutants lifetime_mutants();

}  // namespace tbk::mutants
