// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/native/ConvUtils.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <aten/optional.h>
#include <generic/composition.h>
#include <generic/convolution.h>
#include <tbk/tbk_convolution.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tbk::generic {
namespace {

constinit Kernel convolution_kernel(TBK_NAME_convolution, TBK_VERSION_convolution);

using PlanNumbers = c10::SmallVector<int64_t, 16>;
using Sizes = std::vector<int64_t>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// One convolution in the kernel's terms: of a transposed one PyTorch's input is what the kernel calls output.
struct Operands {
  const at::Tensor &input, &weight, &output;
  const at::Tensor* bias;  ///< NULL: none.
};

bool are_at_least(at::IntArrayRef numbers, size_t count, int64_t least) {
  return numbers.size() == count &&
         std::all_of(numbers.begin(), numbers.end(), [=](int64_t each) { return each >= least; });
}

bool are_numbers_right(const Window& window, size_t count) {
  if (!are_at_least(window.stride, count, 1) || !are_at_least(window.padding, count, 0) ||
      !are_at_least(window.dilation, count, 1) || window.groups < 1)
    return false;
  if (!window.transposed) return true;
  if (!are_at_least(window.output_padding, count, 0)) return false;
  for (size_t d = 0; d < count; d++)
    if (window.output_padding[d] >= std::max(window.stride[d], window.dilation[d])) return false;
  return true;
}

bool are_channels_right(const at::Tensor& input, const at::Tensor& weight, const Window& window) {
  const int64_t outer = weight.size(0), inner = weight.size(1) * window.groups;
  return outer % window.groups == 0 && input.size(1) == (window.transposed ? outer : inner);
}

/// The result's sizes; none where PyTorch would raise: a window must fit into what is padded.
Sizes result_sizes(const at::Tensor& input, const at::Tensor& weight, const Window& window) {
  const auto count = static_cast<size_t>(std::max<int64_t>(input.dim() - 2, 0));
  if (count < 1 || count > TBK_CONVOLUTION_MOST_SPATIAL || weight.dim() != input.dim() ||
      weight.numel() == 0 || !are_numbers_right(window, count) ||
      !are_channels_right(input, weight, window))
    return {};
  if (window.transposed) {
    Sizes sizes = at::native::conv_input_size(input.sizes(), weight.sizes(), window.padding,
                                              window.output_padding, window.stride, window.dilation,
                                              window.groups);
    return are_at_least(at::IntArrayRef(sizes).slice(2), count, 1) ? sizes : Sizes();
  }
  for (size_t d = 0; d < count; d++) {
    const int64_t extent = window.dilation[d] * (weight.sizes()[d + 2] - 1) + 1;
    if (input.sizes()[d + 2] + 2 * window.padding[d] < extent) return {};
  }
  return at::native::conv_output_size(input.sizes(), weight.sizes(), window.padding, window.stride,
                                      window.dilation);
}

/// What PyTorch's CPU convolves. Of integers it makes no gradients, and of narrow ones only what is neither
/// transposed nor dilated.
bool is_convolved(at::ScalarType dtype, const Window& window, bool is_forward) {
  switch (dtype) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
      return true;
    case at::kLong:
      return is_forward;
    case at::kByte:
    case at::kChar:
    case at::kShort:
    case at::kInt:
      return is_forward && !window.transposed &&
             std::all_of(window.dilation.begin(), window.dilation.end(),
                         [](int64_t each) { return each == 1; });
    default:
      return false;
  }
}

bool is_served(const at::Tensor& input, const at::Tensor& weight, const Window& window,
               bool is_forward) {
  return is_ours(input) && is_plain_beside(input, input) && is_plain_beside(weight, input) &&
         is_convolved(input.scalar_type(), window, is_forward) &&
         offers(convolution_kernel, input.device().index(), input.scalar_type());
}

/// The memory format of results and of gradients, as on PyTorch's CPU: channels last where input or weight is
/// so; of three dimensions only for dtypes that its library takes so.
at::MemoryFormat format_of(const at::Tensor& input, const at::Tensor& weight) {
  const at::ScalarType dtype = input.scalar_type();
  if (input.dim() == 5 && dtype != at::kFloat && dtype != at::kBFloat16)
    return at::MemoryFormat::Contiguous;
  const at::MemoryFormat format = input.suggest_memory_format();
  return format != at::MemoryFormat::Contiguous ? format : weight.suggest_memory_format();
}

at::Tensor new_result(const at::Tensor& like, at::IntArrayRef sizes, at::MemoryFormat format) {
  at::Tensor result = empty_on(like.device().index(), sizes, like.scalar_type());
  if (format != at::MemoryFormat::Contiguous)
    result.unsafeGetTensorImpl()->empty_tensor_restride(format);
  return result;
}

/// How wide indices are: for the offsets, and for places in what is padded.
int64_t width_of(c10::ArrayRef<const tbk_tensor_t*> tensors, const Operands& operands,
                 const Window& window) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (size_t d = 0; d < window.stride.size(); d++) {
    const int64_t x = operands.input.sizes()[d + 2], y = operands.output.sizes()[d + 2],
                  k = operands.weight.sizes()[d + 2];
    const double last = static_cast<double>(y) * static_cast<double>(window.stride[d]) +
                        static_cast<double>(k) * static_cast<double>(window.dilation[d]);
    if (last > most || window.padding[d] > most - x) return 64;
  }
  return index_bits_of(tensors);
}

