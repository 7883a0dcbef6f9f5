// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Group norm, forward and backward: channels are seen as groups of channels, and a group is normalized.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/native_group_norm_backward_ops.h>
#include <ATen/ops/native_group_norm_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <generic/index.h>
#include <generic/normalize.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using Mask = std::array<bool, 3>;

/// One call: batch, groups, channels of a group, and what is behind.
class Groups {
 public:
  Groups(const at::Tensor& input, int64_t groups)
      : input_(input), groups_(groups), view_(viewed(input)) {}

  /// Returns `tensor`, which has the sizes of the input, with its channels as groups of channels.
  at::Tensor viewed(const at::Tensor& tensor) const {
    return tensor.unflatten(1, {groups_, tensor.size(1) / groups_});
  }
  const at::Tensor& view() const {
    return view_;
  }
  /// Returns a tensor of one number a channel as it broadcasts; none of none.
  at::Tensor spread(const MaybeTensor& tensor) const {
    if (!is_there(tensor)) return {};
    at::DimVector sizes(static_cast<size_t>(view_.dim()), 1);
    sizes[1] = view_.size(1);
    sizes[2] = view_.size(2);
    return tensor->to(computed()).reshape(sizes);
  }
  /// Returns a tensor of one number a group of one of the batch as it broadcasts.
  at::Tensor spread_groups(const at::Tensor& tensor) const {
    return tensor.to(computed()).reshape(groups().sizes(/*keepdim=*/true));
  }
  /// Returns what is left where a group becomes one, or where all but a channel does.
  Reduced groups() const {
    return Reduced(view_, mask(true));
  }
  Reduced channels() const {
    return Reduced(view_, mask(false));
  }

 private:
  at::ScalarType computed() const {
    return computed_in(input_.scalar_type());
  }
  std::bitset<64> mask(bool is_of_groups) const {
    std::bitset<64> result;
    for (int64_t d = 0; d < view_.dim(); d++)
      result.set(static_cast<size_t>(d), is_of_groups ? d >= 2 : d == 0 || d > 2);
    return result;
  }

  const at::Tensor& input_;
  int64_t groups_;
  at::Tensor view_;
};

/// The dtype of statistics: the weight's, which may be FLOAT32 beside half precision. Undefined where
/// PyTorch raises.
at::ScalarType parameter_dtype(const at::Tensor& input, const MaybeTensor& weight,
                               const MaybeTensor& bias) {
  const MaybeTensor& first = is_there(weight) ? weight : bias;
  if (!is_there(first)) return input.scalar_type();
  const at::ScalarType dtype = first->scalar_type();
  const bool is_fit = dtype == input.scalar_type() || dtype == computed_in(input.scalar_type());
  for (const MaybeTensor* each : {&weight, &bias})
    if (is_there(*each) && !is_dense(**each, input.device(), dtype, {input.size(1)}))
      return at::ScalarType::Undefined;
  return is_fit ? dtype : at::ScalarType::Undefined;
}

/// What PyTorch raises for is not served; sizes are said twice in the schema.
bool is_served(const at::Tensor& input, int64_t batch, int64_t channels, int64_t rest,
               int64_t groups) {
  return is_normalizable(input) && input.dim() >= 2 && input.dim() < 64 && groups > 0 &&
         input.size(0) == batch && input.size(1) == channels && channels % groups == 0 &&
         input.numel() == batch * channels * rest &&
         input.is_contiguous(input.suggest_memory_format());
}

bool is_empty(const at::Tensor& gradient, const at::Tensor& input) {
  return is_open(Route::composed) && are_plain({&input, &gradient}) && input.numel() == 0 &&
         input.dim() >= 2 && gradient.sizes() == input.sizes() &&
         gradient.scalar_type() == input.scalar_type();
}

std::optional<ThreeTensors> forward(const at::Tensor& input, const MaybeTensor& weight,
                                    const MaybeTensor& bias, int64_t batch, int64_t group_count,
                                    double eps) {
  const at::ScalarType dtype = parameter_dtype(input, weight, bias);
  if (dtype == at::ScalarType::Undefined) return std::nullopt;
  const Composition whole;
  const Groups groups(input, group_count);
  const auto moments = moments_of(groups.view(), groups.groups(), eps);
  at::Tensor out = empty_as(input, input.sizes());
  if (!moments.has_value() || !normalize(groups.view(), *moments, groups.spread(weight),
                                         groups.spread(bias), groups.viewed(out)))
    return std::nullopt;
  const auto packed = [&](const at::Tensor& tensor) {
    return tensor.reshape({batch, group_count}).to(dtype);
  };
  return ThreeTensors(std::move(out), packed(moments->mean), packed(moments->scale));
}

