// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Batch norm, forward and backward: the elements of a channel are normalized, by their own moments or
// by running statistics.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_batch_norm_with_update_ops.h>
#include <ATen/ops/_native_batch_norm_legit_ops.h>
#include <ATen/ops/batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <generic/normalize.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using Mask = std::array<bool, 3>;
using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

constexpr int64_t kChannel = 1;

std::bitset<64> all_but_channels(const at::Tensor& input) {
  std::bitset<64> mask;
  for (int64_t d = 0; d < input.dim(); d++)
    mask.set(static_cast<size_t>(d), d != kChannel);
  return mask;
}

/// One call: the input by channels, and tensors of one number a channel.
class Channels {
 public:
  explicit Channels(const at::Tensor& input)
      : input_(input), parts_(input, all_but_channels(input)), dtype_(input.scalar_type()) {}

  /// Adds a tensor of the call, which may be missing. All have one dtype: the input's, or FLOAT32
  /// beside half precision. Returns whether that is so.
  bool add(const MaybeTensor& tensor) {
    if (!is_there(tensor)) return true;
    const at::ScalarType dtype = tensor->scalar_type();
    const bool is_first = !has_parameter_;
    if (is_first) dtype_ = dtype;
    has_parameter_ = true;
    const bool is_fit = dtype == input_.scalar_type() || dtype == computed();
    return is_fit && is_dense(*tensor, input_.device(), dtype_, {count()});
  }
  /// Returns such a tensor in the dtype that is computed in, as it broadcasts to the input; none of none.
  at::Tensor spread(const MaybeTensor& tensor) const {
    if (!is_there(tensor)) return {};
    at::DimVector sizes(static_cast<size_t>(input_.dim()), 1);
    sizes[kChannel] = count();
    return tensor->to(computed()).reshape(sizes);
  }
  /// Returns a result of one number a channel in the dtype of parameters.
  at::Tensor packed(const at::Tensor& tensor) const {
    return tensor.reshape({count()}).to(dtype_);
  }
  /// Returns what stands for moments that were not taken.
  at::Tensor nothing() const {
    return empty_on(input_.device().index(), {0}, dtype_);
  }

  int64_t count() const {
    return input_.size(kChannel);
  }
  at::ScalarType computed() const {
    return computed_in(input_.scalar_type());
  }
  const Reduced& parts() const {
    return parts_;
  }

 private:
  const at::Tensor& input_;
  Reduced parts_;
  at::ScalarType dtype_;
  bool has_parameter_ = false;
};

/// value + (now - value) * momentum of both, which stand in one launch: it is all or nothing.
const Program* running_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kRunning, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    const Value keep = b.number(inner);
    for (int i = 0; i < 2; i++) {
      const Value old = b.cast(b.input(dtype), inner), now = b.input(inner);
      const Value kept = b.apply(TBK_OPCODE_MUL, {old, keep});
      const Value added = b.apply(TBK_OPCODE_MUL, {now, b.number(inner)});
      b.result(b.cast(b.apply(TBK_OPCODE_ADD, {kept, added}), dtype));
    }
  });
}

/// The running variance is of a sample: its divisor is the count less one.
bool update_running(const at::Tensor& mean, const at::Tensor& variance, const Moments& moments,
                    double momentum, int64_t count) {
  const Program* program = running_program(mean.scalar_type());
  const at::Tensor now_mean = moments.mean.reshape(mean.sizes()),
                   now_variance = moments.variance.reshape(mean.sizes());
  Launch launch(mean.device().index(), mean.sizes());
  launch.output(mean, mean.strides());
  launch.output(variance, variance.strides());
  for (const at::Tensor* input : {&mean, &now_mean, &variance, &now_variance})
    launch.input(*input, input->strides());
  const auto all = static_cast<double>(count);
  const at::ScalarType inner = computed_in(mean.scalar_type());
  for (const double number : {1 - momentum, momentum, momentum * (all / (all - 1))})
    launch.number(bits_in(inner, number));
  return launch.pointwise(*program);
}

