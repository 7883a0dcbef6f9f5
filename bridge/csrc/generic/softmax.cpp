// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// softmax and log_softmax, forward and backward, and logsumexp: reductions of one state each, then a program.
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/add.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <generic/reduce.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// Whether both are dense tensors of one device, and `out` is one that may be written: `self` itself may, which
/// is read element by element then.
bool is_served(const at::Tensor& self, const at::Tensor& out, at::ScalarType dtype) {
  return is_open(Route::composed) && is_ours(self) && is_ours(out) &&
         self.device() == out.device() && self.layout() == at::kStrided && !self.is_neg() &&
         out.scalar_type() == dtype && (out.is_same(self) || !out.is_alias_of(self)) &&
         at::has_internal_overlap(out) == at::MemOverlap::No && at::isFloatingType(dtype) &&
         at::isFloatingType(self.scalar_type()) && self.dim() <= 64 &&
         offers_reduce(self.device().index()) && offers_pointwise(self.device().index());
}

/// Returns the mask of `dim`; empty where PyTorch raises for it. Of a single number it is of no use.
std::optional<std::bitset<64>> mask_of(const at::Tensor& self, int64_t dim) {
  const int64_t rank = std::max<int64_t>(self.dim(), 1);
  if (dim < -rank || dim >= rank) return std::nullopt;
  std::bitset<64> mask;
  if (self.dim() > 0) mask.set(static_cast<size_t>(dim < 0 ? dim + rank : dim));
  return mask;
}

const Program* forward_program(at::ScalarType in, at::ScalarType out, bool is_log) {
  return program_by_key({Formulas::kSoftmax, in, out, is_log}, [&](ProgramBuilder& b) {
    const at::ScalarType computed = computed_in(in);
    const Value x = b.cast(b.input(in), computed);
    const Value most = b.input(computed), sum = b.input(computed);  // its logarithm, for a log
    const Value left = b.apply(TBK_OPCODE_SUB, {x, most});
    const Value result = is_log ? b.apply(TBK_OPCODE_SUB, {left, sum})
                                : b.apply(TBK_OPCODE_DIV, {b.apply(TBK_OPCODE_EXP, {left}), sum});
    b.result(b.cast(result, out));
  });
}

const Program* backward_program(at::ScalarType in, at::ScalarType out, bool is_log) {
  return program_by_key({Formulas::kSoftmaxBackward, in, out, is_log}, [&](ProgramBuilder& b) {
    const at::ScalarType computed = computed_in(in);
    const Value gradient = b.cast(b.input(in), computed), output = b.cast(b.input(in), computed);
    const Value sum = b.input(computed);
    const Value result =
        is_log
            ? b.apply(TBK_OPCODE_SUB,
                      {gradient, b.apply(TBK_OPCODE_MUL, {b.apply(TBK_OPCODE_EXP, {output}), sum})})
            : b.apply(TBK_OPCODE_MUL, {output, b.apply(TBK_OPCODE_SUB, {gradient, sum})});
    b.result(b.cast(result, out));
  });
}

/// Holds what one reduction makes of each row, and another of how far its elements are above that; with keepdim.
struct Exponentials {
  at::Tensor most, sum;
};

/// Computes them by two recipes, in two launches: one with both states would compute two exponentials wherever it
/// combines. Returns nothing where the backend refuses.
std::optional<Exponentials> sum_exponentials(const at::Tensor& self, at::ScalarType as,
                                             const Reduced& rows, Recipe greatest, Recipe total) {
  const at::ScalarType in = self.scalar_type(), computed = computed_in(as);
  const Reduction *first = reduction_of(greatest, in, as, computed),
                  *second = reduction_of(total, in, as, computed);
  if (first == nullptr || second == nullptr) return std::nullopt;
  const c10::DeviceIndex device = self.device().index();
  const at::DimVector sizes = rows.sizes(/*keepdim=*/true);
  Exponentials made{empty_on(device, sizes, computed), empty_on(device, sizes, computed)};
  const at::Tensor taken = made.most.expand(self.sizes());
  if (!run_reduction(*first, rows, {&made.most}, {&self}) ||
      !run_reduction(*second, rows, {&made.sum}, {&self, &taken}))
    return std::nullopt;
  return made;
}

