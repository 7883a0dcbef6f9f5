// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// nonzero, masked_select and masked_scatter_: a scan numbers the elements that are set, and tbk::index moves
// them. The host reads how many they are, where a result's size depends on it. masked_fill_ is a program.
#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/masked_scatter_ops.h>
#include <ATen/ops/masked_select_ops.h>
#include <ATen/ops/nonzero_ops.h>
#include <ATen/ops/nonzero_static_ops.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/complex_parts.h>
#include <generic/index.h>
#include <generic/made_once.h>
#include <generic/mask.h>
#include <generic/scan.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// Gives of each element its number among those that are set, or -1; how many of these there are so far;
/// and its position.
const Reduction* make_numbering(at::ScalarType dtype) {
  ProgramBuilder map, combine, finish;
  const at::ScalarType part = part_dtype(dtype);
  const auto is_not_zero = [&] {
    return map.cast(map.cast(map.input(part), computed_in(part)), at::kBool);
  };
  Value is_set = is_not_zero();
  if (is_pair(dtype)) is_set = map.apply(TBK_OPCODE_OR, {is_set, is_not_zero()});
  map.result(map.cast(is_set, at::kLong));
  map.result(map.cast(is_set, at::kLong));
  map.result(map.linear_index());
  const Value before = combine.parameter(at::kLong);
  combine.parameter(at::kLong);
  combine.parameter(at::kLong);
  const Value more = combine.parameter(at::kLong), set = combine.parameter(at::kLong),
              at = combine.parameter(at::kLong);
  combine.result(combine.apply(TBK_OPCODE_ADD, {before, more}));
  combine.result(set);
  combine.result(at);
  const Value count = finish.parameter(at::kLong), is_here = finish.parameter(at::kLong),
              position = finish.parameter(at::kLong);
  const Value zero = finish.constant(0, at::kLong), one = finish.constant(1, at::kLong);
  const Value is_one = finish.apply(TBK_OPCODE_NE, {is_here, zero});
  finish.result(finish.apply(TBK_OPCODE_SELECT, {is_one, finish.apply(TBK_OPCODE_SUB, {count, one}),
                                                 finish.constant(-1, at::kLong)}));
  finish.result(count);
  finish.result(position);
  return intern_reduction(map.intern(), combine.intern(), finish.intern(), {0, 0, 0}, false);
}

const Reduction* numbering(at::ScalarType dtype) {
  static OfDtypes<Reduction> made;
  return made_once(made, dtype, [&] { return make_numbering(dtype); });
}

/// The elements of a tensor that are set, numbered in its order. One call.
class Numbered {
 public:
  explicit Numbered(const at::Tensor& of) : of_(of) {}

  /// False where the backend refuses.
  bool run() {
    const c10::DeviceIndex device = of_.device().index();
    const at::Tensor line = of_.contiguous().view(-1);
    for (at::Tensor* each : {&numbers_, &counts_, &positions_})
      *each = empty_on(device, {line.numel()}, at::kLong);
    return line.numel() == 0 ||
           run_scan(*numbering(line.scalar_type()), 0, {&numbers_, &counts_, &positions_}, {&line});
  }
  /// Returns how many there are, on the device; there is at least one element.
  at::Tensor all() const {
    return counts_.select(0, counts_.numel() - 1);
  }
  /// Waits for the device.
  int64_t count() const {
    return counts_.numel() == 0 ? 0 : all().item<int64_t>();
  }
  const at::Tensor& positions() const {
    return positions_;
  }
  /// Moves between `table`, of which there is an element for each number, and `values`, of the sizes of
  /// the tensor.
  bool move(int64_t mode, const at::Tensor& table, const at::Tensor& values) const {
    if (table.numel() == 0) return true;
    Placement placement("aten::nonzero", numbers_.sizes());
    placement.by(numbers_, numbers_.strides());
    placement.leave_out();
    return placement.run(mode, Shaped(table), Shaped(values));
  }

 private:
  const at::Tensor& of_;
  at::Tensor numbers_, counts_, positions_;
};

bool is_served(const at::Tensor& mask) {
  return is_open(Route::composed) && are_plain({&mask}) && mask.dim() <= TBK_PROGRAM_MOST_RANK &&
         computed_in(part_dtype(mask.scalar_type())) != at::ScalarType::Undefined &&
         offers_index(mask.device().index()) && offers_pointwise(mask.device().index()) &&
         offers_scan(mask.device().index());
}

