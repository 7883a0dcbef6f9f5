// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The squared error, summed or averaged, and its gradient: operators one after the other.
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// Whether all are plain, of one real dtype and device, and of the sizes of the first or broadcast to it.
bool are_served(std::initializer_list<at::Tensor> tensors) {
  const at::Tensor& first = *tensors.begin();
  for (const at::Tensor& each : tensors)
    if (!is_plain(each) || each.device() != first.device() ||
        each.scalar_type() != first.scalar_type() ||
        (each.sizes() != first.sizes() && each.dim() != 0))
      return false;
  return is_open(Route::composed) && is_ours(first) && at::isFloatingType(first.scalar_type()) &&
         first.numel() > 0 && offers_pointwise(first.device().index()) &&
         offers_reduce(first.device().index());
}

void finish(OperatorCounter& counter, Stack* stack, at::Tensor result, size_t arguments) {
  count_call(counter, Route::composed, result.device().index(), result.scalar_type());
  torch::jit::drop(*stack, arguments);
  torch::jit::push(*stack, std::move(result));
}

/// mse_loss(self, target, reduction)
void loss(const c10::OperatorHandle& op, Stack* stack) {
  static OperatorCounter& counter = counter_of("aten::mse_loss");
  const at::Tensor self = torch::jit::peek(*stack, 0, 3).toTensor(),
                   target = torch::jit::peek(*stack, 1, 3).toTensor();
  const int64_t reduction = torch::jit::peek(*stack, 2, 3).toInt();
  const bool is_reduced = reduction == at::Reduction::Mean || reduction == at::Reduction::Sum;
  if (!is_reduced || !are_served({self, target})) return pointwise_or_fallback(op, stack);
  const Composition whole;
  const at::Tensor each = at::mse_loss(self, target, at::Reduction::None);
  finish(counter, stack, reduction == at::Reduction::Mean ? each.mean() : each.sum(), 3);
}

/// mse_loss_backward(grad_output, self, target, reduction)
void gradient(const c10::OperatorHandle& op, Stack* stack) {
  static OperatorCounter& counter = counter_of("aten::mse_loss_backward");
  const at::Tensor outer = torch::jit::peek(*stack, 0, 4).toTensor(),
                   self = torch::jit::peek(*stack, 1, 4).toTensor(),
                   target = torch::jit::peek(*stack, 2, 4).toTensor();
  const bool is_mean = torch::jit::peek(*stack, 3, 4).toInt() == at::Reduction::Mean;
  if (!are_served({self, target, outer})) return cpu_fallback(op, stack);
  const Composition whole;
  const double factor = is_mean ? 2.0 / static_cast<double>(self.numel()) : 2.0;
  const at::Tensor result = at::sub(self, target).mul(factor).mul(outer);
  finish(counter, stack, result.contiguous(), 4);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mse_loss", torch::CppFunction::makeFromBoxedFunction<&loss>());
  m.impl("mse_loss_backward", torch::CppFunction::makeFromBoxedFunction<&gradient>());
}

}  // namespace tbk::generic
