// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What scatter, index_add and their like have in common.
#pragma once

#include <generic/index.h>

#include <string_view>

namespace tbk::generic {

/// A result that begins as `self`, and into which `source` is written. The tensors outlive it.
struct Writing {
  const at::Tensor& self;
  const at::Tensor& out;  ///< May be `self`.
  Placement placement;
  Shaped source;
};

/// Returns whether a call may be served: dense tensors of one device and dtype, an index, and a result that
/// is `self` or has nothing of what is read.
bool may_write(const at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
               const at::Tensor& out);
/// Returns whether elements of `dtype` can be combined in `mode`.
bool can_combine(int64_t mode, at::ScalarType dtype);

/// Writes in one launch. False where the backend refuses; then `out` is as it was, unless it is another tensor
/// than `self`. So is write_reduced().
bool write(const Writing& writing, int64_t mode);

/// What "sum", "amax" and others combine by; nothing where there is no such name.
struct Reducing {
  int64_t mode;
  bool is_mean;
};
std::optional<Reducing> reducing_of(std::string_view name);
/// Combines what is written with what stood there, or without that. One launch, where all that is asked for is
/// one: then the route is generic, else composed.
bool write_reduced(const Writing& writing, Reducing how, bool include_self);
Route route_of_reduced(Reducing how, bool include_self);

}  // namespace tbk::generic
