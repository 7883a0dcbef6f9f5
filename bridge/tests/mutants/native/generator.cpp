// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Generators of random numbers, those of a user's too.
#include <ATen/core/Generator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/core/TensorImpl.h>
#include <patch.h>

#include <atomic>
#include <cstring>

namespace tbk::mutants {
namespace {

using Impl = c10::GeneratorImpl;

/// All generators of the device share one table; its default one is at hand.
Impl& any_generator() {
  return *at::detail::getPrivateUse1Hooks().getDefaultGenerator(0).unsafeGetGeneratorImpl();
}

template <auto Method, auto Broken>
void on_generator() {
  replace<Method, Broken>(any_generator());
}

std::atomic<uint64_t> calls{0};

/// The pointer to a function that is protected.
struct Access : Impl {
  static constexpr auto clone = &Access::clone_impl;
};

/// A state that is the generator's own memory, and changes with it.
c10::intrusive_ptr<c10::TensorImpl> live_state(const Impl& generator,
                                               const c10::TensorImpl& state) {
  auto* begin = reinterpret_cast<char*>(const_cast<Impl*>(&generator)) + sizeof(Impl) - 8;
  for (char* place = begin; place < begin + 64; place += 8)
    if (std::memcmp(place, state.data(), static_cast<size_t>(state.numel())) == 0)
      return at::from_blob(place, {state.numel()}, at::kByte).getIntrusivePtr();
  TORCH_CHECK(false, "the state was not found");
}

constexpr Mutant table[] = {
    {"seed_is_ignored", on_generator<&Impl::set_current_seed, [](auto, uint64_t) {}>},
    {"seed_has_32_bits", on_generator<&Impl::set_current_seed,
                                      [](auto set, uint64_t seed) { set(seed & 0xffffffff); }>},
    {"seed_keeps_offset", on_generator<&Impl::set_current_seed,
                                       [](auto set, uint64_t seed) {
                                         const uint64_t offset = set.self->get_offset();
                                         set(seed);
                                         set.self->set_offset(offset);
                                       }>},
    {"seed_depends_on_device",
     on_generator<&Impl::set_current_seed,
                  [](auto set, uint64_t seed) {
                    set(seed + static_cast<uint64_t>(set.self->device().index()));
                  }>},
    {"seed_of_each_call_differs",
     on_generator<&Impl::set_current_seed, [](auto set, uint64_t seed) { set(seed + calls++); }>},
    {"initial_seed_is_0", on_generator<&Impl::current_seed, [](auto) { return uint64_t{0}; }>},
    {"fresh_seed_is_constant", on_generator<&Impl::seed,
                                            [](auto seed) {
                                              seed.self->set_current_seed(7);
                                              return uint64_t{7};
                                            }>},
    {"fresh_seed_is_not_used",
     on_generator<&Impl::seed, [](auto) { return c10::detail::getNonDeterministicRandom(); }>},
    {"state_is_not_restored", on_generator<&Impl::set_state, [](auto, const c10::TensorImpl&) {}>},
    {"state_restores_no_offset", on_generator<&Impl::set_state,
                                              [](auto set, const c10::TensorImpl& state) {
                                                set(state);
                                                set.self->set_offset(0);
                                              }>},
    {"state_takes_anything", on_generator<&Impl::set_state,
                                          [](auto set, const c10::TensorImpl& state) {
                                            try {
                                              set(state);
                                            } catch (const c10::Error&) {
                                              set.self->set_offset(0);
                                            }
                                          }>},
    {"state_crashes_for_wrong_size", on_generator<&Impl::set_state,
                                                  [](auto set, const c10::TensorImpl& state) {
                                                    try {
                                                      set(state);
                                                    } catch (const c10::Error&) {
                                                      abort();
                                                    }
                                                  }>},
    {"state_is_live",
     on_generator<&Impl::get_state, [](auto get) { return live_state(*get.self, *get()); }>},
    {"clone_is_fresh", on_generator<Access::clone,
                                    [](auto clone) {
                                      Impl* made = clone();
                                      made->set_current_seed(clone.self->current_seed());
                                      return made;
                                    }>},
    {"clone_is_itself", on_generator<Access::clone,
                                     [](auto clone) {
                                       auto* self = const_cast<Impl*>(clone.self);
                                       c10::raw::intrusive_ptr::incref(self);
                                       return self;
                                     }>},
    {"offset_of_40_bits",
     on_generator<&Impl::set_offset,
                  [](auto set, uint64_t offset) { set(offset & ((uint64_t{1} << 40) - 1)); }>},
    {"offset_is_ignored", on_generator<&Impl::set_offset, [](auto, uint64_t) {}>},
    {"offset_is_always_0", on_generator<&Impl::get_offset, [](auto) { return uint64_t{0}; }>},
    {"offset_doubles",
     on_generator<&Impl::set_offset, [](auto set, uint64_t offset) { set(2 * offset); }>},
};

}  // namespace

Mutants generator_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
