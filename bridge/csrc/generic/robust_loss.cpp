// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The smooth L1 loss and Huber's, summed or averaged, and their gradients: what rows of pointwise operators
// compute for each element, and a sum.
#include <ATen/core/Reduction.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/huber_loss_backward.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <ATen/ops/smooth_l1_loss_backward.h>
#include <generic/by_others.h>
#include <generic/pointwise.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// Returns whether one loss is asked for, of pairs that rows serve.
bool is_of_all(const at::Tensor& self, const at::Tensor& target, int64_t reduction, double width) {
  return (reduction == at::Reduction::Mean || reduction == at::Reduction::Sum) && width > 0 &&
         may_be_made({&self, &target}) && are_real({&self, &target}) &&
         self.sizes() == target.sizes();
}

using LossOfEach = at::Tensor (*)(const at::Tensor&, const at::Tensor&, int64_t, double);

/// The arguments are self, target, reduction, and where the loss becomes linear.
template <class Op, LossOfEach kEach>
void loss(const c10::OperatorHandle& op, Stack* stack) {
  constexpr size_t kCount = 4;
  const auto arguments = torch::jit::last(*stack, kCount);
  const at::Tensor self = arguments[0].toTensor(), target = arguments[1].toTensor();
  const int64_t reduction = arguments[2].toInt();
  const double width = arguments[3].toDouble();
  if (!is_of_all(self, target, reduction, width)) return pointwise_or_fallback(op, stack);
  at::Tensor result = made<Op>([&] {
    const at::Tensor each = kEach(self, target, at::Reduction::None, width);
    return reduction == at::Reduction::Mean ? each.mean() : each.sum();
  });
  torch::jit::drop(*stack, kCount);
  torch::jit::push(*stack, std::move(result));
}

using Write = at::Tensor& (*)(at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              int64_t, double);

/// The arguments are those of the loss, the gradient before them and the result behind.
template <class Op, Write kWrite>
void gradient(const c10::OperatorHandle& op, Stack* stack) {
  constexpr size_t kCount = 6;
  const auto arguments = torch::jit::last(*stack, kCount);
  const at::Tensor outer = arguments[0].toTensor(), self = arguments[1].toTensor(),
                   target = arguments[2].toTensor();
  const int64_t reduction = arguments[3].toInt();
  const double width = arguments[4].toDouble();
  at::Tensor out = arguments[5].toTensor();
  if (!is_of_all(self, target, reduction, width) || !are_plain({&self, &outer, &out}) ||
      !are_real({&self, &outer, &out}) || outer.dim() != 0 || out.sizes() != self.sizes())
    return pointwise_or_fallback(op, stack);
  const Composition whole;
  const bool is_mean = reduction == at::Reduction::Mean && self.numel() > 0;
  const at::Tensor share = is_mean ? outer.div(static_cast<double>(self.numel())) : outer;
  kWrite(out, share, self, target, at::Reduction::None, width);
  count_served<Op>(Route::composed, out);
  torch::jit::drop(*stack, kCount);
  torch::jit::push(*stack, std::move(out));
}

template <void (*kKernel)(const c10::OperatorHandle&, Stack*)>
torch::CppFunction boxed() {
  return torch::CppFunction::makeFromBoxedFunction<kKernel>();
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::_ops;
  m.impl("smooth_l1_loss", boxed<&loss<smooth_l1_loss, &at::smooth_l1_loss>>());
  m.impl("huber_loss", boxed<&loss<huber_loss, &at::huber_loss>>());
  m.impl("smooth_l1_loss_backward.grad_input",
         boxed<&gradient<smooth_l1_loss_backward_grad_input, &at::smooth_l1_loss_backward_out>>());
  m.impl("huber_loss_backward.out",
         boxed<&gradient<huber_loss_backward_out, &at::huber_loss_backward_out>>());
}

}  // namespace tbk::generic
