// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What factories are made of: filling a new tensor with one value.
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <aten/copy.h>
#include <aten/copy_layout.h>
#include <aten/operands.h>
#include <tbk/tbk_operators.h>
#include <torch/library.h>

namespace tbk {
namespace {

constinit Kernel fill_kernel(TBK_NAME_fill__Scalar, TBK_VERSION_fill__Scalar);

/// A tensor of the host, without dimensions, with the value; or the error that the CPU has for `self`.
/// It lets what is out of range of a small floating-point type become infinity in a tensor of one
/// element, as in scalar_tensor, and refuses it in any other.
at::Tensor single_of(const at::Tensor& self, const at::Scalar& value) {
  const at::TensorOptions options = at::TensorOptions().dtype(self.dtype());
  const at::ScalarType type = self.scalar_type();
  const bool is_small = at::isReducedFloatingType(type) || type == at::kComplexHalf;
  if (!is_small || self.numel() == 1) [[likely]]
    return at::scalar_tensor(value, options);
  return at::empty({2}, options).fill_(value).select(0, 0);
}

at::Tensor& fill_scalar(at::Tensor& self, const at::Scalar& value) {
  const at::Tensor single = single_of(self, value);
  if (self.numel() == 0) return self;
  // PyTorch fills expanded tensors.
  const at::Tensor once = without_repeats(self);
  const tbk_tensor_t tensor = describe(once);
  const tbk_scalar_t scalar = to_scalar(single.item());
  const tbk_args_fill__Scalar_t arguments = {sizeof arguments, &tensor, scalar};
  if (!launch(fill_kernel, self.device().index(), &arguments, {&tensor}, plan_key_of(scalar)))
    copy_tensor(once, single, false);
  return self;
}

at::Tensor& fill_tensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  if (value.device() != self.device()) return fill_scalar(self, value.item());
  copy_tensor(self, self.is_alias_of(value) ? value.clone() : value, false);
  return self;
}

at::Tensor& zero_(at::Tensor& self) {
  if (self.numel() == 0 || !self.is_non_overlapping_and_dense()) return fill_scalar(self, 0);
  fill(written_location_of(self), 0, self.nbytes(), current_stream(self.device().index()));
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("fill_.Scalar", fill_scalar);
  m.impl("fill_.Tensor", fill_tensor);
  m.impl("zero_", zero_);
}

}  // namespace tbk
