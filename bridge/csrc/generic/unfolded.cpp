// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Windows as views: unfold, im2col and col2im, and the inverse of max pooling.
#include <ATen/ops/arange.h>
#include <ATen/ops/col2im_ops.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/im2col_ops.h>
#include <ATen/ops/max_unpool2d_ops.h>
#include <ATen/ops/max_unpool3d_ops.h>
#include <ATen/ops/unfold_backward_ops.h>
#include <ATen/ops/zeros.h>
#include <generic/by_others.h>
#include <torch/library.h>

#include <algorithm>

namespace tbk::generic {
namespace {

at::Tensor unfold_backward(const at::Tensor& gradient, c10::SymIntArrayRef input_sizes, int64_t dim,
                           int64_t size, int64_t step) {
  using Op = at::_ops::unfold_backward;
  const c10::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(input_sizes);
  if (!may_be_made({&gradient}) || !are_real({&gradient}))
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(gradient, input_sizes, dim,
                                                                        size, step);
  return made<Op>([&] {
    if (sizes.empty()) return gradient.sum();
    const int64_t at = dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim;
    const at::TensorOptions places = gradient.options().dtype(at::kLong);
    const at::Tensor begins = at::arange(gradient.size(at), places).mul(step).unsqueeze(1);
    const at::Tensor index = begins.add(at::arange(size, places)).flatten();
    const at::Tensor source = gradient.movedim(-1, at + 1).flatten(at, at + 1);
    return at::zeros(sizes, gradient.options()).index_add(at, index, source);
  });
}

/// The arguments of im2col and col2im, of height and width each.
struct Patches {
  c10::IntArrayRef kernel, dilation, padding, stride;

