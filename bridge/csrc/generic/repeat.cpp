// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// repeat_interleave: a mark where each element begins, and a running sum of the marks.
#include <ATen/ops/ones_like.h>
#include <ATen/ops/repeat_interleave_ops.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <generic/by_others.h>
#include <generic/repeat.h>
#include <generic/scan.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// Says where each element ends; reads how many places there are. Nothing where PyTorch raises: for a negative number of
/// repeats, and for another size of the result than is said.
struct Ends {
  explicit Ends(const at::Tensor& repeats) : at(repeats.cumsum(0)) {
    const at::Tensor read = at::stack({at[-1], repeats.min().to(at::kLong)}).cpu();
    total = read[0].item<int64_t>();
    is_valid = read[1].item<int64_t>() >= 0;
  }

  at::Tensor at;
  int64_t total = 0;
  bool is_valid = false;
};

at::Tensor repeat_interleave(const at::Tensor& repeats, std::optional<int64_t> output_size) {
  using Op = at::_ops::repeat_interleave_Tensor;
  if (may_be_made({&repeats}) && repeats.dim() == 1 && has_indices(repeats) &&
      repeats.numel() > 0 && offers_scan(repeats.device().index())) {
    const Composition whole;
    const Ends ends(repeats);
    if (ends.is_valid && (!output_size.has_value() || *output_size == ends.total))
      return made<Op>(
          [&] { return places_of(ends.at.sub(repeats), repeats.scalar_type(), ends.total); });
  }
  return on_host<Op>(repeats, output_size);
}

}  // namespace

at::Tensor places_of(const at::Tensor& begins, at::ScalarType dtype, int64_t total) {
  // An element that begins behind all places, which has none, is marked there.
  const at::Tensor marks = at::zeros({total + 1}, begins.options().dtype(dtype));
  marks.index_add_(0, begins, at::ones_like(begins, dtype));
  return marks.narrow(0, 0, total).cumsum(0, dtype).sub(1);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("repeat_interleave.Tensor", repeat_interleave);
}

}  // namespace tbk::generic