struct Running {
  const MaybeTensor& mean;
  const MaybeTensor& variance;
  bool is_whole() const {
    return is_there(mean) && is_there(variance);
  }
  bool is_half() const {
    return is_there(mean) != is_there(variance);
  }
};

bool is_served(Channels& channels, const Running& running,
               std::initializer_list<const MaybeTensor*> others) {
  for (const MaybeTensor* each : others)
    if (!channels.add(*each)) return false;
  return channels.add(running.mean) && channels.add(running.variance) && !running.is_half();
}

/// Only an update is an effect: it comes last.
std::optional<ThreeTensors> forward(const at::Tensor& input, const MaybeTensor& weight,
                                    const MaybeTensor& bias, const Running& running, bool training,
                                    double momentum, double eps) {
  if (!is_normalizable(input) || input.dim() < 2) return std::nullopt;
  Channels channels(input);
  if (!is_served(channels, running, {&weight, &bias})) return std::nullopt;
  if (!training && !running.is_whole()) return std::nullopt;
  const Composition whole;
  std::optional<Moments> moments;
  if (training) {
    moments = moments_of(input, channels.parts(), eps);
  } else {
    const at::Tensor variance = channels.spread(running.variance);
    moments = {channels.spread(running.mean), scale_of(variance, eps), variance};
  }
  if (!moments.has_value() || !moments->scale.defined()) return std::nullopt;
  const at::Tensor out = empty_as(input, input.sizes());
  if (!normalize(input, *moments, channels.spread(weight), channels.spread(bias), out))
    return std::nullopt;
  if (training && running.is_whole() &&
      !update_running(*running.mean, *running.variance, *moments, momentum,
                      channels.parts().count()))
    return std::nullopt;
  if (!training) return ThreeTensors(out, channels.nothing(), channels.nothing());
  return ThreeTensors(out, channels.packed(moments->mean), channels.packed(moments->scale));
}

std::optional<Moments> saved_moments(const Channels& channels, const Running& running,
                                     const MaybeTensor& mean, const MaybeTensor& scale,
                                     bool training, double eps) {
  if (training) {
    if (!is_there(mean) || !is_there(scale)) return std::nullopt;
    return Moments{channels.spread(mean), channels.spread(scale), {}};
  }
  if (!running.is_whole()) return std::nullopt;
  const at::Tensor made = scale_of(channels.spread(running.variance), eps);
  if (!made.defined()) return std::nullopt;
  return Moments{channels.spread(running.mean), made, {}};
}

std::optional<ThreeTensors> backward(const at::Tensor& gradient, const at::Tensor& input,
                                     const MaybeTensor& weight, const Running& running,
                                     const MaybeTensor& mean, const MaybeTensor& scale,
                                     bool training, double eps, Mask wanted) {
  if (!is_normalizable(input) || input.dim() < 2 ||
      !is_dense(gradient, input.device(), input.scalar_type(), input.sizes()))
    return std::nullopt;
  Channels channels(input);
  if (!is_served(channels, running, {&weight})) return std::nullopt;
  if (training && !(channels.add(mean) && channels.add(scale))) return std::nullopt;
  const Composition whole;
  const auto moments = saved_moments(channels, running, mean, scale, training, eps);
  if (!moments.has_value()) return std::nullopt;
  const auto sums = gradient_sums(gradient, input, *moments, {}, channels.parts());
  if (!sums.has_value()) return std::nullopt;
  ThreeTensors result;
  if (wanted[0]) {
    std::get<0>(result) = empty_as(input, input.sizes());
    const at::Tensor factor = channels.spread(weight);
    const bool is_done =
        training ? input_gradient(gradient, input, *moments, *sums, {factor, /*is_of_part=*/true},
                                  channels.parts().count(), std::get<0>(result))
                 : scaled_gradient(gradient, moments->scale, factor, std::get<0>(result));
    if (!is_done) return std::nullopt;
  }
  if (wanted[1]) std::get<1>(result) = channels.packed(sums->normal);
  if (wanted[2]) std::get<2>(result) = channels.packed(sums->plain);
  return result;
}