/// What a plan depends on, besides the tensors.
PlanNumbers plan_numbers(int64_t mode, const Window& window, bool has_bias, int64_t index_bits) {
  PlanNumbers numbers = {mode, window.groups, has_bias, index_bits};
  for (const at::IntArrayRef list : {window.stride, window.padding, window.dilation})
    numbers.append(list.begin(), list.end());
  return numbers;
}

/// Writes one of `operands`, which `mode` names, from the others.
bool launch_mode(int64_t mode, const Operands& operands, const Window& window) {
  const at::Tensor* all[] = {&operands.output, &operands.input, &operands.weight};
  const at::Tensor& written = *all[mode];
  if (written.numel() == 0) return true;
  const auto described = [&](const at::Tensor& tensor) {
    return &tensor == &written ? describe(tensor) : describe_input(tensor);
  };
  const tbk_tensor_t input = described(operands.input), weight = described(operands.weight),
                     output = described(operands.output);
  tbk_tensor_t bias;
  c10::SmallVector<const tbk_tensor_t*, 4> tensors = {&input, &weight, &output};
  if (operands.bias != nullptr) {
    bias = describe_input(*operands.bias);
    tensors.push_back(&bias);
  }
  const int64_t bits = width_of(tensors, operands, window);
  const tbk_args_convolution_t arguments = {sizeof arguments,
                                            mode,
                                            &input,
                                            &weight,
                                            &output,
                                            operands.bias != nullptr ? &bias : nullptr,
                                            window.stride.data(),
                                            window.padding.data(),
                                            window.dilation.data(),
                                            window.groups,
                                            bits};
  return launch(convolution_kernel, written.device().index(), &arguments, tensors,
                plan_numbers(mode, window, operands.bias != nullptr, bits));
}

bool takes_bias(const at::Tensor* bias, const at::Tensor& input, int64_t channels) {
  return bias == nullptr ||
         (is_plain_beside(*bias, input) && bias->dim() == 1 && bias->size(0) == channels);
}

at::Tensor input_gradient(const at::Tensor& gradient, const at::Tensor& input,
                          const at::Tensor& weight, const Window& window) {
  at::Tensor made = new_result(input, input.sizes(), format_of(input, weight));
  const bool is_done =
      window.transposed
          ? launch_mode(TBK_CONVOLUTION_OUTPUT, {gradient, weight, made, nullptr}, window)
          : launch_mode(TBK_CONVOLUTION_INPUT, {made, weight, gradient, nullptr}, window);
  return is_done ? made : at::Tensor();
}

at::Tensor weight_gradient(const at::Tensor& gradient, const at::Tensor& input,
                           const at::Tensor& weight, const Window& window) {
  at::Tensor made = new_result(input, weight.sizes(), format_of(input, weight));
  const Operands operands = window.transposed ? Operands{gradient, made, input, nullptr}
                                              : Operands{input, made, gradient, nullptr};
  return launch_mode(TBK_CONVOLUTION_WEIGHT, operands, window) ? made : at::Tensor();
}

at::Tensor bias_gradient(const at::Tensor& gradient) {
  std::bitset<64> mask;
  for (size_t d = 0; d < static_cast<size_t>(gradient.dim()); d++)
    mask.set(d, d != 1);
  const Reduced reduced(gradient, mask);
  const at::ScalarType dtype = gradient.scalar_type();
  const Reduction* sum = reduction_of(Recipe::kSum, dtype, dtype, dtype);
  at::Tensor made = empty_on(gradient.device().index(), reduced.sizes(/*keepdim=*/true), dtype);
  if (made.numel() == 0) return made.view({0});
  const bool is_done = sum != nullptr && run_reduction(*sum, reduced, {&made}, {&gradient});
  return is_done ? made.view({made.numel()}) : at::Tensor();
}

}  // namespace

std::optional<at::Tensor> convolve(const at::Tensor& input, const at::Tensor& weight,
                                   const std::optional<at::Tensor>& bias, const Window& window) {
  if (!is_open(Route::generic) || !is_served(input, weight, window, /*is_forward=*/true))
    return std::nullopt;
  const Sizes sizes = result_sizes(input, weight, window);
  const at::Tensor* added = is_there(bias) ? &*bias : nullptr;
  if (sizes.empty() || !takes_bias(added, input, sizes[1])) return std::nullopt;
  at::Tensor made = new_result(input, sizes, format_of(input, weight));
  const bool is_done =
      window.transposed ? launch_mode(TBK_CONVOLUTION_INPUT, {made, weight, input, added}, window)
                        : launch_mode(TBK_CONVOLUTION_OUTPUT, {input, weight, made, added}, window);
  if (!is_done) return std::nullopt;
  return made;
}

std::optional<Three> convolve_backward(const at::Tensor& gradient, const at::Tensor& input,
                                       const at::Tensor& weight, const Window& window,
                                       std::array<bool, 3> wanted) {
  if (!is_open(Route::composed) || !is_served(input, weight, window, /*is_forward=*/false) ||
      !is_plain_beside(gradient, input) || !offers_reduce(input.device().index()))
    return std::nullopt;
  const Sizes sizes = result_sizes(input, weight, window);
  if (sizes.empty() || gradient.sizes() != sizes) return std::nullopt;
  const Composition whole;
  std::array<at::Tensor, 3> made;
  if (wanted[0]) made[0] = input_gradient(gradient, input, weight, window);
  if (wanted[1]) made[1] = weight_gradient(gradient, input, weight, window);
  if (wanted[2]) made[2] = bias_gradient(gradient);
  for (size_t i = 0; i < made.size(); i++)
    if (wanted[i] && !made[i].defined()) return std::nullopt;
  return Three(std::move(made[0]), std::move(made[1]), std::move(made[2]));
}

}  // namespace tbk::generic
