// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/Tensor.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <torch/library.h>

namespace tbk {
namespace {

using Triple = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

bool is_there(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined();
}

/// In training it writes the running statistics, and its schema does not say so: the fallback would
/// leave them as they are. This is the same computation under a schema that does.
Triple native_batch_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                         const std::optional<at::Tensor>& bias,
                         const std::optional<at::Tensor>& running_mean,
                         const std::optional<at::Tensor>& running_var, bool training,
                         double momentum, double eps) {
  TORCH_CHECK(is_there(running_mean) == is_there(running_var),
              "running_mean and running_var must both be given, or neither");
  if (!is_there(running_mean))
    return at::_native_batch_norm_legit(input, weight, bias, training, momentum, eps);
  at::Tensor mean = *running_mean;
  at::Tensor variance = *running_var;
  return at::_native_batch_norm_legit(input, weight, bias, mean, variance, training, momentum, eps);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_batch_norm", native_batch_norm);
}

}  // namespace tbk
