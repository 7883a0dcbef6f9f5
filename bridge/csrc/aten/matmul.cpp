// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices. What is one product of the kernel mm is asked of that first; then comes the generic kernel
// tbk::matmul, then what is made of several launches of mm.
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/addmv_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/dot_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/vdot_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <generic/matmul.h>
#include <tbk/tbk_operators.h>
#include <torch/library.h>

namespace tbk {
namespace {

constinit Kernel mm_kernel(TBK_NAME_mm, TBK_VERSION_mm);
constinit Kernel summing_kernel(TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor);

/// A matrix within a tensor: the last two of its dimensions, or a vector as a row or a column.
struct Matrix {
  Matrix(const at::Tensor& from, std::array<int64_t, 2> matrix_sizes,
         std::array<int64_t, 2> matrix_strides)
      : sizes(matrix_sizes), strides(matrix_strides), tensor(describe(from)) {
    tensor.rank = 2;
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  std::array<int64_t, 2> sizes, strides;
  tbk_tensor_t tensor;
};

Matrix last_two(const at::Tensor& tensor) {
  return {tensor, {tensor.size(-2), tensor.size(-1)}, {tensor.stride(-2), tensor.stride(-1)}};
}
Matrix column(const at::Tensor& vector) {
  return {vector, {vector.size(0), 1}, {vector.stride(0), 1}};
}
Matrix row(const at::Tensor& vector) {
  return {vector, {1, vector.size(0)}, {vector.size(0), vector.stride(0)}};
}

at::Tensor stored_as_seen(const at::Tensor& tensor) {
  return tensor.resolve_conj().resolve_neg();
}

/// Tensors of one device of ours and one dtype that PyTorch multiplies, and none of which is in the
/// way of the result. What is not, PyTorch refuses, or computes, on the CPU.
bool is_regular(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs) {
  if (!is_ours(out) || out.scalar_type() == at::kBool || out.is_conj() || out.is_neg())
    return false;
  for (const at::Tensor* input : inputs)
    if (input->device() != out.device() || input->scalar_type() != out.scalar_type() ||
        input->is_alias_of(out))
      return false;
  return offers(mm_kernel, out.device().index(), out.scalar_type());
}

bool launch_mm(c10::DeviceIndex device, const tbk_tensor_t& self, const tbk_tensor_t& mat2,
               const tbk_tensor_t& out) {
  const tbk_args_mm_t arguments = {sizeof arguments, &self, &mat2, &out};
  return launch(mm_kernel, device, &arguments, {&self, &mat2, &out});
}

bool fits(const at::Tensor& self, const at::Tensor& mat2, int64_t rank) {
  return self.dim() == rank && mat2.dim() == rank && self.size(-1) == mat2.size(-2) &&
         (rank == 2 || self.size(0) == mat2.size(0));
}

bool mm_into(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
  const at::Tensor a = stored_as_seen(self), b = stored_as_seen(mat2);
  return launch_mm(out.device().index(), describe_input(a), describe_input(b), describe(out));
}

/// Matrix by matrix.
bool bmm_into(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
  const at::Tensor a = stored_as_seen(self), b = stored_as_seen(mat2);
  Matrix left = last_two(a), right = last_two(b), result = last_two(out);
  for (int64_t i = 0; i < out.size(0); i++) {
    if (!launch_mm(out.device().index(), left.tensor, right.tensor, result.tensor)) return false;
    left.tensor.offset += a.stride(0);
    right.tensor.offset += b.stride(0);
    result.tensor.offset += out.stride(0);
  }
  return true;
}

at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
  if (fits(self, mat2, 2) && is_regular(out, {&self, &mat2})) {
    at::native::resize_output(out, {self.size(0), mat2.size(1)});
    if (mm_into(self, mat2, out)) return out;
  }
  if (fits(self, mat2, 2) && generic::serve_product<at::_ops::mm_out>({self, mat2}, out))
    return out;
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::mm_out>::call(self, mat2, out);
}

at::Tensor& bmm_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
  if (fits(self, mat2, 3) && generic::serve_product<at::_ops::bmm_out>({self, mat2}, out))
    return out;
  if (fits(self, mat2, 3) && is_regular(out, {&self, &mat2})) {
    at::native::resize_output(out, {self.size(0), self.size(1), mat2.size(2)});
    if (bmm_into(self, mat2, out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::bmm_out>::call(self, mat2, out);
}

/// Half precision is rounded once by a fused operator, and would be rounded twice by two; and a factor
/// on the summand would need a third. Those are left to PyTorch.
bool is_sum_of_two(const at::Tensor& self, const at::Tensor& out, const at::Scalar& beta) {
  return beta.equal(1) && out.scalar_type() != at::kHalf && out.scalar_type() != at::kBFloat16 &&
         self.device() == out.device() && self.scalar_type() == out.scalar_type();
}

/// out = self, broadcast, + alpha * product; `out` may be `self`.
bool add_product(const at::Tensor& self, const at::Tensor& product, const at::Scalar& alpha,
                 const at::Tensor& out) {
  const c10::DeviceIndex device = out.device().index();
  const tbk_tensor_t result = describe(out), other = describe_input(product);
  const Operand summand(self, device, out.scalar_type(), out.sizes());
  const tbk_scalar_t scalar = to_scalar(number_in(out.scalar_type(), alpha));
  const tbk_args_add_Tensor_t arguments = {sizeof arguments, *summand, &other, scalar, &result};
  return launch(summing_kernel, device, &arguments, {*summand, &other, &result},
                plan_key_of(scalar));
}

bool broadcasts_to(const at::Tensor& self, at::IntArrayRef sizes) {
  if (self.dim() > static_cast<int64_t>(sizes.size())) return false;
  for (int64_t d = 1; d <= self.dim(); d++)
    if (self.size(-d) != 1 && self.size(-d) != sizes[sizes.size() - static_cast<size_t>(d)])
      return false;
  return true;
}

/// `self` is `out`, or has no byte of it.
bool may_read(const at::Tensor& self, const at::Tensor& out) {
  return self.is_same(out) || !self.is_alias_of(out);
}

bool alpha_fits(const at::Tensor& out, const at::Scalar& alpha) {
  if (alpha.isComplex()) return out.is_complex();
  return alpha.isIntegral(/*includeBool=*/false) || !at::isIntegralType(out.scalar_type(), true);
}

template <class Product>
bool add_into(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
              const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out,
              at::IntArrayRef sizes, Product product_into) {
  if (!is_regular(out, {&mat1, &mat2}) || !is_sum_of_two(self, out, beta) ||
      !alpha_fits(out, alpha) || !broadcasts_to(self, sizes) || !may_read(self, out) ||
      !offers(summing_kernel, out.device().index(), out.scalar_type()))
    return false;
  if (self.is_same(out) && self.sizes() != sizes) return false;
  at::native::resize_output(out, sizes);
  const at::Tensor product = empty_on(out.device().index(), sizes, out.scalar_type());
  return product_into(product) && add_product(stored_as_seen(self), product, alpha, out);
}

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                      const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  if (fits(mat1, mat2, 2) &&
      generic::serve_product<at::_ops::addmm_out>({mat1, mat2, &self, beta, alpha}, out))
    return out;
  if (fits(mat1, mat2, 2) &&
      add_into(self, mat1, mat2, beta, alpha, out, {mat1.size(0), mat2.size(1)},
               [&](const at::Tensor& product) { return mm_into(mat1, mat2, product); }))
    return out;
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::addmm_out>::call(self, mat1, mat2,
                                                                                beta, alpha, out);
}

at::Tensor& baddbmm_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                        const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  if (fits(batch1, batch2, 3) &&
      generic::serve_product<at::_ops::baddbmm_out>({batch1, batch2, &self, beta, alpha}, out))
    return out;
  if (fits(batch1, batch2, 3) &&
      add_into(self, batch1, batch2, beta, alpha, out,
               {batch1.size(0), batch1.size(1), batch2.size(2)},
               [&](const at::Tensor& product) { return bmm_into(batch1, batch2, product); }))
    return out;
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::baddbmm_out>::call(
      self, batch1, batch2, beta, alpha, out);
}

bool mv_into(const at::Tensor& mat, const at::Tensor& vec, const at::Tensor& out) {
  const at::Tensor a = stored_as_seen(mat), b = stored_as_seen(vec);
  const Matrix right = column(b), result = column(out);
  return launch_mm(out.device().index(), describe_input(a), right.tensor, result.tensor);
}

/// mv comes here too, with a beta of 0, which means that `self` is not read.
at::Tensor& addmv_out(const at::Tensor& self, const at::Tensor& mat, const at::Tensor& vec,
                      const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  if (mat.dim() == 2 && vec.dim() == 1 && mat.size(1) == vec.size(0)) {
    if (beta.equal(0) && alpha.equal(1) && is_regular(out, {&mat, &vec}) &&
        broadcasts_to(self, {mat.size(0)})) {
      at::native::resize_output(out, {mat.size(0)});
      if (mv_into(mat, vec, out)) return out;
    }
    if (generic::serve_product<at::_ops::addmv_out>({mat, vec, &self, beta, alpha}, out))
      return out;
    if (add_into(self, mat, vec, beta, alpha, out, {mat.size(0)},
                 [&](const at::Tensor& product) { return mv_into(mat, vec, product); }))
      return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, at::_ops::addmv_out>::call(self, mat, vec,
                                                                                beta, alpha, out);
}

bool dot_into(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  if (!is_regular(out, {&self, &other})) return false;
  const at::Tensor a = stored_as_seen(self), b = stored_as_seen(other);
  const Matrix left = row(a), right = column(b), result(out, {1, 1}, {1, 1});
  return launch_mm(out.device().index(), left.tensor, right.tensor, result.tensor);
}

/// dot, and vdot, which is the same of numbers that are not complex.
template <class Op>
at::Tensor dot(const at::Tensor& self, const at::Tensor& other) {
  const bool is_conjugated = std::is_same_v<Op, at::_ops::vdot> && self.is_complex();
  if (self.dim() == 1 && other.dim() == 1 && self.size(0) == other.size(0) && is_ours(self)) {
    const at::Tensor first = is_conjugated ? self.conj() : self;
    const at::Tensor out = empty_on(self.device().index(), {}, self.scalar_type());
    if (dot_into(first, other, out) || generic::serve_product<Op>({first, other}, out)) return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, other);
}

}  // namespace

// PyTorch makes the forms without out, and the ones in place, of these.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mm.out", mm_out);
  m.impl("bmm.out", bmm_out);
  m.impl("addmm.out", addmm_out);
  m.impl("baddbmm.out", baddbmm_out);
  m.impl("addmv.out", addmv_out);
  m.impl("dot", dot<at::_ops::dot>);
  m.impl("vdot", dot<at::_ops::vdot>);
}

}  // namespace tbk