  bool are_fit() const {
    const auto is_above = [](c10::IntArrayRef list, int64_t least) {
      return list.size() == 2 && std::min(list[0], list[1]) >= least;
    };
    return is_above(kernel, 1) && is_above(dilation, 1) && is_above(padding, 0) &&
           is_above(stride, 1);
  }
  int64_t reach(size_t i) const {
    return (kernel[i] - 1) * dilation[i] + 1;
  }
  int64_t count(size_t i, int64_t size) const {
    return (size + 2 * padding[i] - reach(i)) / stride[i] + 1;
  }
  bool fit_into(int64_t height, int64_t width) const {
    return height + 2 * padding[0] >= reach(0) && width + 2 * padding[1] >= reach(1);
  }
};

/// Returns a batch, where `tensor` may be one element of it.
at::Tensor as_batch(const at::Tensor& tensor, int64_t rank) {
  return tensor.dim() == rank ? tensor : tensor.unsqueeze(0);
}

at::Tensor columns(const at::Tensor& self, const Patches& patches) {
  const at::Tensor batch = as_batch(self, 4);
  const int64_t wide = patches.padding[1], high = patches.padding[0];
  const at::Tensor padded = at::constant_pad_nd(batch, {wide, wide, high, high});
  const at::Tensor windows = padded.unfold(2, patches.reach(0), patches.stride[0])
                                 .unfold(3, patches.reach(1), patches.stride[1])
                                 .slice(4, std::nullopt, std::nullopt, patches.dilation[0])
                                 .slice(5, std::nullopt, std::nullopt, patches.dilation[1]);
  const at::Tensor ordered = windows.permute({0, 1, 4, 5, 2, 3}).contiguous();
  const at::Tensor result = ordered.flatten(4, 5).flatten(1, 3);
  return self.dim() == 4 ? result : result.squeeze(0);
}

at::Tensor im2col(const at::Tensor& self, c10::IntArrayRef kernel, c10::IntArrayRef dilation,
                  c10::IntArrayRef padding, c10::IntArrayRef stride) {
  using Op = at::_ops::im2col;
  const Patches patches{kernel, dilation, padding, stride};
  if (!may_be_made({&self}) || !are_real({&self}) || self.numel() == 0 || !patches.are_fit() ||
      (self.dim() != 3 && self.dim() != 4) || !patches.fit_into(self.size(-2), self.size(-1)))
    return on_host<Op>(self, kernel, dilation, padding, stride);
  return made<Op>([&] { return columns(self, patches); });
}

/// Adds one place of each window after the other, all windows at once: no two of them meet there.
at::Tensor image(const at::Tensor& self, const Patches& patches, c10::IntArrayRef sizes) {
  const at::Tensor batch = as_batch(self, 3);
  const int64_t rows = patches.count(0, sizes[0]), lines = patches.count(1, sizes[1]);
  const at::Tensor parts =
      batch.reshape({batch.size(0), batch.size(1) / (patches.kernel[0] * patches.kernel[1]),
                     patches.kernel[0], patches.kernel[1], rows, lines});
  const int64_t wide = patches.padding[1], high = patches.padding[0];
  const at::Tensor whole = at::zeros(
      {batch.size(0), parts.size(1), sizes[0] + 2 * high, sizes[1] + 2 * wide}, self.options());
  for (int64_t i = 0; i < patches.kernel[0]; i++)
    for (int64_t j = 0; j < patches.kernel[1]; j++) {
      const int64_t top = i * patches.dilation[0], left = j * patches.dilation[1];
      whole.slice(2, top, top + (rows - 1) * patches.stride[0] + 1, patches.stride[0])
          .slice(3, left, left + (lines - 1) * patches.stride[1] + 1, patches.stride[1])
          .add_(parts.select(2, i).select(2, j));
    }
  const at::Tensor inside = whole.narrow(2, high, sizes[0]).narrow(3, wide, sizes[1]).contiguous();
  return self.dim() == 3 ? inside : inside.squeeze(0);
}

bool makes_image(const at::Tensor& self, const Patches& patches, c10::IntArrayRef sizes) {
  if (!patches.are_fit() || sizes.size() != 2 || (self.dim() != 2 && self.dim() != 3) ||
      std::min(sizes[0], sizes[1]) < 1 || !patches.fit_into(sizes[0], sizes[1]))
    return false;
  return self.size(-2) % (patches.kernel[0] * patches.kernel[1]) == 0 &&
         self.size(-1) == patches.count(0, sizes[0]) * patches.count(1, sizes[1]);
}

at::Tensor col2im(const at::Tensor& self, c10::SymIntArrayRef output_size, c10::IntArrayRef kernel,
                  c10::IntArrayRef dilation, c10::IntArrayRef padding, c10::IntArrayRef stride) {
  using Op = at::_ops::col2im;
  const Patches patches{kernel, dilation, padding, stride};
  const c10::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(output_size);
  if (!may_be_made({&self}) || !are_real({&self}) || !makes_image(self, patches, sizes))
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, output_size, kernel,
                                                                        dilation, padding, stride);
  return made<Op>([&] { return image(self, patches, sizes); });
}

/// Whether the last `sizes.size()` dimensions of `self` may be spread over `sizes`.
bool may_spread(const at::Tensor& self, const at::Tensor& indices, c10::IntArrayRef sizes) {
  const auto rank = static_cast<int64_t>(sizes.size());
  return may_be_made({&self, &indices}) && are_real({&self}) &&
         indices.scalar_type() == at::kLong && self.sizes() == indices.sizes() &&
         self.numel() > 0 && (self.dim() == rank + 1 || self.dim() == rank + 2) &&
         *std::min_element(sizes.begin(), sizes.end()) > 0;
}

at::Tensor spread(const at::Tensor& self, const at::Tensor& indices, c10::IntArrayRef sizes) {
  const int64_t first = self.dim() - static_cast<int64_t>(sizes.size());
  at::DimVector result(self.sizes().begin(), self.sizes().begin() + first);
  const at::Tensor planes = self.flatten(first), places = indices.flatten(first);
  at::DimVector flat(result);
  flat.push_back(c10::multiply_integers(sizes));
  result.append(sizes.begin(), sizes.end());
  return at::zeros(flat, self.options()).scatter(first, places, planes).view(result);
}

at::Tensor max_unpool2d(const at::Tensor& self, const at::Tensor& indices,
                        c10::SymIntArrayRef output_size) {
  using Op = at::_ops::max_unpool2d;
  const c10::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(output_size);
  if (sizes.size() != 2 || !may_spread(self, indices, sizes))
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, indices, output_size);
  return made<Op>(
      [&] { return spread(self, indices, sizes).contiguous(self.suggest_memory_format()); });
}

at::Tensor max_unpool3d(const at::Tensor& self, const at::Tensor& indices,
                        c10::SymIntArrayRef output_size, c10::IntArrayRef stride,
                        c10::IntArrayRef padding) {
  using Op = at::_ops::max_unpool3d;
  const c10::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(output_size);
  if (sizes.size() != 3 || stride.size() != 3 || padding.size() != 3 || !self.is_contiguous() ||
      !may_spread(self, indices, sizes))
    return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, indices, output_size,
                                                                        stride, padding);
  return made<Op>([&] { return spread(self, indices, sizes); });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("unfold_backward", unfold_backward);
  m.impl("im2col", im2col);
  m.impl("col2im", col2im);
  m.impl("max_unpool2d", max_unpool2d);
  m.impl("max_unpool3d", max_unpool3d);
}

}  // namespace tbk::generic
