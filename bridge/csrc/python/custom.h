// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

namespace tbk {

/// Runs the kernel of that name and version with arguments that are pairs of a kind and a value. The
/// kinds are those of torch_tbk/custom/members.py. Takes the GIL, and calls the backend without it.
/// Returns false, with nothing done, where the backend does not offer or refuses it. Errors: those
/// of CustomArguments::launch(); ValueError for a kind that there is not.
bool launch_custom(const std::string& name, uint32_t version, const pybind11::list& arguments);

}  // namespace tbk
