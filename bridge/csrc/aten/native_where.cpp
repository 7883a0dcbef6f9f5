// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/where_ops.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/pointwise.h>
#include <tbk/tbk_operators.h>
#include <torch/library.h>

namespace tbk {
namespace {

constinit Kernel where_kernel(TBK_NAME_where_self, TBK_VERSION_where_self);

/// Everything else is left to PyTorch: its conversions of the condition, and its messages.
bool is_regular(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  if (!is_ours(condition) || condition.scalar_type() != at::kBool) return false;
  for (const at::Tensor* tensor : {&self, &other})
    if (!is_host_number(*tensor) && tensor->device() != condition.device()) return false;
  return true;
}

/// Cast before the result is laid out, as PyTorch does for every device: it goes by the strides of what
/// comes of the cast, which differ from those of an expanded tensor.
at::Tensor as_operand(const at::Tensor& tensor, c10::DeviceIndex device, at::ScalarType dtype) {
  return is_host_number(tensor) ? number_on(device, tensor, dtype) : tensor.to(dtype);
}

/// False, with nothing done but `out` resized, where the backend refuses.
bool where_into(const at::Tensor& condition, const at::Tensor& first, const at::Tensor& second,
                at::Tensor& out) {
  const c10::DeviceIndex device = condition.device().index();
  const at::ScalarType dtype = out.scalar_type();
  if (!offers(where_kernel, device, dtype)) return false;
  const at::Tensor self = as_operand(first, device, dtype);
  const at::Tensor other = as_operand(second, device, dtype);
  // For the sizes and strides of the result, and for overlaps.
  auto iterator = at::TensorIteratorConfig()
                      .check_all_same_dtype(false)
                      .add_output(out)
                      .add_const_input(condition)
                      .add_const_input(self)
                      .add_const_input(other)
                      .build();
  const tbk_tensor_t result = describe(out);  // first: what is written may be read as well
  const Operand by(condition, device, at::kBool, out.sizes());
  const Operand a(self, device, dtype, out.sizes()), b(other, device, dtype, out.sizes());
  const tbk_args_where_self_t arguments = {sizeof arguments, *by, *a, *b, &result};
  return launch(where_kernel, device, &arguments, {*by, *a, *b, &result});
}

at::ScalarType result_dtype(const at::Tensor& self, const at::Tensor& other) {
  at::native::ResultTypeState state;
  state = at::native::update_result_type_state(self, state);
  return at::native::result_type(at::native::update_result_type_state(other, state));
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  if (is_regular(condition, self, other)) {
    at::Tensor out = empty_on(condition.device().index(), {0}, result_dtype(self, other));
    if (where_into(condition, self, other, out)) return out;
  }
  return at::native::call_fallback_fn<&generic::pointwise_or_fallback, at::_ops::where_self>::call(
      condition, self, other);
}

at::Tensor& where_out(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other,
                      at::Tensor& out) {
  if (is_regular(condition, self, other) && out.device() == condition.device() &&
      out.scalar_type() == result_dtype(self, other) && where_into(condition, self, other, out))
    return out;
  return at::native::call_fallback_fn<&generic::pointwise_or_fallback,
                                      at::_ops::where_self_out>::call(condition, self, other, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("where.self", where);
  m.impl("where.self_out", where_out);
}

}  // namespace tbk
