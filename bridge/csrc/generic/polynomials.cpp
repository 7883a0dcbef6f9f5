// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Orthogonal polynomials of any order: one launch for each step of their recurrence, up to the greatest order,
// which is the one number that is read.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/special_chebyshev_polynomial_t_ops.h>
#include <ATen/ops/special_chebyshev_polynomial_u_ops.h>
#include <ATen/ops/special_chebyshev_polynomial_v_ops.h>
#include <ATen/ops/special_chebyshev_polynomial_w_ops.h>
#include <ATen/ops/special_hermite_polynomial_h_ops.h>
#include <ATen/ops/special_hermite_polynomial_he_ops.h>
#include <ATen/ops/special_laguerre_polynomial_l_ops.h>
#include <ATen/ops/special_legendre_polynomial_p_ops.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_t_ops.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_u_ops.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_v_ops.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_w_ops.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/apart.h>
#include <generic/index.h>
#include <generic/made_once.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// Beyond this PyTorch's CPU takes other ways, or there are too many launches.
constexpr double kMostOrder = 64;

/// The polynomial of order k + 1 is (slope * x + shift) * that of k - before * that of k - 1.
struct Step {
  double slope, shift, before;
};
using Recurrence = Step (*)(double k);

/// The step is that of Chebyshev's; what differs is the polynomial of order 1.
template <int kSlope, int kShift, int kFirstSlope, int kFirstShift>
Step chebyshev(double k) {
  return k == 0 ? Step{kFirstSlope, kFirstShift, 0} : Step{kSlope, kShift, 1};
}
Step hermite_h(double k) {
  return {2, 0, 2 * k};
}
Step hermite_he(double k) {
  return {1, 0, k};
}
Step laguerre(double k) {
  return {-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)};
}
Step legendre(double k) {
  return {(2 * k + 1) / (k + 1), 0, k / (k + 1)};
}

/// Inputs: x, the order wanted, the last two polynomials, and what is found so far. Results: the next one,
/// and what is found with it.
const Program* step_program(at::ScalarType dtype) {
  static OfDtypes<Program> made;
  return made_once(made, dtype, [&] {
    ProgramBuilder b;
    const Value x = b.input(dtype), order = b.input(dtype), before = b.input(dtype),
                last = b.input(dtype), found = b.input(dtype);
    const Value slope = b.number(dtype), shift = b.number(dtype), share = b.number(dtype),
                reached = b.number(dtype);
    const Value factor = b.apply(TBK_OPCODE_ADD, {b.apply(TBK_OPCODE_MUL, {slope, x}), shift});
    const Value next = b.apply(TBK_OPCODE_SUB, {b.apply(TBK_OPCODE_MUL, {factor, last}),
                                                b.apply(TBK_OPCODE_MUL, {share, before})});
    b.result(next);
    b.result(b.apply(TBK_OPCODE_SELECT, {b.apply(TBK_OPCODE_EQ, {order, reached}), next, found}));
    return b.intern();
  });
}

bool run_step(const Step& step, double reached, c10::ArrayRef<const at::Tensor*> outputs,
              c10::ArrayRef<const at::Tensor*> inputs) {
  const at::ScalarType dtype = outputs[0]->scalar_type();
  Launch launch(outputs[0]->device().index(), outputs[0]->sizes());
  for (const at::Tensor* out : outputs)
    launch.output(*out, out->strides());
  for (const at::Tensor* in : inputs)
    launch.input(*in, in->strides());
  for (const double number : {step.slope, step.shift, step.before, reached})
    launch.number(bits_in(dtype, number));
  return launch.pointwise(*step_program(dtype));
}

/// Returns `tensor` in `dtype`, of these sizes.
at::Tensor operand(const at::Tensor& tensor, const at::Tensor& like, at::ScalarType dtype) {
  return (is_host_number(tensor) ? tensor.to(like.device()) : tensor)
      .to(dtype)
      .expand(like.sizes());
}

