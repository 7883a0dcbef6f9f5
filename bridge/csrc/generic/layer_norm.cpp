// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// native_layer_norm, forward and backward: reductions, then programs.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/optional.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <torch/library.h>

#include <array>
#include <utility>

namespace tbk::generic {
namespace {

using Maybe = std::optional<at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Mask = std::array<bool, 3>;

/// One call: rows, whose elements are normalized, and what both passes need to know of them.
class Rows {
 public:
  Rows(const at::Tensor& input, c10::SymIntArrayRef shape)
      : input_(input), shape_(C10_AS_INTARRAYREF_SLOW(shape).vec()) {}

  /// Whether `tensor` is a dense one of the input's device and dtype, with these sizes.
  bool fits(const at::Tensor& tensor, c10::IntArrayRef sizes) const {
    return is_ours(tensor) && tensor.device() == input_.device() &&
           tensor.layout() == at::kStrided && !tensor.is_neg() &&
           tensor.scalar_type() == input_.scalar_type() && tensor.sizes() == sizes;
  }
  /// What PyTorch raises for, or computes in two dtypes, is not served.
  bool is_served(const Maybe& weight, const Maybe& bias) const {
    const int64_t rank = input_.dim(), inner = static_cast<int64_t>(shape_.size());
    return is_open(Route::composed) && is_ours(input_) && input_.layout() == at::kStrided &&
           !input_.is_neg() && at::isFloatingType(dtype()) && inner > 0 && inner < rank &&
           rank <= 64 && input_.numel() > 0 &&
           input_.sizes().slice(static_cast<size_t>(rank - inner)) == shape_ &&
           (!is_there(weight) || fits(*weight, shape_)) &&
           (!is_there(bias) || fits(*bias, shape_)) && offers_reduce(device()) &&
           offers_pointwise(device());
  }
  at::ScalarType dtype() const {
    return input_.scalar_type();
  }
  at::ScalarType computed() const {
    return computed_in(dtype());
  }
  c10::DeviceIndex device() const {
    return input_.device().index();
  }
  const std::vector<int64_t>& shape() const {
    return shape_;
  }
  /// Returns what is left where the elements of a row become one, or all rows do.
  Reduced of_rows() const {
    return Reduced(input_, mask(true));
  }
  Reduced of_columns() const {
    return Reduced(input_, mask(false));
  }

 private:
  std::bitset<64> mask(bool inner) const {
    std::bitset<64> result;
    const size_t rank = static_cast<size_t>(input_.dim()), outer = rank - shape_.size();
    for (size_t d = 0; d < rank; d++)
      result.set(d, (d >= outer) == inner);
    return result;
  }

  const at::Tensor& input_;
  std::vector<int64_t> shape_;
};

/// Runs a program that gives a new tensor; not defined where the backend refuses.
at::Tensor computed(const Program& program, const Rows& rows, c10::IntArrayRef sizes,
                    at::ScalarType dtype, c10::ArrayRef<const at::Tensor*> inputs) {
  at::Tensor out = empty_on(rows.device(), sizes, dtype);
  return run_program(program, out, inputs) ? out : at::Tensor();
}

enum LayerNormForm { kRowWeight = 1, kRowBias = 2 };

const Program* forward_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kLayerNorm, dtype, dtype, form}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    const Value x = b.cast(b.input(dtype), inner), mean = b.input(inner), scale = b.input(inner);
    Value result = b.apply(TBK_OPCODE_MUL, {b.apply(TBK_OPCODE_SUB, {x, mean}), scale});
    if (form & kRowWeight)
      result = b.apply(TBK_OPCODE_MUL, {result, b.cast(b.input(dtype), inner)});
    if (form & kRowBias) result = b.apply(TBK_OPCODE_ADD, {result, b.cast(b.input(dtype), inner)});
    b.result(b.cast(result, dtype));
  });
}

/// Computes the mean of each row and 1 / root of (variance + eps), in two launches of one state: deviations from
/// a mean that is known cost a third of what combining means does.
bool find_moments(const at::Tensor& input, const Reduced& rows, double eps, const at::Tensor& mean,
                  const at::Tensor& scale) {
  const at::ScalarType dtype = input.scalar_type(), inner = computed_in(dtype);
  const double count = static_cast<double>(rows.count());
  const Reduction* first = reduction_of(Recipe::kMean, dtype, dtype, inner);
  const Reduction* second = reduction_of(Recipe::kScale, dtype, dtype, inner);
  const at::Tensor taken = mean.expand(input.sizes());
  return first != nullptr && second != nullptr &&
         run_reduction(*first, rows, {&mean}, {&input}, {count}) &&
         run_reduction(*second, rows, {&scale}, {&input, &taken}, {count, eps});
}

