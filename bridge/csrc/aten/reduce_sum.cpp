// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/sum_ops.h>
#include <aten/operands.h>
#include <generic/reduce.h>
#include <tbk/tbk_operators.h>
#include <torch/library.h>

namespace tbk {
namespace {

constinit Kernel sum_kernel(TBK_NAME_sum_dim_IntList, TBK_VERSION_sum_dim_IntList);

at::ScalarType result_dtype(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  if (dtype.has_value()) return *dtype;
  return at::isIntegralType(self.scalar_type(), /*includeBool=*/true) ? at::kLong
                                                                      : self.scalar_type();
}

/// The dtype in which the operand is handed over: integers may be widened by the kernel.
at::ScalarType operand_dtype(const at::Tensor& self, at::ScalarType out) {
  const bool widens =
      out == at::kLong && at::isIntegralType(self.scalar_type(), /*includeBool=*/true);
  return widens ? self.scalar_type() : out;
}

/// The dimensions that are summed over, not negative, in order; none means all of them.
at::DimVector summed(const at::Tensor& self, at::OptionalIntArrayRef dim) {
  at::DimVector result;
  if (self.dim() == 0 || !dim.has_value() || dim->empty()) return result;
  const auto mask = at::dim_list_to_bitset(dim, static_cast<size_t>(self.dim()));
  for (int64_t d = 0; d < self.dim(); d++)
    if (mask[static_cast<size_t>(d)]) result.push_back(d);
  return result;
}

at::DimVector result_sizes(const at::Tensor& self, const at::DimVector& over, bool keepdim) {
  at::DimVector result;
  size_t next = 0;
  for (int64_t d = 0; d < self.dim(); d++) {
    const bool is_summed = over.empty() || (next < over.size() && over[next] == d);
    if (is_summed && !over.empty()) next++;
    if (!is_summed)
      result.push_back(self.size(d));
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

bool launch_sum(const at::Tensor& self, const at::DimVector& over, bool keepdim,
                const at::Tensor& out) {
  const c10::DeviceIndex device = self.device().index();
  const int64_t dtype = static_cast<int64_t>(out.scalar_type());
  const tbk_int_list_t dim = {over.data(), over.size()};
  const Operand operand(self, device, operand_dtype(self, out.scalar_type()), self.sizes());
  const tbk_tensor_t result = describe(out);
  const tbk_args_sum_dim_IntList_t arguments = {
      sizeof arguments, *operand, over.empty() ? nullptr : &dim, keepdim, &dtype, &result};
  at::DimVector others = over;
  others.push_back(keepdim);
  return launch(sum_kernel, device, &arguments, {*operand, &result}, others);
}

/// The sum itself, and its shape, is asked of the backend only where PyTorch would say yes to it.
at::Tensor& sum_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                    std::optional<at::ScalarType> dtype, at::Tensor& out) {
  const at::ScalarType wanted = result_dtype(self, dtype);
  if (is_ours(self) && self.device() == out.device() && out.scalar_type() == wanted &&
      !out.is_alias_of(self) && offers(sum_kernel, self.device().index(), wanted)) {
    const at::DimVector over = summed(self, dim);
    at::native::resize_output(out, result_sizes(self, over, keepdim));
    if (launch_sum(self, over, keepdim, out)) return out;
  }
  return at::native::call_fallback_fn<&generic::reduce_or_fallback,
                                      at::_ops::sum_IntList_out>::call(self, dim, keepdim, dtype,
                                                                       out);
}

}  // namespace

// PyTorch makes sum.dim_IntList and sum of this.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sum.IntList_out", sum_out);
}

}  // namespace tbk
