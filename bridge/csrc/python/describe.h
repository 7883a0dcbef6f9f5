// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>
#include <pybind11/pybind11.h>

namespace tbk {

/// Returns what torch_tbk.device_module.DeviceProperties has, by the names of its fields; `device`
/// is in range. The GIL is held.
pybind11::dict describe_properties(c10::DeviceIndex device);

/// Returns rows of feature, source, detail: see capabilities.h. May open the device, without the
/// GIL.
pybind11::list describe_capabilities(c10::DeviceIndex device);

/// Returns at::HostStats of pinned memory: counts and bytes.
pybind11::dict describe_host_memory();

}  // namespace tbk