std::optional<Three> forward(const at::Tensor& input, c10::SymIntArrayRef shape,
                             const Maybe& weight, const Maybe& bias, double eps) {
  const Rows rows(input, shape);
  if (!rows.is_served(weight, bias)) return std::nullopt;
  const Composition whole;
  const Reduced reduced = rows.of_rows();
  const at::DimVector sizes = reduced.sizes(/*keepdim=*/true);
  const at::Tensor mean = empty_on(rows.device(), sizes, rows.computed()),
                   scale = empty_on(rows.device(), sizes, rows.computed());
  if (!find_moments(input, reduced, eps, mean, scale)) return std::nullopt;
  c10::SmallVector<const at::Tensor*, 5> inputs = {&input, &mean, &scale};
  if (is_there(weight)) inputs.push_back(&*weight);
  if (is_there(bias)) inputs.push_back(&*bias);
  const int form = (is_there(weight) ? kRowWeight : 0) | (is_there(bias) ? kRowBias : 0);
  at::Tensor out =
      computed(*forward_program(rows.dtype(), form), rows, input.sizes(), rows.dtype(), inputs);
  if (!out.defined()) return std::nullopt;
  return Three(std::move(out), mean.to(rows.dtype()), scale.to(rows.dtype()));
}

/// What each element is multiplied by: the gradient, and with a weight that too.
const Program* weighed_program(at::ScalarType dtype, bool has_weight) {
  return program_by_key(
      {Formulas::kLayerNormWeighed, dtype, dtype, has_weight}, [&](ProgramBuilder& b) {
        const at::ScalarType inner = computed_in(dtype);
        Value result = b.cast(b.input(dtype), inner);
        if (has_weight) result = b.apply(TBK_OPCODE_MUL, {result, b.cast(b.input(dtype), inner)});
        b.result(result);
      });
}

const Program* normalized_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kLayerNormNormal, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    const auto input = [&] { return b.cast(b.input(dtype), inner); };
    const Value x = input(), mean = input(), scale = input();
    b.result(b.apply(TBK_OPCODE_MUL, {b.apply(TBK_OPCODE_SUB, {x, mean}), scale}));
  });
}

/// scale * (weighed - (sum + normal * dot) / count)
const Program* backward_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kLayerNormBackward, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    const Value weighed = b.input(inner), normal = b.input(inner), sum = b.input(inner),
                dot = b.input(inner), scale = b.cast(b.input(dtype), inner);
    const Value all = b.apply(TBK_OPCODE_ADD, {sum, b.apply(TBK_OPCODE_MUL, {normal, dot})});
    const Value part = b.apply(TBK_OPCODE_DIV, {all, b.number(inner)});
    const Value left = b.apply(TBK_OPCODE_SUB, {weighed, part});
    b.result(b.cast(b.apply(TBK_OPCODE_MUL, {scale, left}), dtype));
  });
}

/// The sum of products, or of the first alone, in what is left of `reduced`; not defined where refused.
at::Tensor summed(const Rows& rows, const Reduced& reduced, at::ScalarType out,
                  c10::ArrayRef<const at::Tensor*> inputs) {
  const Recipe recipe = inputs.size() == 2 ? Recipe::kDot : Recipe::kSum;
  const Reduction* reduction = reduction_of(recipe, rows.computed(), rows.computed(), out);
  at::Tensor sum = empty_on(rows.device(), reduced.sizes(/*keepdim=*/true), out);
  const bool is_done = reduction != nullptr && run_reduction(*reduction, reduced, {&sum}, inputs);
  return is_done ? sum : at::Tensor();
}

/// The gradient of the input, from what both sums are made of.
at::Tensor input_gradient(const Rows& rows, const at::Tensor& weighed, const at::Tensor& normal,
                          const at::Tensor& scale) {
  const Reduced reduced = rows.of_rows();
  const at::Tensor sum = summed(rows, reduced, rows.computed(), {&weighed}),
                   dot = summed(rows, reduced, rows.computed(), {&weighed, &normal});
  if (!sum.defined() || !dot.defined()) return at::Tensor();
  at::Tensor out = empty_on(rows.device(), weighed.sizes(), rows.dtype());
  const bool is_done =
      run_program(*backward_program(rows.dtype()), out, {&weighed, &normal, &sum, &dot, &scale},
                  {static_cast<double>(reduced.count())});
  return is_done ? out : at::Tensor();
}

/// The gradients of no rows: no element, and zeros.
std::optional<Three> nothing(const at::Tensor& gradient, const at::Tensor& input,
                             c10::SymIntArrayRef shape, const Maybe& weight, const Maybe& bias,
                             Mask wanted) {
  if (!is_open(Route::composed) || !is_ours(input) || input.sizes() != gradient.sizes() ||
      !at::isFloatingType(input.scalar_type()) || input.scalar_type() != gradient.scalar_type())
    return std::nullopt;
  const Rows rows(input, shape);
  const auto zeros = [&](c10::IntArrayRef sizes) {
    return empty_on(rows.device(), sizes, rows.dtype()).zero_();
  };
  Three found;
  if (wanted[0]) std::get<0>(found) = zeros(input.sizes());
  if (wanted[1] && is_there(weight)) std::get<1>(found) = zeros(weight->sizes());
  if (wanted[2] && is_there(bias)) std::get<2>(found) = zeros(bias->sizes());
  return found;
}

