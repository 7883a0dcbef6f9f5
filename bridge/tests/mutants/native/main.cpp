// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <patch.h>

#include <cstdio>
#include <exception>
#include <string>

namespace {

using namespace tbk::mutants;

constexpr Mutants (*tables[])() = {
    guard_mutants, stream_mutants, event_mutants,     allocator_mutants, statistics_mutants,
    hooks_mutants, pinned_mutants, generator_mutants, narrow_mutants,    sabotages,
};

template <class Visit>
void for_each(Visit visit) {
  for (auto table : tables) {
    const Mutants found = table();
    for (size_t i = 0; i < found.count; i++)
      visit(found.first[i]);
  }
}

}  // namespace

/// Called through ctypes. All names, one on each line.
extern "C" [[gnu::visibility("default")]] const char* tbk_torch_mutants_names() {
  static const std::string names = [] {
    std::string lines;
    for_each([&](const Mutant& mutant) { lines += std::string(mutant.name) + "\n"; });
    return lines;
  }();
  return names.c_str();
}

/// Breaks the device that is loaded. Returns how many mutants have that name; -1 where it failed.
extern "C" [[gnu::visibility("default")]] int tbk_torch_mutants_apply(const char* name) {
  int found = 0;
  try {
    for_each([&](const Mutant& mutant) {
      if (std::string(name) != mutant.name) return;
      found++;
      mutant.apply();
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return -1;
  }
  return found;
}
