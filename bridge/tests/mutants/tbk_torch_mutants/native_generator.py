# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Generators of random numbers."""

from tbk_torch_mutants.native import native

native("seed_is_ignored", "GEN-501 GEN-503 GEN-511", "seeding has no effect")
native("seed_has_32_bits", "GEN-503", "half of the seed is lost", narrow=True)
native("seed_keeps_offset", "GEN-501 GEN-513", "goes on where it was", narrow=True)
native("seed_depends_on_device", "GEN-501", "other numbers on device 1", narrow=True)
native("seed_of_each_call_differs", "GEN-501 GEN-503", "other numbers each time")
native("initial_seed_is_0", "GEN-503", "always 0")
native("fresh_seed_is_constant", "GEN-504", "always 7")
native("fresh_seed_is_not_used", "GEN-504", "a number, and no seed", narrow=True)
native("state_is_not_restored", "GEN-505 GEN-517", "setting a state has no effect")
native("state_restores_no_offset", "GEN-505", "begins again at the seed", narrow=True)
native("state_takes_anything", "GEN-506", "a wrong state is taken")
native("state_crashes_for_wrong_size", "GEN-506", "a wrong state ends the process")
native("offset_is_ignored", "GEN-513", "setting an offset has no effect")
native("offset_is_always_0", "GEN-513", "always 0", narrow=True)
native("offset_doubles", "GEN-513", "twice as far", narrow=True)
native("new_generator_is_default", "GEN-508", "the default one")
native("new_generator_on_device_0", "GEN-508 GEN-516", "always on device 0", narrow=True)
native("new_generator_takes_any_index", "GEN-516", "for a device that is not there")
native("state_is_live", "GEN-507", "a state changes with its generator")
native("clone_is_fresh", "GEN-512", "a clone begins at the seed")
native("clone_is_itself", "GEN-512", "a clone is the generator itself")
