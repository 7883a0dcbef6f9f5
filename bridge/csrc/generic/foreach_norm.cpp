// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The norm of each tensor of a list, which clipping asks for: one launch for all.
#include <ATen/core/op_registration/op_registration.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <generic/launch.h>
#include <generic/sets.h>
#include <torch/library.h>

#include <cmath>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

std::optional<Recipe> recipe_of(double order) {
  if (order == 1) return Recipe::kNorm1;
  if (order == 2) return Recipe::kNorm2;
  if (std::isinf(order) && order > 0) return Recipe::kNormMost;
  return std::nullopt;
}

/// Returns nothing where the tensors are not of one real dtype and device, or the backend refuses.
std::optional<std::vector<at::Tensor>> norms(const std::vector<at::Tensor>& tensors, double order,
                                             std::optional<at::ScalarType> asked) {
  const std::optional<Recipe> recipe = recipe_of(order);
  if (!recipe.has_value() || tensors.empty() || !is_ours(tensors[0])) return std::nullopt;
  const at::ScalarType dtype = tensors[0].scalar_type(), as = asked.value_or(dtype);
  const at::Device device = tensors[0].device();
  if (!at::isFloatingType(dtype) || !at::isFloatingType(as) || !offers_reduce(device.index()))
    return std::nullopt;
  std::vector<at::Tensor> result;
  Sets sets(device.index(), tensors.size());
  for (const at::Tensor& tensor : tensors) {
    // PyTorch raises for the greatest of nothing.
    if (!lie_alike({&tensor}, dtype, device) || tensor.numel() == 0) return std::nullopt;
    result.push_back(empty_on(device.index(), c10::IntArrayRef(), as));
    sets.add_reduction(result.back(), tensor);
  }
  const Reduction* reduction = reduction_of(*recipe, dtype, as, as);
  if (reduction == nullptr || !sets.reduce(*reduction)) return std::nullopt;
  return result;
}

/// Serves _foreach_norm.Scalar(self, ord, dtype).
class Norms final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    static OperatorCounter& counter = counter_of_operator("aten::_foreach_norm", "Scalar");
    const std::vector<at::Tensor> tensors = torch::jit::peek(*stack, 0, 3).toTensorVector();
    const c10::IValue &order = torch::jit::peek(*stack, 1, 3),
                      &dtype = torch::jit::peek(*stack, 2, 3);
    std::optional<std::vector<at::Tensor>> served;
    if (is_open(Route::generic) && !order.isComplexDouble())
      served = norms(tensors, order.toScalar().toDouble(), dtype.toOptional<at::ScalarType>());
    if (!served.has_value()) {
      // PyTorch's own, which takes the tensors one by one, whatever their device.
      op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
      return;
    }
    const at::Tensor& first = served->front();
    count_call(counter, Route::generic, first.device().index(), first.scalar_type());
    torch::jit::drop(*stack, 3);
    torch::jit::push(*stack, std::move(*served));
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_foreach_norm.Scalar",
         torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Norms>()));
}

}  // namespace tbk::generic
