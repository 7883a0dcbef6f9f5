// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What depends on the place of an element: arange, linspace, eye, tril and triu. One program each.
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/arange_ops.h>
#include <ATen/ops/eye_ops.h>
#include <ATen/ops/linspace_ops.h>
#include <ATen/ops/tril_ops.h>
#include <ATen/ops/triu_ops.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/complex_parts.h>
#include <generic/composition.h>
#include <generic/dtypes.h>
#include <generic/host_number.h>
#include <generic/index.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>

namespace tbk::generic {
namespace {

bool is_made_by_place(const at::Tensor& out) {
  return is_open(Route::generic) && is_ours(out) && out.layout() == at::kStrided && !out.is_neg() &&
         !out.is_conj() &&
         computed_in(part_dtype(out.scalar_type())) != at::ScalarType::Undefined &&
         at::has_internal_overlap(out) == at::MemOverlap::No &&
         offers_pointwise(out.device().index());
}

/// Makes `out` a line of that many elements; a longer or a shorter one PyTorch warns of.
bool can_be_line(const at::Tensor& out, int64_t count) {
  if (out.numel() != 0 && out.numel() != count) return false;
  if (out.numel() != count) out.resize_({count});
  return true;
}

/// PyTorch steps in FLOAT64, which not every device has.
at::ScalarType stepped_in(const at::Tensor& out) {
  return has_double(out.device().index()) ? at::kDouble : computed_in(out.scalar_type());
}

/// kWholeSpace: whole numbers, for which a step is rounded once with what it is added to, as PyTorch's CPU does.
enum class Sequence : uint8_t { kRange, kSpace, kWholeSpace };

/// start + step * i; of a space what is beyond the middle is counted from its end.
const Program* sequence_program(Sequence of, at::ScalarType stepped, at::ScalarType out) {
  const ProgramKey key = {Formulas::kSequence, stepped, out, static_cast<int>(of)};
  return program_by_key(key, [&](ProgramBuilder& b) {
    const Value index = b.linear_index();
    const Value start = b.number(stepped), step = b.number(stepped);
    const auto away = [&](Value from, Value count, Value by) {
      const Value steps = b.cast(count, stepped);
      if (of == Sequence::kWholeSpace) return b.apply(TBK_OPCODE_FMA, {steps, by, from});
      return b.apply(TBK_OPCODE_ADD, {from, b.apply(TBK_OPCODE_MUL, {steps, by})});
    };
    Value result = away(start, index, step);
    if (of != Sequence::kRange) {
      const Value end = b.number(stepped), last = b.number(at::kLong);
      const Value left = b.apply(TBK_OPCODE_SUB, {last, index});
      const Value from_end = away(end, left, b.apply(TBK_OPCODE_NEG, {step}));
      const Value is_first_half = b.apply(TBK_OPCODE_LT, {index, left});
      result = b.apply(TBK_OPCODE_SELECT, {is_first_half, result, from_end});
    }
    b.result(b.cast(result, out));
  });
}

/// How many steps there are; -1 where PyTorch raises.
int64_t range_count(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                    at::ScalarType dtype) {
  const double width = end.toDouble() - start.toDouble(), by = step.toDouble();
  if (by == 0 || !std::isfinite(width) || !std::isfinite(by) || (width != 0 && width * by < 0))
    return -1;
  const double most = std::ldexp(1.0, 53);
  if (std::abs(start.toDouble()) > most || std::abs(end.toDouble()) > most) return -1;
  if (dtype == at::kLong) {
    const int64_t whole = step.toLong(), sign = whole > 0 ? 1 : -1;
    return whole == 0 ? -1 : (end.toLong() - start.toLong() + whole - sign) / whole;
  }
  const double count = std::ceil(width / by);
  return count < most ? static_cast<int64_t>(count) : -1;
}

bool is_real_number(const at::Scalar& number) {
  return !number.isComplex() && !number.isBoolean();
}

bool range_into(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                const at::Tensor& out) {
  const at::ScalarType dtype = out.scalar_type();
  if (!is_made_by_place(out) || dtype == at::kBool || at::isComplexType(dtype) ||
      !is_real_number(start) || !is_real_number(end) || !is_real_number(step))
    return false;
  const int64_t count = range_count(start, end, step, dtype);
  const bool is_whole = at::isIntegralType(dtype, /*includeBool=*/false);
  const at::ScalarType stepped = is_whole ? at::kLong : stepped_in(out);
  if (count < 0 || !can_be_line(out, count)) return false;
  if (count == 0) return true;
  Launch launch(out.device().index(), out.sizes());
  launch.output(out, out.strides());
  for (const at::Scalar* number : {&start, &step})
    launch.number(is_whole ? bits_in(stepped, number->toLong())
                           : bits_in(stepped, number->toDouble()));
  return launch.pointwise(*sequence_program(Sequence::kRange, stepped, dtype));
}

at::Tensor& arange(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                   at::Tensor& out) {
  using Op = at::_ops::arange_start_out;
  if (count_generic<Op>(range_into(start, end, step, out), out)) return out;
  return on_host<Op>(start, end, step, out);
}

/// Returns an end of a space as `dtype` has it; nothing where PyTorch raises, or where FLOAT64 would round it.
std::optional<double> end_in(at::ScalarType dtype, const at::Scalar& end) {
  if (!is_real_number(end)) return std::nullopt;
  const double value = end.toDouble();
  if (at::isFloatingType(dtype)) return value;
  const at::ScalarType computed = computed_in(dtype);
  if ((computed != at::kInt && computed != at::kLong) || !(std::abs(value) <= std::ldexp(1.0, 53)))
    return std::nullopt;
  const auto whole = static_cast<int64_t>(value);
  return fits(whole, dtype, false) ? std::optional(static_cast<double>(whole)) : std::nullopt;
}

bool space_into(const at::Scalar& start, const at::Scalar& end, int64_t steps,
                const at::Tensor& out) {
  const at::ScalarType dtype = out.scalar_type();
  const bool is_whole = !at::isFloatingType(dtype);
  const std::optional<double> from = end_in(dtype, start), last = end_in(dtype, end);
  if (!is_made_by_place(out) || !from.has_value() || !last.has_value() || steps < 0 ||
      (is_whole && !has_double(out.device().index())) || !can_be_line(out, steps))
    return false;
  if (steps == 0) return true;
  const at::ScalarType stepped = is_whole ? at::kDouble : stepped_in(out);
  const double to = steps > 1 ? *last : *from;
  const auto count = static_cast<double>(std::max<int64_t>(steps - 1, 1));
  Launch launch(out.device().index(), out.sizes());
  launch.output(out, out.strides());
  for (const double number : {*from, (to - *from) / count, to})
    launch.number(bits_in(stepped, number));
  launch.number(bits_in(at::kLong, steps - 1));
  const Sequence of = is_whole ? Sequence::kWholeSpace : Sequence::kSpace;
  return launch.pointwise(*sequence_program(of, stepped, dtype));
}

/// Between complex numbers each part has a space of its own.
bool pair_space_into(const at::Scalar& start, const at::Scalar& end, int64_t steps,
                     const at::Tensor& out) {
  if (!is_open(Route::composed) || start.isBoolean() || end.isBoolean() || steps < 0) return false;
  const Composition whole;
  if (!is_made_by_place(out)) return false;
  const auto from = start.toComplexDouble(), to = end.toComplexDouble();
  const at::ScalarType part = part_dtype(out.scalar_type());
  const at::Tensor real = empty_on(out.device().index(), {steps}, part);
  const at::Tensor imaginary = empty_on(out.device().index(), {steps}, part);
  if (!space_into(from.real(), to.real(), steps, real) ||
      !space_into(from.imag(), to.imag(), steps, imaginary) || !can_be_line(out, steps))
    return false;
  const at::Tensor parts = as_reals(out);
  parts.select(-1, 0).copy_(real.view(out.sizes()));
  parts.select(-1, 1).copy_(imaginary.view(out.sizes()));
  return true;
}

at::Tensor& linspace(const at::Scalar& start, const at::Scalar& end, int64_t steps,
                     at::Tensor& out) {
  using Op = at::_ops::linspace_out;
  if (is_pair(out.scalar_type())) {
    const bool is_served = pair_space_into(start, end, steps, out);
    return served_or_on_host<Op>(is_served, Route::composed, out, start, end, steps, out);
  }
  if (count_generic<Op>(space_into(start, end, steps, out), out)) return out;
  return on_host<Op>(start, end, steps, out);
}

enum class Triangle : uint8_t { kLower, kUpper, kOnes };

struct Cell {
  Value row, column;
};

Cell cell_of(ProgramBuilder& b) {
  const Value index = b.linear_index(), rows = b.number(at::kLong), columns = b.number(at::kLong);
  const Value line = b.apply(TBK_OPCODE_DIV_TRUNC, {index, columns});
  return {b.apply(TBK_OPCODE_REM_TRUNC, {line, rows}),
          b.apply(TBK_OPCODE_REM_TRUNC, {index, columns})};
}

/// What is on one side of a diagonal stays; or ones on a diagonal.
const Program* triangle_program(Triangle of, at::ScalarType dtype) {
  const ProgramKey key = {Formulas::kTriangle, dtype, dtype, static_cast<int>(of)};
  return program_by_key(key, [&](ProgramBuilder& b) {
    const Cell cell = cell_of(b);
    const Value beyond = b.apply(TBK_OPCODE_SUB, {cell.column, cell.row});
    const Value diagonal = b.number(at::kLong);
    const at::ScalarType part = part_dtype(dtype), computed = computed_in(part);
    const Value zero = b.constant(0, computed);
    if (of == Triangle::kOnes) {
      b.result(b.cast(b.apply(TBK_OPCODE_EQ, {beyond, diagonal}), part));
      if (is_pair(dtype)) b.result(zero);
      return;
    }
    const uint16_t opcode = of == Triangle::kLower ? TBK_OPCODE_LE : TBK_OPCODE_GE;
    const Value stays = b.apply(opcode, {beyond, diagonal});
    for (int i = 0; i < (is_pair(dtype) ? 2 : 1); i++)
      b.result(b.cast(b.select(stays, b.cast(b.input(part), computed), zero), part));
  });
}

/// `self` is not defined where there are ones.
bool triangle_into(const at::Tensor& self, Triangle of, int64_t diagonal, const at::Tensor& out) {
  Launch launch(out.device().index(), out.sizes());
  launch.output(out, out.strides());
  if (self.defined()) launch.input(self, self.strides());
  for (const int64_t number : {out.size(-2), out.size(-1), diagonal})
    launch.number(bits_in(at::kLong, number));
  return launch.pointwise(*triangle_program(of, out.scalar_type()));
}

/// An output that is the input is one exactly.
bool is_cut(const at::Tensor& self, const at::Tensor& out) {
  return is_made_by_place(out) && is_ours(self) && self.device() == out.device() &&
         self.layout() == at::kStrided && !self.is_neg() && !self.is_conj() && self.dim() >= 2 &&
         self.scalar_type() == out.scalar_type() && self.sizes() == out.sizes() &&
         (!out.is_alias_of(self) ||
          (self.storage_offset() == out.storage_offset() && self.strides() == out.strides()));
}

template <class Op, Triangle kOf>
at::Tensor& cut(const at::Tensor& self, int64_t diagonal, at::Tensor& out) {
  if (count_generic<Op>(
          is_cut(self, out) && (out.numel() == 0 || triangle_into(self, kOf, diagonal, out)), out))
    return out;
  return on_host<Op>(self, diagonal, out);
}

bool eye_into(int64_t rows, int64_t columns, const at::Tensor& out) {
  if (!is_made_by_place(out) || rows < 0 || columns < 0) return false;
  const at::DimVector sizes = {rows, columns};
  if (out.sizes() != sizes && out.numel() != 0) return false;  // PyTorch warns
  if (out.sizes() != sizes) out.resize_(sizes);
  return out.numel() == 0 || triangle_into({}, Triangle::kOnes, 0, out);
}

at::Tensor& eye(int64_t rows, at::Tensor& out) {
  using Op = at::_ops::eye_out;
  return count_generic<Op>(eye_into(rows, rows, out), out) ? out : on_host<Op>(rows, out);
}

at::Tensor& eye_of(int64_t rows, int64_t columns, at::Tensor& out) {
  using Op = at::_ops::eye_m_out;
  return count_generic<Op>(eye_into(rows, columns, out), out) ? out
                                                              : on_host<Op>(rows, columns, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("arange.start_out", arange);
  m.impl("linspace.out", linspace);
  m.impl("eye.out", eye);
  m.impl("eye.m_out", eye_of);
  m.impl("tril.out", cut<at::_ops::tril_out, Triangle::kLower>);
  m.impl("triu.out", cut<at::_ops::triu_out, Triangle::kUpper>);
}

}  // namespace tbk::generic
