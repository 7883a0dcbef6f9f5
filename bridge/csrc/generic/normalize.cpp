// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ExpandUtils.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/normalize.h>

namespace tbk::generic {
namespace {

enum NormalizeForm { kPlain = 0, kWeight = 1, kBias = 2, kWeightOfPart = 4 };

using Inputs = c10::SmallVector<const at::Tensor*, 6>;

int form_of(const at::Tensor& weight, const at::Tensor& bias) {
  return (weight.defined() ? kWeight : 0) | (bias.defined() ? kBias : 0);
}

struct Normalized {
  Value value, scale;
};

/// Writes (x - mean) * scale, of the next three inputs.
Normalized normalized(ProgramBuilder& b, at::ScalarType dtype) {
  const at::ScalarType inner = computed_in(dtype);
  const Value x = b.cast(b.input(dtype), inner), mean = b.input(inner), scale = b.input(inner);
  return {b.apply(TBK_OPCODE_MUL, {b.apply(TBK_OPCODE_SUB, {x, mean}), scale}), scale};
}

/// Writes the gradient, times the weight where there is one, of the next inputs.
Value weighed(ProgramBuilder& b, at::ScalarType dtype, int form) {
  const at::ScalarType inner = computed_in(dtype);
  const Value gradient = b.cast(b.input(dtype), inner);
  return form & kWeight ? b.apply(TBK_OPCODE_MUL, {gradient, b.input(inner)}) : gradient;
}

const Program* normalize_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kNormalize, dtype, dtype, form}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    Value result = normalized(b, dtype).value;
    if (form & kWeight) result = b.apply(TBK_OPCODE_MUL, {result, b.input(inner)});
    if (form & kBias) result = b.apply(TBK_OPCODE_ADD, {result, b.input(inner)});
    b.result(b.cast(result, dtype));
  });
}

const Program* scale_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kNormalizeScale, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const Value sum = b.apply(TBK_OPCODE_ADD, {b.input(dtype), b.number(dtype)});
    b.result(b.apply(TBK_OPCODE_DIV, {b.constant(1, dtype), b.apply(TBK_OPCODE_SQRT, {sum})}));
  });
}

const Program* input_gradient_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kNormalizeInput, dtype, dtype, form}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    const Value gradient = weighed(b, dtype, form);
    const Normalized normal = normalized(b, dtype);
    const Value plain_sum = b.input(inner), normal_sum = b.input(inner);
    const Value all =
        b.apply(TBK_OPCODE_ADD, {plain_sum, b.apply(TBK_OPCODE_MUL, {normal.value, normal_sum})});
    const Value part = b.apply(TBK_OPCODE_DIV, {all, b.number(inner)});
    const Value left = b.apply(TBK_OPCODE_SUB, {gradient, part});
    Value result = b.apply(TBK_OPCODE_MUL, {normal.scale, left});
    if (form & kWeightOfPart) result = b.apply(TBK_OPCODE_MUL, {result, b.input(inner)});
    b.result(b.cast(result, dtype));
  });
}

const Program* scaled_program(at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kNormalizeScaled, dtype, dtype, form}, [&](ProgramBuilder& b) {
    const Value gradient = weighed(b, dtype, form);
    b.result(b.cast(b.apply(TBK_OPCODE_MUL, {gradient, b.input(computed_in(dtype))}), dtype));
  });
}

/// Returns the program that adds both of two states.
void write_pair(ProgramBuilder& b, at::ScalarType dtype) {
  const Value plain = b.parameter(dtype), normal = b.parameter(dtype);
  const Value later_plain = b.parameter(dtype), later_normal = b.parameter(dtype);
  b.result(b.apply(TBK_OPCODE_ADD, {plain, later_plain}));
  b.result(b.apply(TBK_OPCODE_ADD, {normal, later_normal}));
}

const Reduction* sums_reduction(at::ScalarType dtype, int form) {
  const at::ScalarType inner = computed_in(dtype);
  const Program* map =
      program_by_key({Formulas::kNormalizeSums, dtype, inner, form}, [&](ProgramBuilder& b) {
        const Value gradient = weighed(b, dtype, form);
        b.result(gradient);
        b.result(b.apply(TBK_OPCODE_MUL, {gradient, normalized(b, dtype).value}));
      });
  const Program* combine = program_by_key({Formulas::kPairSum, inner, inner, 0},
                                          [&](ProgramBuilder& b) { write_pair(b, inner); });
  const Program* finish =
      program_by_key({Formulas::kPair, inner, inner, 0}, [&](ProgramBuilder& b) {
        for (int i = 0; i < 2; i++)
          b.result(b.parameter(inner));
      });
  return intern_reduction(map, combine, finish, {0, 0}, true);
}

