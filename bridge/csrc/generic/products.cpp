// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Operators that are a product in another form, or one with something before or after it.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_addmm_activation_ops.h>
#include <ATen/ops/addbmm_ops.h>
#include <ATen/ops/addr_ops.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <generic/launch.h>
#include <generic/matmul.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

bool is_addr(const at::Tensor& self, const at::Tensor& column, const at::Tensor& row) {
  return is_ours(self) && is_ours(column) && is_ours(row) && column.dim() == 1 && row.dim() == 1 &&
         self.device() == column.device() && row.device() == column.device() &&
         at::is_expandable_to(self.sizes(), {column.size(0), row.size(0)});
}

/// The strides are those of an elementwise operator, which addr is to PyTorch.
at::Tensor addr_result(const at::Tensor& self, const at::Tensor& column, const at::Tensor& row) {
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false).declare_static_dtype(column.scalar_type());
  config.add_owned_output(at::Tensor())
      .add_owned_const_input(self.expand({column.size(0), row.size(0)}));
  config.add_owned_const_input(column.unsqueeze(1)).add_const_input(row);
  return config.build().output();
}

/// PyTorch refuses a truth value beside a result that is none.
bool is_factor(const at::Scalar& number, const at::Tensor& out) {
  return !number.isBoolean() || out.scalar_type() == at::kBool;
}

/// A column by a row. Of what is multiplied by 0 an elementwise operator keeps NaN, and a product need not.
template <class Op>
bool addr_into(const at::Tensor& self, const at::Tensor& column, const at::Tensor& row,
               const at::Scalar& beta, const at::Scalar& alpha, const at::Tensor& out) {
  if (!is_open(product_route(out.scalar_type())) || !is_addr(self, column, row) || alpha.equal(0) ||
      !is_factor(beta, out) || !is_factor(alpha, out))
    return false;
  return serve_product<Op>({column.unsqueeze(1), row.unsqueeze(0), &self, beta, alpha}, out);
}

at::Tensor& addr_out(const at::Tensor& self, const at::Tensor& column, const at::Tensor& row,
                     const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  using Op = at::_ops::addr_out;
  if (addr_into<Op>(self, column, row, beta, alpha, out)) return out;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, column, row, beta, alpha, out);
}

at::Tensor addr(const at::Tensor& self, const at::Tensor& column, const at::Tensor& row,
                const at::Scalar& beta, const at::Scalar& alpha) {
  using Op = at::_ops::addr;
  if (is_open(product_route(column.scalar_type())) && is_addr(self, column, row)) {
    const at::Tensor out = addr_result(self, column, row);
    if (addr_into<Op>(self, column, row, beta, alpha, out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, column, row, beta, alpha);
}

/// PyTorch's CPU knows that it writes to its input by the address of the C++ object, which is not the
/// same after a fallback, and would resize it.
at::Tensor& addr_in_place(at::Tensor& self, const at::Tensor& column, const at::Tensor& row,
                          const at::Scalar& beta, const at::Scalar& alpha) {
  if (addr_into<at::_ops::addr_>(self, column, row, beta, alpha, self)) return self;
  if (column.dim() == 1 && row.dim() == 1) {
    TORCH_CHECK(self.dim() == 2, "2D tensor expected, got ", self.dim(), "D tensor for input");
    TORCH_CHECK(self.size(0) == column.size(0) && self.size(1) == row.size(0),
                "size mismatch, input: ", self.sizes(), ", v1: ", column.sizes(),
                ", v2: ", row.sizes());
  }
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::addr_out>::call(self, column, row,
                                                                               beta, alpha, self);
}

bool is_batch_pair(const at::Tensor& first, const at::Tensor& second) {
  return is_ours(first) && is_ours(second) && first.dim() == 3 && second.dim() == 3 &&
         first.size(0) == second.size(0) && first.size(2) == second.size(1);
}

/// The sum of the products of a batch is one product, of matrices side by side and one below the other.
bool addbmm_into(const at::Tensor& self, const at::Tensor& first, const at::Tensor& second,
                 const at::Scalar& beta, const at::Scalar& alpha, const at::Tensor& out) {
  if (!is_open(Route::composed) || !is_batch_pair(first, second) ||
      !offers_matmul(first.device().index(), first.scalar_type()))
    return false;
  const Composition whole;
  const int64_t inner = first.size(0) * first.size(2);
  const at::Tensor wide = first.permute({1, 0, 2}).reshape({first.size(1), inner});
  const at::Tensor tall = second.reshape({inner, second.size(2)});
  return multiply({wide, tall, &self, beta, alpha}, out);
}

at::Tensor& addbmm_out(const at::Tensor& self, const at::Tensor& first, const at::Tensor& second,
                       const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  using Op = at::_ops::addbmm_out;
  if (addbmm_into(self, first, second, beta, alpha, out)) {
    count_served<Op>(Route::composed, out);
    return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, first, second, beta, alpha,
                                                               out);
}

at::Tensor& addbmm_in_place(at::Tensor& self, const at::Tensor& first, const at::Tensor& second,
                            const at::Scalar& beta, const at::Scalar& alpha) {
  using Op = at::_ops::addbmm_;
  if (addbmm_into(self, first, second, beta, alpha, self)) {
    count_served<Op>(Route::composed, self);
    return self;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, first, second, beta, alpha);
}

at::Tensor addbmm(const at::Tensor& self, const at::Tensor& first, const at::Tensor& second,
                  const at::Scalar& beta, const at::Scalar& alpha) {
  using Op = at::_ops::addbmm;
  if (is_batch_pair(first, second)) {
    const at::Tensor out =
        empty_on(first.device().index(), {first.size(1), second.size(2)}, first.scalar_type());
    if (addbmm_into(self, first, second, beta, alpha, out)) {
      count_served<Op>(Route::composed, out);
      return out;
    }
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, first, second, beta, alpha);
}

bool activated_into(const at::Tensor& self, const at::Tensor& first, const at::Tensor& second,
                    const at::Scalar& beta, const at::Scalar& alpha, bool use_gelu,
                    at::Tensor& out) {
  if (!is_open(Route::composed) || !is_ours(out) || !at::isFloatingType(out.scalar_type()) ||
      first.dim() != 2 || second.dim() != 2 || first.size(1) != second.size(0) ||
      !offers_pointwise(out.device().index()))
    return false;
  const Composition whole;
  if (!multiply({first, second, &self, beta, alpha}, out)) return false;
  if (use_gelu)
    at::gelu_(out);
  else
    at::relu_(out);
  return true;
}

at::Tensor& addmm_activation_out(const at::Tensor& self, const at::Tensor& first,
                                 const at::Tensor& second, const at::Scalar& beta,
                                 const at::Scalar& alpha, bool use_gelu, at::Tensor& out) {
  using Op = at::_ops::_addmm_activation_out;
  if (activated_into(self, first, second, beta, alpha, use_gelu, out)) {
    count_served<Op>(Route::composed, out);
    return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, first, second, beta, alpha,
                                                               use_gelu, out);
}

}  // namespace

// PyTorch makes the other forms of _addmm_activation of the one with out.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // PyTorch's addr for other devices checks fewer shapes, and resizes what addr_ writes to.
  m.impl("addr", addr);
  m.impl("addr_", addr_in_place);
  m.impl("addr.out", addr_out);
  m.impl("addbmm", addbmm);
  m.impl("addbmm_", addbmm_in_place);
  m.impl("addbmm.out", addbmm_out);
  m.impl("_addmm_activation.out", addmm_activation_out);
}

}  // namespace tbk::generic