ThreeTensors batch_norm(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                        const MaybeTensor& running_mean, const MaybeTensor& running_variance,
                        bool training, double momentum, double eps) {
  using Op = at::_ops::native_batch_norm;
  auto served =
      forward(input, weight, bias, {running_mean, running_variance}, training, momentum, eps);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      input, weight, bias, running_mean, running_variance, training, momentum, eps);
}

ThreeTensors batch_norm_legit(const at::Tensor& input, const MaybeTensor& weight,
                              const MaybeTensor& bias, at::Tensor& running_mean,
                              at::Tensor& running_variance, bool training, double momentum,
                              double eps) {
  using Op = at::_ops::_native_batch_norm_legit;
  const MaybeTensor mean = running_mean, variance = running_variance;
  auto served = forward(input, weight, bias, {mean, variance}, training, momentum, eps);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      input, weight, bias, running_mean, running_variance, training, momentum, eps);
}

ThreeTensors batch_norm_without_statistics(const at::Tensor& input, const MaybeTensor& weight,
                                           const MaybeTensor& bias, bool training, double momentum,
                                           double eps) {
  using Op = at::_ops::_native_batch_norm_legit_no_stats;
  auto served = forward(input, weight, bias, {std::nullopt, std::nullopt}, training, momentum, eps);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(input, weight, bias, training,
                                                               momentum, eps);
}

/// The fourth result is for libraries that keep something for the gradient.
FourTensors batch_norm_with_update(const at::Tensor& input, const MaybeTensor& weight,
                                   const MaybeTensor& bias, at::Tensor& running_mean,
                                   at::Tensor& running_variance, double momentum, double eps) {
  using Op = at::_ops::_batch_norm_with_update;
  const MaybeTensor mean = running_mean, variance = running_variance;
  auto served = forward(input, weight, bias, {mean, variance}, true, momentum, eps);
  if (count_composed<Op>(served.has_value(), input))
    return std::tuple_cat(std::move(*served),
                          std::make_tuple(empty_on(input.device().index(), {0}, at::kByte)));
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(input, weight, bias, running_mean,
                                                               running_variance, momentum, eps);
}

ThreeTensors native_batch_norm_backward(const at::Tensor& gradient, const at::Tensor& input,
                                        const MaybeTensor& weight, const MaybeTensor& running_mean,
                                        const MaybeTensor& running_variance,
                                        const MaybeTensor& mean, const MaybeTensor& scale,
                                        bool training, double eps, Mask wanted) {
  using Op = at::_ops::native_batch_norm_backward;
  auto served = backward(gradient, input, weight, {running_mean, running_variance}, mean, scale,
                         training, eps, wanted);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
      gradient, input, weight, running_mean, running_variance, mean, scale, training, eps, wanted);
}

ThreeTensors batch_norm_backward(const at::Tensor& gradient, const at::Tensor& input,
                                 const at::Tensor& weight, const MaybeTensor& running_mean,
                                 const MaybeTensor& running_variance, const MaybeTensor& mean,
                                 const MaybeTensor& scale, bool update, double eps, Mask wanted,
                                 const at::Tensor& reserve) {
  using Op = at::_ops::batch_norm_backward;
  auto served = backward(gradient, input, weight, {running_mean, running_variance}, mean, scale,
                         update, eps, wanted);
  if (count_composed<Op>(served.has_value(), input)) return std::move(*served);
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(gradient, input, weight,
                                                               running_mean, running_variance, mean,
                                                               scale, update, eps, wanted, reserve);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_batch_norm", batch_norm);
  m.impl("_native_batch_norm_legit", batch_norm_legit);
  m.impl("_native_batch_norm_legit.no_stats", batch_norm_without_statistics);
  m.impl("_batch_norm_with_update", batch_norm_with_update);
  m.impl("native_batch_norm_backward", native_batch_norm_backward);
  m.impl("batch_norm_backward", batch_norm_backward);
}

}  // namespace tbk::generic