at::Tensor input_gradient(const Groups& groups, const at::Tensor& gradient, const at::Tensor& input,
                          const Moments& moments, const MaybeTensor& weight) {
  const at::Tensor factor = groups.spread(weight);
  const Reduced parts = groups.groups();
  const auto sums = gradient_sums(gradient, groups.view(), moments, factor, parts);
  at::Tensor out = empty_as(input, input.sizes());
  const bool is_done = sums.has_value() && input_gradient(gradient, groups.view(), moments, *sums,
                                                          {factor, /*is_of_part=*/false},
                                                          parts.count(), groups.viewed(out));
  return is_done ? out : at::Tensor();
}

std::optional<ThreeTensors> backward(const at::Tensor& gradient, const at::Tensor& input,
                                     const at::Tensor& mean, const at::Tensor& scale,
                                     const MaybeTensor& weight, int64_t group_count, Mask wanted) {
  const at::ScalarType dtype =
      is_there(weight) ? parameter_dtype(input, weight, {}) : mean.scalar_type();
  const at::DimVector sizes = {input.size(0), group_count};
  if (!is_dense(gradient, input.device(), input.scalar_type(), input.sizes()) ||
      !is_dense(mean, input.device(), dtype, sizes) ||
      !is_dense(scale, input.device(), dtype, sizes))
    return std::nullopt;
  const Composition whole;
  const Groups groups(input, group_count);
  const at::Tensor given = groups.viewed(gradient);
  const Moments moments = {groups.spread_groups(mean), groups.spread_groups(scale), {}};
  ThreeTensors result;
  if (wanted[0]) {
    std::get<0>(result) = input_gradient(groups, given, input, moments, weight);
    if (!std::get<0>(result).defined()) return std::nullopt;
  }
  if (wanted[1] || wanted[2]) {
    const auto sums = gradient_sums(given, groups.view(), moments, {}, groups.channels());
    if (!sums.has_value()) return std::nullopt;
    const auto packed = [&](const at::Tensor& tensor) {
      return tensor.reshape({input.size(1)}).to(dtype);
    };
    if (wanted[1]) std::get<1>(result) = packed(sums->normal);
    if (wanted[2]) std::get<2>(result) = packed(sums->plain);
  }
  return result;
}

/// The gradients of no samples: no element, and zeros.
ThreeTensors nothing(const at::Tensor& input, const at::Tensor& mean, const MaybeTensor& weight,
                     Mask wanted) {
  const Composition whole;
  const at::ScalarType dtype = is_there(weight) ? weight->scalar_type() : mean.scalar_type();
  const auto zeros = [&] {
    return empty_on(input.device().index(), {input.size(1)}, dtype).zero_();
  };
  return {wanted[0] ? empty_as(input, input.sizes()) : at::Tensor(),
          wanted[1] ? zeros() : at::Tensor(), wanted[2] ? zeros() : at::Tensor()};
}

ThreeTensors group_norm(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                        int64_t batch, int64_t channels, int64_t rest, int64_t groups, double eps) {
  using Op = at::_ops::native_group_norm;
  std::optional<ThreeTensors> served;
  if (is_served(input, batch, channels, rest, groups))
    served = forward(input, weight, bias, batch, groups, eps);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(input, weight, bias, batch,
                                                                      channels, rest, groups, eps);
}

ThreeTensors group_norm_backward(const at::Tensor& gradient, const at::Tensor& input,
                                 const at::Tensor& mean, const at::Tensor& scale,
                                 const MaybeTensor& weight, int64_t batch, int64_t channels,
                                 int64_t rest, int64_t groups, Mask wanted) {
  using Op = at::_ops::native_group_norm_backward;
  std::optional<ThreeTensors> served;
  if (is_empty(gradient, input) && are_plain({&input, &mean, &scale}) && input.size(1) == channels)
    served = nothing(input, mean, weight, wanted);
  else if (is_served(input, batch, channels, rest, groups))
    served = backward(gradient, input, mean, scale, weight, groups, wanted);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(
      gradient, input, mean, scale, weight, batch, channels, rest, groups, wanted);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_group_norm", group_norm);
  m.impl("native_group_norm_backward", group_norm_backward);
}

}  // namespace tbk::generic