/// Takes a position apart: one output for each dimension.
const Program* coordinates(int64_t rank) {
  static std::array<std::atomic<const Program*>, TBK_PROGRAM_MOST_RANK + 1> made;
  return made_once(made[static_cast<size_t>(rank)], [&] {
    ProgramBuilder b;
    const Value position = b.input(at::kLong);
    for (int64_t d = 0; d < rank; d++) {
      const Value stride = b.number(at::kLong), size = b.number(at::kLong);
      const Value quotient = b.apply(TBK_OPCODE_DIV_TRUNC, {position, stride});
      b.result(b.apply(TBK_OPCODE_REM_TRUNC, {quotient, size}));
    }
    return b.intern();
  });
}

bool take_apart(const at::Tensor& positions, c10::IntArrayRef sizes, const at::Tensor& out) {
  if (positions.numel() == 0 || sizes.empty()) return true;
  const auto rank = static_cast<int64_t>(sizes.size());
  Launch launch(out.device().index(), positions.sizes());
  std::vector<at::Tensor> columns;
  for (int64_t d = 0; d < rank; d++)
    columns.push_back(out.select(1, d));
  for (const at::Tensor& column : columns)
    launch.output(column, column.strides());
  launch.input(positions, positions.strides());
  int64_t stride = c10::multiply_integers(sizes);
  for (const int64_t size : sizes) {
    stride /= size;
    launch.number(bits_in(at::kLong, stride));
    launch.number(bits_in(at::kLong, size));
  }
  return launch.pointwise(*coordinates(rank));
}

bool nonzero_into(const at::Tensor& self, at::Tensor& out) {
  if (!is_served(self) || !are_plain({&self, &out}) || out.scalar_type() != at::kLong ||
      !is_apart(out, {&self}))
    return false;
  const Composition whole;
  Numbered numbered(self);
  if (!numbered.run()) return false;
  const int64_t count = numbered.count();
  const at::Tensor positions = empty_on(self.device().index(), {count}, at::kLong);
  if (!numbered.move(TBK_INDEX_WRITE, positions, numbered.positions())) return false;
  // A result that is resized has its dimensions the other way round in memory, as on PyTorch's CPU.
  const std::array<int64_t, 2> sizes = {count, self.dim()}, strides = {1, count};
  if (at::native::resize_output(out, sizes))
    out.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(sizes),
                                                     c10::IntArrayRef(strides));
  return take_apart(positions, self.sizes(), out);
}

/// Reads nothing: what is too many is left out, and what is missing is filled.
at::Tensor nonzero_static(const at::Tensor& self, c10::SymInt size, int64_t filler) {
  using Op = at::_ops::nonzero_static;
  const int64_t count = size.guard_int(__FILE__, __LINE__);
  if (is_served(self) && count >= 0 && self.numel() > 0) {
    const Composition whole;
    const c10::DeviceIndex device = self.device().index();
    Numbered numbered(self);
    const at::Tensor positions = empty_on(device, {count}, at::kLong).zero_();
    at::Tensor out = empty_on(device, {count, self.dim()}, at::kLong);
    if (numbered.run() && numbered.move(TBK_INDEX_WRITE, positions, numbered.positions()) &&
        take_apart(positions, self.sizes(), out)) {
      const at::Tensor is_missing = at::arange(count, out.options()).ge(numbered.all());
      out.masked_fill_(is_missing.unsqueeze(1), filler);
      count_served<Op>(Route::composed, out);
      return out;
    }
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, size, filler);
}

at::Tensor& nonzero_out(const at::Tensor& self, at::Tensor& out) {
  return served_or_on_host<at::_ops::nonzero_out>(nonzero_into(self, out), Route::composed, out,
                                                  self, out);
}

at::Tensor nonzero(const at::Tensor& self) {
  using Op = at::_ops::nonzero;
  if (is_served(self)) {
    at::Tensor out = empty_on(self.device().index(), {0}, at::kLong);
    if (nonzero_into(self, out)) {
      count_served<Op>(Route::composed, out);
      return out;
    }
  }
  return on_host<Op>(self);
}

