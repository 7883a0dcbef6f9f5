// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>

namespace tbk {

struct Stream;

/// Returns the stream of `device` whose native_handle is `native`; NULL where none of the bridge's
/// has it. Opens the device. Any thread. Errors: as native_handle, where handles are not offered.
Stream* find_native(c10::DeviceIndex device, const void* native);

}  // namespace tbk
