// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What batch norm and group norm are made of: a tensor is seen in parts, each of which becomes one
// mean and one scale. Tensors of one number a part, and weights, have a size of 1 where they broadcast.
#pragma once

#include <aten/optional.h>
#include <generic/composition.h>

#include <array>
#include <optional>
#include <tuple>

namespace tbk::generic {

using MaybeTensor = std::optional<at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Returns whether `tensor` is a dense one of the device and dtype, with these sizes.
bool is_dense(const at::Tensor& tensor, at::Device device, at::ScalarType dtype,
              c10::IntArrayRef sizes);
/// Returns whether `tensor` is of real numbers, not empty, and on a device that takes programs.
bool is_normalizable(const at::Tensor& tensor);

/// Holds what a part is made of: its mean, and 1 / root of (variance + eps). All are of the dtype that
/// is computed in.
struct Moments {
  at::Tensor mean, scale, variance;
};

/// Returns the moments of `parts` of `x`; nothing where the backend refuses.
std::optional<Moments> moments_of(const at::Tensor& x, const Reduced& parts, double eps);
/// Returns 1 / root of (variance + eps); not defined where the backend refuses.
at::Tensor scale_of(const at::Tensor& variance, double eps);
/// Computes (x - mean) * scale, with a weight * that, with a bias that + it. Returns whether it did.
bool normalize(const at::Tensor& x, const Moments& moments, const at::Tensor& weight,
               const at::Tensor& bias, const at::Tensor& out);

/// Holds two sums over a part: of the gradient, and of its products with what is normalized.
struct GradientSums {
  at::Tensor plain, normal;
};

/// Returns these sums over `parts`, of the gradient times the weight where there is one; nothing where
/// the backend refuses.
std::optional<GradientSums> gradient_sums(const at::Tensor& gradient, const at::Tensor& x,
                                          const Moments& moments, const at::Tensor& weight,
                                          const Reduced& parts);
/// Holds a weight, which may be missing. One that is the same all over a part has no share in the sums.
struct Weight {
  at::Tensor tensor;
  bool is_of_part;
};

/// Computes scale * (gradient * weight - (plain + normalized * normal) / count), the gradient of x, of
/// parts of `count` elements. Returns whether it did.
bool input_gradient(const at::Tensor& gradient, const at::Tensor& x, const Moments& moments,
                    const GradientSums& sums, const Weight& weight, int64_t count,
                    const at::Tensor& out);
/// Computes scale * gradient * weight, where mean and scale do not depend on x. Returns whether it did.
bool scaled_gradient(const at::Tensor& gradient, const at::Tensor& scale, const at::Tensor& weight,
                     const at::Tensor& out);

}  // namespace tbk::generic