bool softmax_into(const at::Tensor& self, int64_t dim, bool is_log, at::Tensor& out,
                  at::ScalarType dtype) {
  const auto mask = mask_of(self, dim);
  if (!mask.has_value() || !is_served(self, out, dtype)) return false;
  const Composition whole;
  at::native::resize_output(out, self.sizes());
  if (out.numel() == 0) return true;
  const at::ScalarType in = self.scalar_type();
  // NaN, as PyTorch's, where an infinity is the greatest.
  const auto made = sum_exponentials(self, in, Reduced(self, *mask), Recipe::kMax,
                                     is_log ? Recipe::kLogOfSum : Recipe::kSumExp);
  return made.has_value() &&
         run_program(*forward_program(in, dtype, is_log), out, {&self, &made->most, &made->sum});
}

bool backward_into(const at::Tensor& gradient, const at::Tensor& output, int64_t dim, bool is_log,
                   at::Tensor& out, at::ScalarType dtype) {
  const auto mask = mask_of(gradient, dim);
  if (!mask.has_value() || !is_served(gradient, out, dtype) || !is_served(output, out, dtype) ||
      gradient.scalar_type() != output.scalar_type() || gradient.sizes() != output.sizes())
    return false;
  const Composition whole;
  at::native::resize_output(out, gradient.sizes());
  if (out.numel() == 0) return true;
  const at::ScalarType in = gradient.scalar_type(), computed = computed_in(in);
  const Reduced reduced(gradient, *mask);
  const at::Tensor sum =
      empty_on(gradient.device().index(), reduced.sizes(/*keepdim=*/true), computed);
  const Recipe recipe = is_log ? Recipe::kSum : Recipe::kDot;
  const Reduction* reduction = reduction_of(recipe, in, in, computed);
  if (reduction == nullptr) return false;
  const bool is_done = is_log ? run_reduction(*reduction, reduced, {&sum}, {&gradient})
                              : run_reduction(*reduction, reduced, {&sum}, {&gradient, &output});
  return is_done &&
         run_program(*backward_program(in, dtype, is_log), out, {&gradient, &output, &sum});
}

/// PyTorch's CPU raises where half is to become float.
at::ScalarType forward_dtype(const at::Tensor& self, bool half_to_float) {
  return half_to_float ? at::kFloat : self.scalar_type();
}

template <class Op>
at::Tensor& serve_forward(const at::Tensor& self, int64_t dim, bool half_to_float, bool is_log,
                          at::Tensor& out) {
  static OperatorCounter& counter = counter_of_operator(Op::name, Op::overload_name);
  if ((!half_to_float || self.scalar_type() == at::kHalf) &&
      softmax_into(self, dim, is_log, out, forward_dtype(self, half_to_float))) {
    count_call(counter, Route::composed, self.device().index(), out.scalar_type());
    return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, dim, half_to_float, out);
}

template <class Op>
at::Tensor& serve_backward(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                           at::ScalarType dtype, bool is_log, at::Tensor& out) {
  static OperatorCounter& counter = counter_of_operator(Op::name, Op::overload_name);
  if (backward_into(gradient, output, dim, is_log, out, dtype)) {
    count_call(counter, Route::composed, gradient.device().index(), out.scalar_type());
    return out;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(gradient, output, dim, dtype, out);
}

at::Tensor& softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float, at::Tensor& out) {
  return serve_forward<at::_ops::_softmax_out>(self, dim, half_to_float, false, out);
}
at::Tensor& log_softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float,
                            at::Tensor& out) {
  return serve_forward<at::_ops::_log_softmax_out>(self, dim, half_to_float, true, out);
}
at::Tensor& softmax_backward_out(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                                 at::ScalarType dtype, at::Tensor& out) {
  return serve_backward<at::_ops::_softmax_backward_data_out>(gradient, output, dim, dtype, false,
                                                              out);
}
at::Tensor& log_softmax_backward_out(const at::Tensor& gradient, const at::Tensor& output,
                                     int64_t dim, at::ScalarType dtype, at::Tensor& out) {
  return serve_backward<at::_ops::_log_softmax_backward_data_out>(gradient, output, dim, dtype,
                                                                  true, out);
}

}  // namespace

bool logsumexp_into(const at::Tensor& self, at::ScalarType as, const Reduced& rows,
                    at::Tensor& out) {
  const Composition whole;
  const auto made = sum_exponentials(self, as, rows, Recipe::kMaxFinite, Recipe::kLogOfSum);
  if (!made.has_value()) return false;
  at::add_out(out, made->sum.view(out.sizes()), made->most.view(out.sizes()));
  return true;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_softmax.out", softmax_out);
  m.impl("_log_softmax.out", log_softmax_out);
  m.impl("_softmax_backward_data.out", softmax_backward_out);
  m.impl("_log_softmax_backward_data.out", log_softmax_backward_out);
}

}  // namespace tbk::generic
