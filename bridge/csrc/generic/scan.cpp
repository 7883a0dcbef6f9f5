// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// tbk::scan, and what is one launch of it: cumsum, cumprod, cummax, cummin and logcumsumexp.
#include <ATen/native/Resize.h>
#include <ATen/ops/_cummax_helper_ops.h>
#include <ATen/ops/_cummin_helper_ops.h>
#include <ATen/ops/_logcumsumexp_ops.h>
#include <ATen/ops/cumprod_ops.h>
#include <ATen/ops/cumsum_ops.h>
#include <aten/empty.h>
#include <aten/kernels.h>
#include <generic/complex_parts.h>
#include <generic/index.h>
#include <generic/made_once.h>
#include <generic/scan.h>
#include <tbk/tbk_scan.h>
#include <torch/library.h>

#include <array>

namespace tbk::generic {
namespace {

constinit Kernel scan_kernel(TBK_NAME_scan, TBK_VERSION_scan);

/// The operands of one launch, with the dimension that is scanned as the last one.
class ScanOperands {
 public:
  explicit ScanOperands(int64_t dim) : dim_(dim) {}
  ScanOperands(const ScanOperands&) = delete;
  ScanOperands& operator=(const ScanOperands&) = delete;

  /// A complex tensor is two operands: its real parts, and its imaginary ones.
  void add(const at::Tensor& tensor, bool is_written) {
    const tbk_tensor_t whole = is_written ? describe(tensor) : describe_input(tensor);
    if (!is_pair(tensor.scalar_type())) {
      add(tensor).description = whole;
      return;
    }
    for (const int64_t part : {0, 1}) {
      Item& item = add(tensor);
      item.description = part_of(whole, part);
      for (int64_t& stride : item.shape.strides)
        stride *= 2;
    }
  }
  size_t count() const {
    return items_.size();
  }
  /// Nothing is added afterwards.
  c10::ArrayRef<const tbk_tensor_t*> tensors() {
    for (Item& item : items_) {
      item.description.rank = static_cast<int32_t>(item.shape.sizes.size());
      item.description.sizes = item.shape.sizes.data();
      item.description.strides = item.shape.strides.data();
      tensors_.push_back(&item.description);
    }
    return tensors_;
  }

 private:
  struct Item {
    explicit Item(const at::Tensor& tensor) : shape(tensor), description() {}
    Shaped shape;
    tbk_tensor_t description;
  };

  Item& add(const at::Tensor& tensor) {
    Item& item = items_.emplace_back(tensor);
    move_to_end(item.shape.sizes, dim_);
    move_to_end(item.shape.strides, dim_);
    return item;
  }

  const int64_t dim_;
  c10::SmallVector<Item, 4> items_;
  c10::SmallVector<const tbk_tensor_t*, 4> tensors_;
};

bool knows(c10::DeviceIndex device, const Reduction& reduction, int64_t rank) {
  return (reduction.dtypes() & ~Backend::get().device(device).properties.dtypes) == 0 &&
         rank <= TBK_PROGRAM_MOST_RANK;
}

/// The greatest or least so far, and where it is: the last of equals. NaN is beyond every number. An index of
/// -1 stands for no element yet.
const Reduction* make_extreme_so_far(at::ScalarType dtype, bool is_max) {
  const at::ScalarType inner = computed_in(dtype);
  ProgramBuilder map, combine, finish;
  map.result(map.cast(map.input(dtype), inner));
  map.result(map.linear_index());
  const Value a = combine.parameter(inner), a_at = combine.parameter(at::kLong),
              b = combine.parameter(inner), b_at = combine.parameter(at::kLong);
  const auto op = [&](uint16_t opcode, Value x, Value y) { return combine.apply(opcode, {x, y}); };
  const Value zero = combine.constant(0, at::kLong);
  Value is_next = op(is_max ? TBK_OPCODE_GE : TBK_OPCODE_LE, b, a);
  if (at::isFloatingType(inner))
    is_next = op(TBK_OPCODE_OR, is_next, combine.apply(TBK_OPCODE_ISNAN, {b}));
  is_next = op(TBK_OPCODE_OR, is_next, op(TBK_OPCODE_LT, a_at, zero));
  is_next = op(TBK_OPCODE_AND, is_next, op(TBK_OPCODE_GE, b_at, zero));
  combine.result(combine.apply(TBK_OPCODE_SELECT, {is_next, b, a}));
  combine.result(combine.apply(TBK_OPCODE_SELECT, {is_next, b_at, a_at}));
  const Value value = finish.parameter(inner);
  finish.result(finish.cast(value, dtype));
  finish.result(finish.parameter(at::kLong));
  return intern_reduction(map.intern(), combine.intern(), finish.intern(),
                          {bits_in(inner, int64_t{0}), bits_in(at::kLong, int64_t{-1})},
                          /*is_commutative=*/false);
}

const Reduction* extreme_so_far(at::ScalarType dtype, bool is_max) {
  static OfDtypes<Reduction> greatest, least;
  return made_once(is_max ? greatest : least, dtype,
                   [&] { return make_extreme_so_far(dtype, is_max); });
}

/// The dimension, where a call is of dense tensors of one device, whose results have nothing of what is read.
std::optional<int64_t> served_dim(const at::Tensor& self, int64_t dim,
                                  std::initializer_list<const at::Tensor*> outputs) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || !is_open(Route::generic) || !are_plain({&self}) ||
      computed_in(part_dtype(self.scalar_type())) == at::ScalarType::Undefined ||
      !offers_scan(self.device().index()))
    return std::nullopt;
  for (const at::Tensor* out : outputs)
    if (!are_plain({&self, out}) ||
        !(out->is_same(self) ? is_apart(*out, {}) : is_apart(*out, {&self})))
      return std::nullopt;
  return at;
}

