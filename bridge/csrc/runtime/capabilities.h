// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace tbk {

/// Says who serves one feature of a device.
struct Capability {
  std::string feature;  // "events", "kernel add.Tensor"
  const char* source;   // "native": the backend; "bridge": the base implementation; "none": nobody
  std::string detail;   // for people; may be empty
};

/// Returns all features, those of devices first, then kernels by the names of their operators.
/// Opens `device` where the backend has kernels: only an open device tells which.
/// Errors: RuntimeError for an index out of range; what opening answers.
std::vector<Capability> capabilities(c10::DeviceIndex device);

}  // namespace tbk
