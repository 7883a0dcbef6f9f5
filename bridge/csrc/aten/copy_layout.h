// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/TensorBody.h>
#include <runtime/memory.h>

#include <cstdint>
#include <optional>

namespace tbk {

/// Returns where the first element of a tensor of a device is; valid as long as its storage.
Location location_of(const at::Tensor& tensor);
/// Returns the same for a tensor that is about to be written: a lazy clone gets memory of its own
/// first.
Location written_location_of(const at::Tensor& tensor);

/// Returns whether one memory copy makes `to` equal to `from`: the same dtype, and elements that
/// lie without gaps and in the same order.
bool same_layout(const at::Tensor& to, const at::Tensor& from);

/// Returns the number of elements from the first to the last that `tensor`, which is not empty,
/// reaches, those between them included.
int64_t span_of(const at::Tensor& tensor);

/// Returns a view of the elements of an expanded tensor, each once: its dimensions of stride 0 have
/// one.
at::Tensor without_repeats(const at::Tensor& tensor);

/// Returns whether two tensors of one storage might share an element.
bool may_overlap(const at::Tensor& one, const at::Tensor& other);

/// Returns the same memory as a tensor of the host, or nothing where the host may not dereference
/// it. The caller orders the access, and keeps `tensor` alive.
std::optional<at::Tensor> host_view(const at::Tensor& tensor);

}  // namespace tbk
