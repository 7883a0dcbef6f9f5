// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <generic/recipes.h>

namespace tbk::generic {

/// Makes the reduction `recipe` of numbers that are cast to the complex dtype `as`, as reduction_of() says. Each
/// complex tensor is two inputs or outputs: its real parts, then its imaginary ones. Numbers are of the dtype
/// that the parts are computed in. NULL where the recipe has no meaning.
const Reduction* make_of_pairs(Recipe recipe, at::ScalarType in, at::ScalarType as,
                               at::ScalarType out);

}  // namespace tbk::generic