bool select_into(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  if (!is_served(mask) || mask.scalar_type() != at::kBool || !are_plain({&self, &mask, &out}) ||
      self.scalar_type() != out.scalar_type() || !is_apart(out, {&self, &mask}) ||
      !at::are_expandable(self.sizes(), mask.sizes()))
    return false;
  const Composition whole;
  const at::DimVector sizes = at::infer_size_dimvector(self.sizes(), mask.sizes());
  const at::Tensor all = mask.expand(sizes);
  Numbered numbered(all);
  if (!numbered.run()) return false;
  at::native::resize_output(out, {numbered.count()});
  return numbered.move(TBK_INDEX_WRITE, out, self.expand(sizes).contiguous().view(-1));
}

at::Tensor& masked_select_out(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  return served_or_on_host<at::_ops::masked_select_out>(select_into(self, mask, out),
                                                        Route::composed, out, self, mask, out);
}

at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) {
  using Op = at::_ops::masked_select;
  if (is_served(mask) && are_plain({&self, &mask})) {
    at::Tensor out = empty_on(self.device().index(), {0}, self.scalar_type());
    if (select_into(self, mask, out)) {
      count_served<Op>(Route::composed, out);
      return out;
    }
  }
  return on_host<Op>(self, mask);
}

/// PyTorch raises where the source has too few elements: the host reads how many are set, unless there are enough
/// for all.
bool scatter_into(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
  if (!is_served(mask) || mask.scalar_type() != at::kBool || !are_plain({&self, &mask, &source}) ||
      self.scalar_type() != source.scalar_type() ||
      !at::is_expandable_to(mask.sizes(), self.sizes()) || !is_apart(self, {&mask, &source}))
    return false;
  if (self.numel() == 0) return true;
  const Composition whole;
  const at::Tensor all = mask.expand(self.sizes());
  Numbered numbered(all);
  const at::Tensor moved = empty_on(self.device().index(), self.sizes(), self.scalar_type());
  if (!numbered.run() || (source.numel() < self.numel() && source.numel() < numbered.count()) ||
      !numbered.move(TBK_INDEX_GATHER, source.contiguous().view(-1), moved.view(-1)))
    return false;
  self.copy_(at::where(all, moved, self));
  return true;
}

at::Tensor& masked_scatter_(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
  return served_or_on_host<at::_ops::masked_scatter_>(scatter_into(self, mask, source),
                                                      Route::composed, self, self, mask, source);
}

/// Its inputs are the tensor, the mask and the number.
const Program* chosen(at::ScalarType dtype) {
  static OfDtypes<Program> made;
  return made_once(made, dtype, [&] {
    ProgramBuilder b;
    const at::ScalarType inner = computed_in(dtype);
    const Value old = b.cast(b.input(dtype), inner), mask = b.input(at::kBool),
                fresh = b.cast(b.input(dtype), inner);
    b.result(b.cast(b.apply(TBK_OPCODE_SELECT, {mask, fresh, old}), dtype));
    return b.intern();
  });
}

at::Tensor& masked_fill_(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  using Op = at::_ops::masked_fill__Tensor;
  if (is_open(Route::generic) && are_plain({&self}) && value.dim() == 0 &&
      c10::canCast(value.scalar_type(), self.scalar_type())) {
    const Composition part;
    if (fill_where(self, mask, number_for(self, value))) {
      count_served<Op>(Route::generic, self);
      return self;
    }
  }
  return on_host<Op>(self, mask, value);
}

}  // namespace

bool fill_where(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& number) {
  const at::ScalarType dtype = self.scalar_type();
  if (at::isComplexType(dtype) && dtype == number.scalar_type())
    return fill_where(at::view_as_real(self), mask.unsqueeze(-1), at::view_as_real(number));
  if (!are_plain({&self, &mask, &number}) || mask.scalar_type() != at::kBool ||
      number.scalar_type() != dtype || computed_in(dtype) == at::ScalarType::Undefined ||
      !at::is_expandable_to(mask.sizes(), self.sizes()) || !is_apart(self, {&mask, &number}) ||
      !offers_pointwise(self.device().index()))
    return false;
  return self.numel() == 0 || run_program(*chosen(dtype), self, {&self, &mask, &number});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nonzero", nonzero);
  m.impl("nonzero.out", nonzero_out);
  m.impl("nonzero_static", nonzero_static);
  m.impl("masked_select", masked_select);
  m.impl("masked_select.out", masked_select_out);
  m.impl("masked_scatter_", masked_scatter_);
  m.impl("masked_fill_.Tensor", masked_fill_);
}

}  // namespace tbk::generic