at::Tensor empty_parts(const at::Tensor& x, const Reduced& parts) {
  return empty_on(x.device().index(), parts.sizes(/*keepdim=*/true), computed_in(x.scalar_type()));
}

}  // namespace

bool is_dense(const at::Tensor& tensor, at::Device device, at::ScalarType dtype,
              c10::IntArrayRef sizes) {
  return is_ours(tensor) && tensor.device() == device && tensor.layout() == at::kStrided &&
         !tensor.is_neg() && tensor.scalar_type() == dtype && tensor.sizes() == sizes;
}

bool is_normalizable(const at::Tensor& tensor) {
  return is_open(Route::composed) && is_ours(tensor) && tensor.layout() == at::kStrided &&
         !tensor.is_neg() && at::isFloatingType(tensor.scalar_type()) && tensor.numel() > 0 &&
         tensor.dim() <= 64 && offers_reduce(tensor.device().index()) &&
         offers_pointwise(tensor.device().index());
}

std::optional<Moments> moments_of(const at::Tensor& x, const Reduced& parts, double eps) {
  const at::ScalarType dtype = x.scalar_type();
  Moments moments = {empty_parts(x, parts), {}, empty_parts(x, parts)};
  const Reduction* reduction = reduction_of(Recipe::kVarMean, dtype, dtype, computed_in(dtype));
  if (reduction == nullptr || !run_reduction(*reduction, parts, {&moments.variance, &moments.mean},
                                             {&x}, {static_cast<double>(parts.count())}))
    return std::nullopt;
  moments.scale = scale_of(moments.variance, eps);
  if (!moments.scale.defined()) return std::nullopt;
  return moments;
}

at::Tensor scale_of(const at::Tensor& variance, double eps) {
  at::Tensor scale = empty_on(variance.device().index(), variance.sizes(), variance.scalar_type());
  const bool is_done =
      run_program(*scale_program(variance.scalar_type()), scale, {&variance}, {eps});
  return is_done ? scale : at::Tensor();
}

bool normalize(const at::Tensor& x, const Moments& moments, const at::Tensor& weight,
               const at::Tensor& bias, const at::Tensor& out) {
  Inputs inputs = {&x, &moments.mean, &moments.scale};
  if (weight.defined()) inputs.push_back(&weight);
  if (bias.defined()) inputs.push_back(&bias);
  return run_program(*normalize_program(x.scalar_type(), form_of(weight, bias)), out, inputs);
}

std::optional<GradientSums> gradient_sums(const at::Tensor& gradient, const at::Tensor& x,
                                          const Moments& moments, const at::Tensor& weight,
                                          const Reduced& parts) {
  const auto spread = [&](const at::Tensor& tensor) { return tensor.expand(x.sizes()); };
  const at::Tensor mean = spread(moments.mean), scale = spread(moments.scale);
  const at::Tensor factor = weight.defined() ? spread(weight) : weight;
  Inputs inputs = {&gradient};
  if (weight.defined()) inputs.push_back(&factor);
  inputs.append({&x, &mean, &scale});
  const GradientSums sums = {empty_parts(x, parts), empty_parts(x, parts)};
  const Reduction* reduction = sums_reduction(x.scalar_type(), form_of(weight, {}));
  if (!run_reduction(*reduction, parts, {&sums.plain, &sums.normal}, inputs)) return std::nullopt;
  return sums;
}

bool input_gradient(const at::Tensor& gradient, const at::Tensor& x, const Moments& moments,
                    const GradientSums& sums, const Weight& weight, int64_t count,
                    const at::Tensor& out) {
  Inputs inputs = {&gradient};
  const bool is_there = weight.tensor.defined();
  if (is_there && !weight.is_of_part) inputs.push_back(&weight.tensor);
  inputs.append({&x, &moments.mean, &moments.scale, &sums.plain, &sums.normal});
  if (is_there && weight.is_of_part) inputs.push_back(&weight.tensor);
  const int form = !is_there ? kPlain : weight.is_of_part ? kWeightOfPart : kWeight;
  return run_program(*input_gradient_program(x.scalar_type(), form), out, inputs,
                     {static_cast<double>(count)});
}

bool scaled_gradient(const at::Tensor& gradient, const at::Tensor& scale, const at::Tensor& weight,
                     const at::Tensor& out) {
  Inputs inputs = {&gradient};
  if (weight.defined()) inputs.push_back(&weight);
  inputs.push_back(&scale);
  return run_program(*scaled_program(gradient.scalar_type(), form_of(weight, {})), out, inputs);
}

}  // namespace tbk::generic
