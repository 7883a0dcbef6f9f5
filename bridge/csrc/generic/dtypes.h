// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/backend.h>

namespace tbk::generic {

/// Returns whether programs on `device`, which is open, may compute in FLOAT64.
inline bool has_double(c10::DeviceIndex device) {
  const uint64_t dtypes = Backend::get().device(device).properties.dtypes;
  return (dtypes >> static_cast<unsigned>(at::kDouble) & 1) != 0;
}

}  // namespace tbk::generic
