// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Factories made of others: logspace, the indices of triangles, and permutations.
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/logspace_ops.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randperm_ops.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tril_indices_ops.h>
#include <ATen/ops/triu_indices_ops.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <generic/by_others.h>
#include <generic/dtypes.h>
#include <generic/host_number.h>
#include <generic/repeat.h>
#include <generic/scan.h>
#include <generic/sort.h>
#include <runtime/current.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>

namespace tbk::generic {
namespace {

bool is_whole(at::ScalarType dtype) {
  return computed_in(dtype) == at::kInt || computed_in(dtype) == at::kLong;
}

/// A power that is a whole number is rounded to it: truncated, its error would count as a step.
at::Tensor powers_of(double base, const at::Tensor& exponents) {
  const at::Tensor powers = at::pow(base, exponents);
  if (base != std::trunc(base)) return powers;
  const at::Tensor is_power = exponents.eq(exponents.trunc()).logical_and(exponents.ge(0));
  return at::where(is_power, powers.round(), powers);
}

/// Returns whether powers between these are whole numbers that `dtype` holds; else the CPU raises, or casts what does not fit.
bool are_in_range(double base, double start, double end, at::ScalarType dtype) {
  const auto fits_one = [&](double exponent) {
    const double power = std::pow(base, exponent);
    return power < std::ldexp(1.0, 53) && fits(static_cast<int64_t>(power), dtype, false) &&
           std::abs(exponent) < std::ldexp(1.0, 53) &&
           fits(static_cast<int64_t>(exponent), dtype, false);
  };
  return base > 0 && fits_one(start) && fits_one(end);
}

bool may_space(const at::Scalar& start, const at::Scalar& end, int64_t steps, double base,
               const at::Tensor& out) {
  if (!may_be_made({&out}) || start.isComplex() || end.isComplex() || steps < 0 ||
      (out.numel() != steps && out.numel() != 0))
    return false;
  return are_real({&out}) ||
         (is_whole(out.scalar_type()) && has_double(out.device().index()) &&
          are_in_range(base, start.toDouble(), end.toDouble(), out.scalar_type()));
}

/// Ends are as the dtype of the result has them, unless there is only one.
double whole_end(const at::Scalar& end, int64_t steps) {
  return steps == 1 ? end.toDouble() : std::trunc(end.toDouble());
}

at::Tensor& logspace(const at::Scalar& start, const at::Scalar& end, int64_t steps, double base,
                     at::Tensor& out) {
  using Op = at::_ops::logspace_out;
  if (!may_space(start, end, steps, base, out)) return on_host<Op>(start, end, steps, base, out);
  if (out.numel() != steps) out.resize_({steps});
  return made_into<Op>(out, [&] {
    if (is_whole(out.scalar_type())) {
      const at::TensorOptions wide = out.options().dtype(at::kDouble);
      return powers_of(base,
                       at::linspace(whole_end(start, steps), whole_end(end, steps), steps, wide))
          .view(out.sizes());
    }
    const at::TensorOptions options = out.options().dtype(computed_in(out.scalar_type()));
    return at::pow(base, at::linspace(start, end, steps, options)).view(out.sizes());
  });
}

/// Returns whether a new tensor of indices may be made by other operators.
bool may_be_indices(const at::TensorOptions& options) {
  const c10::DeviceIndex device = options.device().index();
  const at::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
  return is_open(Route::composed) && options.layout() == at::kStrided &&
         (dtype == at::kInt || dtype == at::kLong) && offers_pointwise(device) &&
         offers_index(device) && offers_scan(device);
}

/// The columns of each row of a triangle: where they begin, and how many there are.
struct Columns {
  at::Tensor first, count;
};
Columns below(const at::Tensor& rows, int64_t columns, int64_t offset) {
  return {at::zeros_like(rows), rows.add(offset + 1).clamp(0, columns)};
}
Columns above(const at::Tensor& rows, int64_t columns, int64_t offset) {
  const at::Tensor first = rows.add(offset).clamp(0, columns);
  return {first, first.neg().add(columns)};
}

at::Tensor indices_of(const Columns& columns, int64_t total) {
  const at::Tensor begins = columns.count.cumsum(0).sub(columns.count);
  const at::Tensor row = places_of(begins, at::kLong, total);
  const at::Tensor place = at::arange(total, row.options());
  return at::stack({row, place.sub(begins.sub(columns.first).index_select(0, row))});
}

template <class Op, Columns (*kColumns)(const at::Tensor&, int64_t, int64_t)>
at::Tensor triangle_indices(int64_t rows, int64_t columns, int64_t offset,
                            std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                            std::optional<at::Device> device, std::optional<bool> pins) {
  at::native::check_args(rows, columns, layout);
  const bool is_named = device.has_value() && device->has_index();
  const c10::Device where(c10::DeviceType::PrivateUse1,
                          is_named ? device->index() : current_device());
  const at::TensorOptions options =
      at::TensorOptions().dtype(dtype.value_or(at::kLong)).device(where);
  const bool is_lower = kColumns == &below;
  const int64_t lower = at::native::get_tril_size(rows, columns, is_lower ? offset : offset - 1);
  const int64_t total = is_lower ? lower : rows * columns - lower;
  if (!may_be_indices(options) || pins.value_or(false))
    return on_host<Op>(rows, columns, offset, dtype, layout, device, pins);
  return made<Op>([&] {
    if (total == 0) return at::empty({2, 0}, options);
    const int64_t shift = std::clamp(offset, -rows, columns);
    const at::Tensor each = at::arange(rows, options.dtype(at::kLong));
    return indices_of(kColumns(each, columns, shift), total).to(dtype.value_or(at::kLong));
  });
}

/// Draws 63 bits for each, and sorts these: two are equal once in 2^63 pairs, and then stay in order.
at::Tensor& permutation(int64_t count, std::optional<at::Generator> generator, at::Tensor& out) {
  using Op = at::_ops::randperm_generator_out;
  const at::ScalarType dtype = out.scalar_type();
  if (!may_be_made({&out}) || !is_whole(dtype) || !fits(count, dtype, false) || count < 1 ||
      (out.numel() != 0 && out.numel() != count) || !offers_sort(out.device().index()))
    return on_host<Op>(count, generator, out);
  if (out.sizes() != at::IntArrayRef(count)) out.resize_({count});
  return made_into<Op>(out, [&] {
    const at::Tensor drawn = at::empty({count}, out.options().dtype(at::kLong));
    return std::get<1>(drawn.random_(generator).sort(/*stable=*/true, 0, false));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("logspace.out", logspace);
  m.impl("tril_indices", triangle_indices<at::_ops::tril_indices, below>);
  m.impl("triu_indices", triangle_indices<at::_ops::triu_indices, above>);
  m.impl("randperm.generator_out", permutation);
}

}  // namespace tbk::generic
