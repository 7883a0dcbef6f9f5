// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

/// Replaces one virtual function of a class that is registered already, for all its objects, in the
/// table that they share. PyTorch refuses to register most things a second time, and what the bridge
/// has registered calls itself through the same tables.
namespace tbk::mutants {

/// A method as a function whose first argument is the object.
template <class Method>
struct AsFunction;
template <class C, class R, class... A>
struct AsFunction<R (C::*)(A...)> {
  using Type = R(C*, A...);
};
template <class C, class R, class... A>
struct AsFunction<R (C::*)(A...) const> {
  using Type = R(const C*, A...);
};
template <class C, class R, class... A>
struct AsFunction<R (C::*)(A...) noexcept> {
  using Type = R(C*, A...);
};
template <class C, class R, class... A>
struct AsFunction<R (C::*)(A...) const noexcept> {
  using Type = R(const C*, A...);
};

/// Where the tables of the Itanium C++ ABI have `method`, in words.
template <class Method>
size_t slot_of(Method method) {
  struct {
    uintptr_t pointer;
    ptrdiff_t adjustment;
  } parts;
  static_assert(sizeof parts == sizeof method);
  std::memcpy(&parts, &method, sizeof parts);
#if defined(__aarch64__)
  const bool is_virtual = (parts.adjustment & 1) != 0;
  const uintptr_t offset = parts.pointer;
#else
  const bool is_virtual = (parts.pointer & 1) != 0;
  const uintptr_t offset = parts.pointer - 1;
#endif
  if (!is_virtual) throw std::logic_error("not a virtual function");
  return offset / sizeof(void*);
}

inline void make_writable(void* address) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
  if (mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) != 0)
    throw std::runtime_error("a table of virtual functions can't be written");
}

/// What `Broken` gets as its first argument: calls what was there before.
template <class R, class C, class... A>
struct Original {
  R (*function)(C*, A...);
  C* self;

  R operator()(A... arguments) const {
    return function(self, static_cast<A>(arguments)...);
  }
};

template <auto Method, auto Broken, class Function = typename AsFunction<decltype(Method)>::Type>
struct Patch;

template <auto Method, auto Broken, class R, class C, class... A>
struct Patch<Method, Broken, R(C*, A...)> {
  static inline R (*previous)(C*, A...) = nullptr;

  static R call(C* self, A... arguments) {
    return Broken(Original<R, C, A...>{previous, self}, static_cast<A>(arguments)...);
  }

  static void apply(C& object) {
    void** table;
    std::memcpy(&table, static_cast<const void*>(&object), sizeof table);
    void** slot = table + slot_of(Method);
    make_writable(slot);
    previous = reinterpret_cast<R (*)(C*, A...)>(*slot);
    *slot = reinterpret_cast<void*>(&call);
  }
};

/// `Broken` instead of `Method`, of the class that `object` is of.
template <auto Method, auto Broken, class Object>
void replace(Object& object) {
  Patch<Method, Broken>::apply(object);
}

/// One way to break the device that is loaded.
struct Mutant {
  const char* name;
  void (*apply)();
};

struct Mutants {
  const Mutant* first;
  size_t count;
};

template <size_t count>
constexpr Mutants all_of(const Mutant (&table)[count]) {
  return {table, count};
}

Mutants guard_mutants();
Mutants stream_mutants();
Mutants event_mutants();
Mutants allocator_mutants();
Mutants statistics_mutants();
Mutants hooks_mutants();
Mutants pinned_mutants();
Mutants generator_mutants();
Mutants narrow_mutants();
Mutants sabotages();

}  // namespace tbk::mutants