bool accumulate_into(Recipe recipe, const at::Tensor& self, int64_t dim, at::ScalarType as,
                     at::Tensor& out) {
  const std::optional<int64_t> at = served_dim(self, dim, {&out});
  if (!at.has_value() || out.scalar_type() != as || as == at::kBool) return false;
  const Reduction* reduction = reduction_of(recipe, self.scalar_type(), as, as);
  if (reduction == nullptr) return false;
  at::native::resize_output(out, self.sizes());
  if (out.numel() > 0 && !run_scan(*reduction, *at, {&out}, {&self})) return false;
  warn_of_lost_parts(self.scalar_type(), as);
  return true;
}

template <class Op>
at::Tensor& accumulate(Recipe recipe, const at::Tensor& self, int64_t dim,
                       std::optional<at::ScalarType> dtype, at::Tensor& out) {
  const at::ScalarType as = dtype.value_or(out.scalar_type());
  return served_or_on_host<Op>(accumulate_into(recipe, self, dim, as, out), Route::generic, out,
                               self, dim, dtype, out);
}

at::Tensor& cumsum_out(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype,
                       at::Tensor& out) {
  return accumulate<at::_ops::cumsum_out>(Recipe::kSum, self, dim, dtype, out);
}
at::Tensor& cumprod_out(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype,
                        at::Tensor& out) {
  return accumulate<at::_ops::cumprod_out>(Recipe::kProd, self, dim, dtype, out);
}

bool is_real(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type());
}

at::Tensor& logcumsumexp_out(const at::Tensor& self, int64_t dim, at::Tensor& out) {
  const bool is_served =
      is_real(self) && accumulate_into(Recipe::kLogSumExp, self, dim, self.scalar_type(), out);
  return served_or_on_host<at::_ops::_logcumsumexp_out>(is_served, Route::generic, out, self, dim,
                                                        out);
}

at::Tensor logcumsumexp(const at::Tensor& self, int64_t dim) {
  using Op = at::_ops::_logcumsumexp;
  if (is_real(self) && served_dim(self, dim, {}).has_value()) {
    at::Tensor out = empty_on(self.device().index(), self.sizes(), self.scalar_type());
    if (accumulate_into(Recipe::kLogSumExp, self, dim, self.scalar_type(), out)) {
      count_served<Op>(Route::generic, out);
      return out;
    }
  }
  return on_host<Op>(self, dim);
}

/// PyTorch has given both results the sizes of `self`, which has elements and dimensions.
bool extremes_into(bool is_max, const at::Tensor& self, const at::Tensor& values,
                   const at::Tensor& indices, int64_t dim) {
  const std::optional<int64_t> at = served_dim(self, dim, {&values, &indices});
  return at.has_value() && !self.is_complex() && self.numel() > 0 &&
         values.scalar_type() == self.scalar_type() && indices.scalar_type() == at::kLong &&
         values.sizes() == self.sizes() && indices.sizes() == self.sizes() &&
         is_apart(values, {&indices}) &&
         run_scan(*extreme_so_far(self.scalar_type(), is_max), *at, {&values, &indices}, {&self});
}

void cummax_helper(const at::Tensor& self, at::Tensor& values, at::Tensor& indices, int64_t dim) {
  using Op = at::_ops::_cummax_helper;
  if (!extremes_into(true, self, values, indices, dim))
    return on_host<Op>(self, values, indices, dim);
  count_served<Op>(Route::generic, values);
}
void cummin_helper(const at::Tensor& self, at::Tensor& values, at::Tensor& indices, int64_t dim) {
  using Op = at::_ops::_cummin_helper;
  if (!extremes_into(false, self, values, indices, dim))
    return on_host<Op>(self, values, indices, dim);
  count_served<Op>(Route::generic, values);
}

}  // namespace

bool offers_scan(c10::DeviceIndex device) {
  Backend::get().ensure_open(device);
  return scan_kernel.find(device) != nullptr;
}

bool run_scan(const Reduction& reduction, int64_t dim, c10::ArrayRef<const at::Tensor*> outputs,
              c10::ArrayRef<const at::Tensor*> inputs) {
  const c10::DeviceIndex device = outputs[0]->device().index();
  if (!knows(device, reduction, outputs[0]->dim())) return false;
  ScanOperands operands(dim);
  // What is written comes first: a lazy clone gets memory of its own then.
  for (const at::Tensor* each : outputs)
    operands.add(*each, true);
  const size_t written = operands.count();
  for (const at::Tensor* each : inputs)
    operands.add(*each, false);
  const c10::ArrayRef<const tbk_tensor_t*> tensors = operands.tensors();
  const tbk_operand_set_t set = {sizeof set, tensors.data(), tensors.data() + written,
                                 nullptr,    nullptr,        0};
  const tbk_operand_set_t* const sets[] = {&set};
  tbk_args_scan_t arguments = {};
  arguments.struct_size = sizeof arguments;
  arguments.reduction = &reduction.view;
  arguments.sets = sets;
  arguments.set_count = 1;
  arguments.index_bits = index_bits_of(tensors);
  const std::array<int64_t, 2> others = {
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(&reduction)), arguments.index_bits};
  return launch(scan_kernel, device, &arguments, tensors, others);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cumsum.out", cumsum_out);
  m.impl("cumprod.out", cumprod_out);
  m.impl("_cummax_helper", cummax_helper);
  m.impl("_cummin_helper", cummin_helper);
  m.impl("_logcumsumexp", logcumsumexp);
  m.impl("_logcumsumexp.out", logcumsumexp_out);
}

}  // namespace tbk::generic
