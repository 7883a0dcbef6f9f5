// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Generator.h>
#include <tbk/tbk.h>

#include <cstdint>
#include <optional>

namespace tbk {

/// Returns a new generator, with PyTorch's default seed. Its state is a seed and an offset in
/// 32-bit words, a multiple of 4; nothing of it lives on the device, so making, seeding and saving
/// one opens nothing. get_state is a CPU tensor of 16 bytes: seed, offset. Offsets are set and read
/// with set_offset and get_offset.
at::Generator make_generator(c10::DeviceIndex device);

/// Returns the default generator of `device`, made on first use with the seed of
/// seed_default_generators, or PyTorch's default one; the same for all threads. Errors:
/// RuntimeError for an index out of range.
const at::Generator& default_generator(c10::DeviceIndex device);

/// Seeds the default generators of all devices, those that are made later as well. Counts no
/// device.
void seed_default_generators(uint64_t seed);

/// Takes `words` random words from `generator` (the default one of `device` where it is absent):
/// returns the state to start from, and moves the offset on, rounded up to a multiple of 4. Takes
/// its lock.
/// Errors: RuntimeError for a generator of another device or device type.
tbk_generator_t take_random(const std::optional<at::Generator>& generator, c10::DeviceIndex device,
                            uint64_t words);

}  // namespace tbk