bool is_polynomial_operand(const at::Tensor& tensor, const at::Tensor& out) {
  return is_host_number(tensor) || are_plain({&out, &tensor});
}

bool polynomial_into(Recurrence recurrence, const at::Tensor& x, const at::Tensor& n,
                     const at::Tensor& out) {
  if (!is_open(Route::composed) || !are_plain({&out}) || !is_polynomial_operand(x, out) ||
      !is_polynomial_operand(n, out) || !at::isFloatingType(computed_in(out.scalar_type())) ||
      !offers_pointwise(out.device().index()) || !offers_reduce(out.device().index()))
    return false;
  if (out.sizes() != at::IntArrayRef(at::infer_size_dimvector(x.sizes(), n.sizes()))) return false;
  if (out.numel() == 0) return true;
  assert_apart(out, {&x, &n});
  const Composition whole;
  const at::ScalarType dtype = computed_in(out.scalar_type());
  const at::Tensor place = operand(x, out, dtype), order = operand(n, out, dtype).trunc();
  const double most = order.max().item<double>();
  if (!(most <= kMostOrder)) return false;
  const auto fresh = [&] { return empty_on(out.device().index(), out.sizes(), dtype); };
  at::Tensor found = order.ge(0).to(dtype).contiguous(), last = fresh().fill_(1), before = last;
  for (int k = 0; k < most; k++) {
    const at::Tensor next = fresh(), more = fresh();
    if (!run_step(recurrence(k), k + 1, {&next, &more}, {&place, &order, &before, &last, &found}))
      return false;
    before = last;
    last = next;
    found = more;
  }
  out.copy_(found);
  return true;
}

template <class Op, Recurrence kRecurrence>
at::Tensor& polynomial(const at::Tensor& x, const at::Tensor& n, at::Tensor& out) {
  return served_or_on_host<Op>(polynomial_into(kRecurrence, x, n, out), Route::composed, out, x, n,
                               out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::_ops;
  m.impl("special_chebyshev_polynomial_t.out",
         polynomial<special_chebyshev_polynomial_t_out, chebyshev<2, 0, 1, 0>>);
  m.impl("special_chebyshev_polynomial_u.out",
         polynomial<special_chebyshev_polynomial_u_out, chebyshev<2, 0, 2, 0>>);
  m.impl("special_chebyshev_polynomial_v.out",
         polynomial<special_chebyshev_polynomial_v_out, chebyshev<2, 0, 2, -1>>);
  m.impl("special_chebyshev_polynomial_w.out",
         polynomial<special_chebyshev_polynomial_w_out, chebyshev<2, 0, 2, 1>>);
  m.impl("special_shifted_chebyshev_polynomial_t.out",
         polynomial<special_shifted_chebyshev_polynomial_t_out, chebyshev<4, -2, 2, -1>>);
  m.impl("special_shifted_chebyshev_polynomial_u.out",
         polynomial<special_shifted_chebyshev_polynomial_u_out, chebyshev<4, -2, 4, -2>>);
  m.impl("special_shifted_chebyshev_polynomial_v.out",
         polynomial<special_shifted_chebyshev_polynomial_v_out, chebyshev<4, -2, 4, -3>>);
  m.impl("special_shifted_chebyshev_polynomial_w.out",
         polynomial<special_shifted_chebyshev_polynomial_w_out, chebyshev<4, -2, 4, -1>>);
  m.impl("special_hermite_polynomial_h.out",
         polynomial<special_hermite_polynomial_h_out, hermite_h>);
  m.impl("special_hermite_polynomial_he.out",
         polynomial<special_hermite_polynomial_he_out, hermite_he>);
  m.impl("special_laguerre_polynomial_l.out",
         polynomial<special_laguerre_polynomial_l_out, laguerre>);
  m.impl("special_legendre_polynomial_p.out",
         polynomial<special_legendre_polynomial_p_out, legendre>);
}

}  // namespace tbk::generic
