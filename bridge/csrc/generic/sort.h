// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>

namespace tbk::generic {

/// Returns whether the backend offers tbk::sort on `device`. Opens the device.
bool offers_sort(c10::DeviceIndex device);

}  // namespace tbk::generic
