// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What operators are composed of on the device: reductions and programs, one after the other.
#pragma once

#include <ATen/core/Tensor.h>
#include <aten/routes.h>
#include <c10/util/FunctionRef.h>
#include <generic/reduce.h>

namespace tbk::generic {

/// Names the programs of compositions.
enum class Formulas : uint8_t {
  kSoftmax,
  kSoftmaxBackward,
  kLayerNorm,
  kLayerNormWeighed,
  kLayerNormNormal,
  kLayerNormBackward,
  kNormalize,
  kNormalizeScale,
  kNormalizeInput,
  kNormalizeScaled,
  kNormalizeSums,
  kPairSum,
  kPair,
  kRunning,
  kResample,
  kResampleSum,
  kResampleBackward,
  kMaxPool,
  kMaxPoolCombine,
  kMaxPoolFinish,
  kMaxPoolBackward,
  kMaxPoolAdd,
  kMaxPoolSum,
  kResampleAdd,
  kResampleFinish,
  kTriangle,
  kSequence,
  kUniform,
  kNormal,
  kExponential,
  kBernoulli,
  kInteger,
  kNllClass,
  kNllWeight,
  kNllLoss,
  kNllMean,
  kNllGradient,
  kFusedAdam,
  kFusedAdagrad,
  kFusedSgd,
  kUnscale,
  kNotFinite,
  kGreatest,
  kUpdateScale,
  kCopy,
  kPairProduct,
  kPairCopy,
  kLstm,
  kLstmBackward,
  kGru,
  kGruBackward
};

/// Says which program of a composition is meant: for which dtypes, and in which form.
struct ProgramKey {
  Formulas of;
  at::ScalarType in, out;
  int form;
  auto operator<=>(const ProgramKey&) const = default;
};

/// Returns the program of `key`, which `write` builds the first time. Any thread.
const Program* program_by_key(const ProgramKey& key,
                              c10::function_ref<void(ProgramBuilder&)> write);

/// Reduces `inputs`, which have the sizes that `reduced` is made of, to `outputs`, which have its sizes
/// with keepdim. Returns false, with nothing done, where the backend refuses.
bool run_reduction(const Reduction& reduction, const Reduced& reduced,
                   c10::ArrayRef<const at::Tensor*> outputs,
                   c10::ArrayRef<const at::Tensor*> inputs, c10::ArrayRef<double> numbers = {});
/// Computes `program` for each place of `out`, to whose sizes `inputs` broadcast. Returns false, with
/// nothing done, where the backend refuses.
bool run_program(const Program& program, const at::Tensor& out,
                 c10::ArrayRef<const at::Tensor*> inputs, c10::ArrayRef<double> numbers = {});

/// Returns a new tensor of the dtype and the memory format of `like`; contiguous where that is none.
at::Tensor empty_as(const at::Tensor& like, c10::IntArrayRef sizes);

/// Returns the counter of PyTorch's `name` ("aten::_softmax") and `overload` ("out").
OperatorCounter& counter_of_operator(const char* name, const char* overload);

/// Counts a call of `Op` that was served, for a result like `result`.
template <class Op>
void count_served(Route route, const at::TensorBase& result) {
  static OperatorCounter& counter = counter_of_operator(Op::name, Op::overload_name);
  count_call(counter, route, result.device().index(), result.scalar_type());
}
/// Returns `is_served`, and counts a call of `Op` as composed, or as one of a generic kernel, where it is; `like` has
/// the device and dtype of its result.
template <class Op>
bool count_composed(bool is_served, const at::TensorBase& like) {
  if (is_served) count_served<Op>(Route::composed, like);
  return is_served;
}
template <class Op>
bool count_generic(bool is_served, const at::TensorBase& like) {
  if (is_served) count_served<Op>(Route::generic, like);
  return is_served;
}

}  // namespace tbk::generic
