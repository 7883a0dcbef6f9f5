// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Generator.h>

#include <optional>

namespace tbk {

/// Returns a CPU generator that stands in for `generator` of `device` (the default one where it is
/// absent) in one call, which moves on by one block. Equal states give equal generators.
/// Errors: those of take_random.
at::Generator host_generator(const std::optional<at::Generator>& generator,
                             c10::DeviceIndex device);

}  // namespace tbk
