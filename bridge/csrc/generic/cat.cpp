// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// cat, and stack, which PyTorch makes of it: a copy into each part of the result.
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/IListRef.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/cat_ops.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <generic/composition.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// An empty line is nothing in whatever company, as PyTorch has it.
bool is_nothing(const at::Tensor& tensor) {
  return tensor.dim() == 1 && tensor.size(0) == 0;
}

/// Whether `part` has the sizes of the result but along `dimension`, and may be copied to it.
bool is_part(const at::Tensor& part, const at::Tensor& out, int64_t dimension) {
  if (!is_ours(part) || part.device() != out.device() || part.layout() != at::kStrided ||
      part.is_alias_of(out) || part.dim() != out.dim())
    return false;
  for (int64_t d = 0; d < part.dim(); d++)
    if (d != dimension && part.size(d) != out.size(d)) return false;
  return true;
}

/// What is nothing takes part in the common dtype, too. Errors: PyTorch's where there is none.
bool may_be_cast(const at::ITensorListRef& tensors, const at::Tensor& out) {
  return c10::canCast(at::native::result_type(tensors), out.scalar_type());
}

/// Returns the parts that are not nothing; none where they do not make up `out`, as PyTorch has
/// arranged it.
c10::SmallVector<at::Tensor, 4> parts_of(const at::ITensorListRef& tensors, int64_t dimension,
                                         const at::Tensor& out) {
  c10::SmallVector<at::Tensor, 4> parts;
  int64_t total = 0;
  for (const at::Tensor& tensor : tensors) {
    if (is_nothing(tensor)) continue;
    if (!is_part(tensor, out, dimension)) return {};
    total += tensor.size(dimension);
    parts.push_back(tensor);
  }
  const bool is_whole = total == out.size(dimension) && may_be_cast(tensors, out);
  return is_whole ? parts : decltype(parts){};
}

bool is_concatenated(const at::Tensor& out) {
  return is_open(Route::composed) && is_ours(out) && out.layout() == at::kStrided &&
         out.dim() > 0 && out.numel() > 0 && at::has_internal_overlap(out) == at::MemOverlap::No;
}

at::Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dim, at::Tensor& out) {
  using Op = at::_ops::cat_out;
  if (is_concatenated(out) && dim >= -out.dim() && dim < out.dim()) {
    const int64_t dimension = at::maybe_wrap_dim(dim, out.dim());
    const auto parts = parts_of(tensors, dimension, out);
    const Composition whole;
    int64_t at = 0;
    for (const at::Tensor& part : parts) {
      out.narrow(dimension, at, part.size(dimension)).copy_(part);
      at += part.size(dimension);
    }
    if (count_composed<Op>(!parts.empty(), out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(tensors, dim, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cat.out", cat_out);
}

}  // namespace tbk::generic
