// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What nn.MultiheadAttention and nn.TransformerEncoderLayer call when they do not learn: PyTorch's own
// compositions, whose two parts with kernels of the CPU's are compositions here.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_masked_softmax_ops.h>
#include <ATen/ops/_native_multi_head_attention_native.h>
#include <ATen/ops/_native_multi_head_attention_ops.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_transform_bias_rescale_qkv_ops.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_native.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_ops.h>
#include <ATen/ops/add.h>
#include <ATen/ops/where.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <generic/matmul.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

namespace tbk::generic {
namespace {

using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Whether all that it is made of is there: programs, reductions and products.
bool is_composed(const at::Tensor& tensor) {
  if (!is_open(Route::composed) || !is_ours(tensor) || tensor.layout() != at::kStrided ||
      !at::isFloatingType(tensor.scalar_type()))
    return false;
  const c10::DeviceIndex device = tensor.device().index();
  return offers_pointwise(device) && offers_reduce(device) &&
         offers_matmul(device, tensor.scalar_type());
}

/// Adds the bias, and puts heads before places: [batch, place, 3 * head * n] to three of [batch, head, place, n], of
/// which the first is scaled.
Three transform_bias_rescale_qkv(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads) {
  using Op = at::_ops::_transform_bias_rescale_qkv;
  if (!is_composed(qkv) || qkv.dim() != 3 || heads < 1 || qkv.size(2) % (3 * heads) != 0 ||
      bias.scalar_type() != qkv.scalar_type() || bias.sizes() != qkv.sizes().slice(2))
    return at::native::call_fallback_fn<&cpu_fallback, Op>::call(qkv, bias, heads);
  const Composition whole;
  const int64_t width = qkv.size(2) / (3 * heads);
  const at::Tensor split = at::add(qkv, bias)
                               .view({qkv.size(0), qkv.size(1), 3, heads, width})
                               .permute({2, 0, 3, 1, 4})
                               .contiguous();
  at::Tensor query = split.select(0, 0);
  query.mul_(1 / std::sqrt(static_cast<double>(width)));
  count_served<Op>(Route::composed, qkv);
  return Three(std::move(query), split.select(0, 1), split.select(0, 2));
}

/// `mask` broadcast over the scores [batch, head, place, place]: what it is of, mask_type says. Not defined where
/// PyTorch would raise, or where it is no mask of scores.
at::Tensor mask_of_scores(const at::Tensor& scores, const at::Tensor& mask,
                          std::optional<int64_t> type) {
  enum : int64_t { kOfPlaces = 0, kOfPadding = 1, kWhole = 2 };
  if (mask.scalar_type() != at::kBool || mask.device() != scores.device()) return at::Tensor();
  if (type == kWhole) return mask.sizes() == scores.sizes() ? mask : at::Tensor();
  if (scores.dim() != 4 || mask.dim() != 2) return at::Tensor();
  const int64_t first = type == kOfPlaces ? scores.size(2) : scores.size(0);
  if (mask.size(0) != first || mask.size(1) != scores.size(3)) return at::Tensor();
  if (type == kOfPlaces) return mask;
  return type == kOfPadding ? mask.unsqueeze(1).unsqueeze(1) : at::Tensor();
}

at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& mask,
                          std::optional<int64_t> dim, std::optional<int64_t> type) {
  using Op = at::_ops::_masked_softmax;
  const at::Tensor hidden = is_composed(scores) ? mask_of_scores(scores, mask, type) : at::Tensor();
  if (!hidden.defined() || !dim.has_value())
    return at::native::call_fallback_fn<&cpu_fallback, Op>::call(scores, mask, dim, type);
  const Composition whole;
  const double lowest = -std::numeric_limits<double>::infinity();
  at::Tensor result = at::_softmax(at::where(hidden, lowest, scores), *dim, false);
  count_served<Op>(Route::composed, scores);
  return result;
}

std::tuple<at::Tensor, at::Tensor> multi_head_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t embed_dim,
    int64_t heads, const at::Tensor& qkv_weight, const at::Tensor& qkv_bias,
    const at::Tensor& proj_weight, const at::Tensor& proj_bias,
    const std::optional<at::Tensor>& mask, bool need_weights, bool average_weights,
    std::optional<int64_t> mask_type) {
  using Op = at::_ops::_native_multi_head_attention;
  if (!is_composed(query))
    return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
        query, key, value, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
        need_weights, average_weights, mask_type);
  const Composition whole;
  auto result = at::native::native_multi_head_attention_cpu(
      query, key, value, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
      need_weights, average_weights, mask_type);
  count_served<Op>(Route::composed, query);
  return result;
}

at::Tensor encoder_layer(const at::Tensor& src, int64_t embed_dim, int64_t heads,
                         const at::Tensor& qkv_weight, const at::Tensor& qkv_bias,
                         const at::Tensor& proj_weight, const at::Tensor& proj_bias, bool use_gelu,
                         bool norm_first, double eps, const at::Tensor& norm_weight_1,
                         const at::Tensor& norm_bias_1, const at::Tensor& norm_weight_2,
                         const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1,
                         const at::Tensor& ffn_bias_1, const at::Tensor& ffn_weight_2,
                         const at::Tensor& ffn_bias_2, const std::optional<at::Tensor>& mask,
                         std::optional<int64_t> mask_type) {
  using Op = at::_ops::_transformer_encoder_layer_fwd;
  if (!is_composed(src))
    return at::native::call_fallback_fn<&cpu_fallback, Op>::call(
        src, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
        eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
        ffn_weight_2, ffn_bias_2, mask, mask_type);
  const Composition whole;
  at::Tensor result = at::native::transformer_encoder_layer_forward(
      src, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
      eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
      ffn_weight_2, ffn_bias_2, mask, mask_type);
  count_served<Op>(Route::composed, src);
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_transform_bias_rescale_qkv", transform_bias_rescale_qkv);
  m.impl("_masked_softmax", masked_softmax);
  m.impl("_native_multi_head_attention", multi_head_attention);
  m.impl("_transformer_encoder_layer_fwd", encoder_layer);
}

}  // namespace tbk::generic
