// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What torch.amp.GradScaler does to gradients and to its scale.
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale_ops.h>
#include <ATen/ops/_amp_update_scale_ops.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/sets.h>
#include <torch/library.h>

#include <array>
#include <limits>

namespace tbk::generic {
namespace {

/// Returns whether `value` is neither infinite nor NaN.
Value is_finite(ProgramBuilder& b, Value value) {
  const at::ScalarType dtype = b.dtype_of(value);
  const Value size = b.apply(TBK_OPCODE_ABS, {value});
  return b.apply(TBK_OPCODE_LT, {size, b.infinity(dtype, /*is_negative=*/false)});
}

/// The greatest of 1 for each element that is not finite, and of 0.
const Reduction* not_finite_of(at::ScalarType dtype) {
  const Program* map =
      program_by_key({Formulas::kNotFinite, dtype, at::kFloat, 0}, [&](ProgramBuilder& b) {
        const Value is_good = is_finite(b, b.cast(b.input(dtype), computed_in(dtype)));
        b.result(b.cast(b.apply(TBK_OPCODE_NOT, {is_good}), at::kFloat));
      });
  const Program* combine =
      program_by_key({Formulas::kGreatest, at::kFloat, at::kFloat, 0}, [](ProgramBuilder& b) {
        const Value one = b.parameter(at::kFloat), other = b.parameter(at::kFloat);
        b.result(b.apply(TBK_OPCODE_MAX, {one, other}));
      });
  const Program* finish =
      program_by_key({Formulas::kGreatest, at::kFloat, at::kFloat, 1},
                     [](ProgramBuilder& b) { b.result(b.parameter(at::kFloat)); });
  return intern_reduction(map, combine, finish, {bits_in(at::kFloat, 0.0)}, true);
}

/// Gradients are multiplied by a number of the device, in float32 at least.
const Program* unscale_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kUnscale, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType inner = computed_in(dtype);
    const Value gradient = b.cast(b.input(dtype), inner);
    const Value scale = b.cast(b.input(at::kFloat), inner);
    b.result(b.cast(b.apply(TBK_OPCODE_MUL, {gradient, scale}), dtype));
  });
}

const Program* greatest_program() {
  return program_by_key({Formulas::kGreatest, at::kFloat, at::kFloat, 2}, [](ProgramBuilder& b) {
    const Value one = b.input(at::kFloat), other = b.input(at::kFloat);
    b.result(b.apply(TBK_OPCODE_MAX, {one, other}));
  });
}

bool is_number_on(const at::Tensor& tensor, at::Device device, at::ScalarType dtype = at::kFloat) {
  return is_plain(tensor) && tensor.device() == device && tensor.numel() == 1 &&
         tensor.scalar_type() == dtype;
}

/// Writes 1 to each place of `found` whose gradient holds what is not finite, and all to `found_inf`.
bool check(at::TensorList gradients, const at::Tensor& found_inf) {
  const c10::DeviceIndex device = found_inf.device().index();
  const at::ScalarType dtype = gradients[0].scalar_type();
  const at::Tensor each = empty_on(device, {static_cast<int64_t>(gradients.size())}, at::kFloat);
  Sets sets(device, gradients.size());
  std::vector<at::Tensor> places = each.unbind(0);
  for (size_t i = 0; i < gradients.size(); i++)
    sets.add_reduction(places[i], gradients[i]);
  if (!sets.reduce(*not_finite_of(dtype))) return false;
  const at::Tensor all = empty_on(device, {}, at::kFloat);
  Sets whole(device), both(device);
  whole.add_reduction(all, each);
  const Reduction* greatest = reduction_of(Recipe::kMax, at::kFloat, at::kFloat, at::kFloat);
  both.add({&found_inf}, {&found_inf}, {&all});
  return whole.reduce(*greatest) && both.pointwise(*greatest_program());
}