/// Gradients that are asked for; nothing where the backend refuses one of them.
std::optional<Three> backward(const at::Tensor& gradient, const at::Tensor& input,
                              c10::SymIntArrayRef shape, const at::Tensor& mean,
                              const at::Tensor& scale, const Maybe& weight, const Maybe& bias,
                              Mask wanted) {
  if (is_ours(input) && input.numel() == 0)
    return nothing(gradient, input, shape, weight, bias, wanted);
  const Rows rows(input, shape);
  if (!rows.is_served(weight, bias) || !rows.fits(gradient, input.sizes())) return std::nullopt;
  const at::DimVector sizes = rows.of_rows().sizes(/*keepdim=*/true);
  if (!rows.fits(mean, sizes) || !rows.fits(scale, sizes)) return std::nullopt;
  const Composition whole;
  const auto temporary = [&](const Program& program, c10::ArrayRef<const at::Tensor*> inputs) {
    return computed(program, rows, input.sizes(), rows.computed(), inputs);
  };
  const bool has_weight = is_there(weight);
  const at::Tensor plain = temporary(*weighed_program(rows.dtype(), false), {&gradient}),
                   normal = temporary(*normalized_program(rows.dtype()), {&input, &mean, &scale});
  const at::Tensor weighed =
      has_weight ? temporary(*weighed_program(rows.dtype(), true), {&gradient, &*weight}) : plain;
  if (!plain.defined() || !normal.defined() || !weighed.defined()) return std::nullopt;
  std::array<at::Tensor, 3> found;
  if (wanted[0]) found[0] = input_gradient(rows, weighed, normal, scale);
  if (wanted[1] && has_weight)
    found[1] = summed(rows, rows.of_columns(), rows.dtype(), {&plain, &normal});
  if (wanted[2] && is_there(bias))
    found[2] = summed(rows, rows.of_columns(), rows.dtype(), {&plain});
  const bool asked[] = {wanted[0], wanted[1] && has_weight, wanted[2] && is_there(bias)};
  for (size_t i = 0; i < found.size(); i++)
    if (asked[i] && !found[i].defined()) return std::nullopt;
  for (size_t i = 1; i < found.size(); i++)
    if (asked[i]) found[i] = found[i].view(rows.shape());
  return Three(std::move(found[0]), std::move(found[1]), std::move(found[2]));
}

/// Whether `input` is a single row, without a dimension of rows. Of one element only roundings are left.
bool is_one_row(const at::Tensor& input, c10::SymIntArrayRef shape) {
  return is_ours(input) && input.dim() > 0 && input.layout() == at::kStrided &&
         shape.size() == static_cast<size_t>(input.dim()) && input.numel() > 1;
}
at::Tensor as_row(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.unsqueeze(0) : tensor;
}
at::Tensor of_row(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.squeeze(0) : tensor;
}

Three layer_norm(const at::Tensor& input, c10::SymIntArrayRef shape, const Maybe& weight,
                 const Maybe& bias, double eps) {
  using Op = at::_ops::native_layer_norm;
  if (is_one_row(input, shape)) {
    const auto [out, mean, scale] = layer_norm(as_row(input), shape, weight, bias, eps);
    return {of_row(out), of_row(mean), of_row(scale)};
  }
  if (std::optional<Three> served = forward(input, shape, weight, bias, eps)) {
    count_served<Op>(Route::composed, input);
    return std::move(*served);
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(input, shape, weight, bias,
                                                                      eps);
}

Three layer_norm_backward(const at::Tensor& gradient, const at::Tensor& input,
                          c10::SymIntArrayRef shape, const at::Tensor& mean,
                          const at::Tensor& scale, const Maybe& weight, const Maybe& bias,
                          Mask wanted) {
  using Op = at::_ops::native_layer_norm_backward;
  if (is_one_row(input, shape)) {
    const auto [of_input, of_weight, of_bias] = layer_norm_backward(
        as_row(gradient), as_row(input), shape, as_row(mean), as_row(scale), weight, bias, wanted);
    return {of_row(of_input), of_weight, of_bias};
  }
  if (std::optional<Three> served =
          backward(gradient, input, shape, mean, scale, weight, bias, wanted)) {
    count_served<Op>(Route::composed, input);
    return std::move(*served);
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(gradient, input, shape, mean,
                                                                      scale, weight, bias, wanted);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_layer_norm", layer_norm);
  m.impl("native_layer_norm_backward", layer_norm_backward);
}

}  // namespace tbk::generic
