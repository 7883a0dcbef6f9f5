// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/MemoryOverlap.h>
#include <generic/by_others.h>
#include <generic/outputs.h>

namespace tbk::generic {

/// Tensors that are read. An output is one of them exactly, or has no element of it.
using Read = std::initializer_list<const at::Tensor*>;

/// Raises what PyTorch's iterators raise for an output that has one element in two places, or a part of an input's.
/// Of several outputs, all are asserted before one is resized or written: a refused call leaves them as they are.
inline void assert_apart(const at::Tensor& out, Read inputs) {
  at::assert_no_internal_overlap(out);
  for (const at::Tensor* each : inputs)
    at::assert_no_partial_overlap(out, *each);
}

/// made_into() where PyTorch's own kernel is an iterator.
template <class Op, class Make>
at::Tensor& made_apart(at::Tensor& out, Read inputs, Make make) {
  assert_apart(out, inputs);
  return made_into<Op>(out, make);
}

}  // namespace tbk::generic
