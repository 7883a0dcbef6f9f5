// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/stream.h>

#include <cstdint>

namespace tbk {

/// Names a place in memory of a device. `offset` is in bytes, as the C interface has it: never
/// added to the handle, so that it also holds where addresses are not flat.
struct Location {
  c10::DeviceIndex device = 0;
  tbk_memory_t memory = 0;
  uint64_t offset = 0;
};

/// Copies bytes to the device, and, below, back, within it, and fills. All enqueue on `stream`,
/// which is of the device they name (the source's, for two devices), and return when the backend
/// does: host memory must stay valid until the stream is synchronised. Any number of bytes at any
/// offset: where the device has a copy granularity, the odd ends are read, changed and written
/// back, synchronously. Allocations of the bridge end on a multiple of it. What the backend has not
/// got is made of what it has: fill by upload, copies between devices through the host (then
/// complete on return). Errors: what the backend answers; see error.h.

void upload(Location to, const void* from, uint64_t bytes, Stream& stream);
void download(void* to, Location from, uint64_t bytes, Stream& stream);
/// Copies within one device, or between two; then the caller orders `stream` against the
/// destination's. The ranges don't overlap.
void copy(Location to, Location from, uint64_t bytes, Stream& stream);
void fill(Location to, uint8_t value, uint64_t bytes, Stream& stream);

}  // namespace tbk
