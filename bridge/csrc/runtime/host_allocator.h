// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace tbk {

/// Returns the allocator of pinned host memory, cached by PyTorch's own engine: a block comes back
/// to use when the events of the streams that copied from or to it have passed. Never destroyed.
/// Errors of allocate: NotImplementedError where the backend has no pinned memory.
at::HostAllocator& host_allocator();

/// Returns whether `pointer` lies in pinned memory that is in use. Any pointer; opens nothing;
/// never throws.
bool is_pinned(const void* pointer) noexcept;

/// Notes that a copy on `stream` reads or writes pinned memory at `pointer`: once freed, it is not
/// used again before that. Does nothing for memory that is not pinned.
void record_pinned(const void* pointer, c10::Stream stream);

}  // namespace tbk