bool unscale(at::TensorList gradients, const at::Tensor& found_inf, const at::Tensor& scale) {
  if (!is_open(Route::composed) || gradients.empty() || !is_ours(found_inf)) return false;
  const at::Device device = found_inf.device();
  const at::ScalarType dtype = gradients[0].scalar_type();
  if (!is_number_on(found_inf, device) || !is_number_on(scale, device) ||
      !at::isFloatingType(dtype) || !offers_pointwise(device.index()) ||
      !offers_reduce(device.index()))
    return false;
  for (const at::Tensor& each : gradients)
    if (!lie_alike({&each}, dtype, device)) return false;
  const Composition whole;
  if (!check(gradients, found_inf)) return false;
  Sets sets(device.index(), gradients.size());
  for (const at::Tensor& each : gradients)
    if (each.numel() > 0) sets.add({&each}, {&each}, {&scale});
  return sets.pointwise(*unscale_program(dtype));
}

void check_and_unscale(at::TensorList gradients, at::Tensor& found_inf, const at::Tensor& scale) {
  using Op = at::_ops::_amp_foreach_non_finite_check_and_unscale_;
  static OperatorCounter& counter = counter_of_operator(Op::name, Op::overload_name);
  if (unscale(gradients, found_inf, scale))
    return count_call(counter, Route::composed, found_inf.device().index(),
                      gradients[0].scalar_type());
  at::native::call_fallback_fn<&cpu_fallback, Op>::call(gradients, found_inf, scale);
}

/// After what was not finite the scale shrinks; after so many steps without it grows, if it can.
const Program* update_program() {
  return program_by_key({Formulas::kUpdateScale, at::kFloat, at::kInt, 0}, [](ProgramBuilder& b) {
    const auto pick = [&](Value when, Value yes, Value no) {
      return b.apply(TBK_OPCODE_SELECT, {when, yes, no});
    };
    const Value scale = b.input(at::kFloat), steps = b.input(at::kInt), found = b.input(at::kFloat);
    const Value growth = b.number(at::kFloat), backoff = b.number(at::kFloat);
    const Value interval = b.cast(b.number(at::kLong), at::kInt), zero = b.constant(0, at::kInt);
    const Value is_found = b.cast(found, at::kBool);
    const Value next = b.apply(TBK_OPCODE_ADD, {steps, b.constant(1, at::kInt)});
    const Value is_due = b.apply(TBK_OPCODE_EQ, {next, interval});
    const Value larger = b.apply(TBK_OPCODE_MUL, {scale, growth});
    const Value grown =
        pick(b.apply(TBK_OPCODE_AND, {is_due, is_finite(b, larger)}), larger, scale);
    b.result(pick(is_found, b.apply(TBK_OPCODE_MUL, {scale, backoff}), grown));
    b.result(pick(is_found, zero, pick(is_due, zero, next)));
  });
}

bool update(const at::Tensor& scale, const at::Tensor& steps, const at::Tensor& found_inf,
            double growth, double backoff, int64_t interval) {
  if (!is_open(Route::generic) || !is_ours(scale)) return false;
  const at::Device device = scale.device();
  if (!is_number_on(scale, device) || !is_number_on(steps, device, at::kInt) ||
      !is_number_on(found_inf, device) || !offers_pointwise(device.index()))
    return false;
  Sets sets(device.index());
  sets.add(
      {&scale, &steps}, {&scale, &steps}, {&found_inf},
      {bits_in(at::kFloat, growth), bits_in(at::kFloat, backoff), bits_in(at::kLong, interval)});
  return sets.pointwise(*update_program());
}

at::Tensor& update_scale(at::Tensor& scale, at::Tensor& steps, const at::Tensor& found_inf,
                         double growth, double backoff, int64_t interval) {
  using Op = at::_ops::_amp_update_scale_;
  static OperatorCounter& counter = counter_of_operator(Op::name, Op::overload_name);
  if (update(scale, steps, found_inf, growth, backoff, interval)) {
    count_call(counter, Route::generic, scale.device().index(), scale.scalar_type());
    return scale;
  }
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(scale, steps, found_inf, growth,
                                                               backoff, interval);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_amp_foreach_non_finite_check_and_unscale_", check_and_unscale);
  m.impl("_amp_update_scale_", update_scale);
}

}  // namespace tbk::generic
