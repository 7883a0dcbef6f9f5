// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// sort and topk, one launch of tbk::sort; kthvalue and the medians, what stands at a place of it.
#include <ATen/Context.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/kthvalue_ops.h>
#include <ATen/ops/median_ops.h>
#include <ATen/ops/nanmedian_ops.h>
#include <ATen/ops/sort_ops.h>
#include <ATen/ops/topk_ops.h>
#include <aten/empty.h>
#include <aten/kernels.h>
#include <generic/index.h>
#include <generic/made_once.h>
#include <generic/scan.h>
#include <generic/sort.h>
#include <tbk/tbk_sort.h>
#include <torch/library.h>

#include <tuple>

namespace tbk::generic {
namespace {

using TwoOutputs = std::tuple<at::Tensor&, at::Tensor&>;

constinit Kernel sort_kernel(TBK_NAME_sort, TBK_VERSION_sort);

struct Sorted {
  Sorted(const at::Tensor& tensor, int64_t dim, bool is_written) : shape(tensor) {
    move_to_end(shape.sizes, dim);
    move_to_end(shape.strides, dim);
    description = is_written ? describe(tensor) : describe_input(tensor);
    description.rank = static_cast<int32_t>(shape.sizes.size());
    description.sizes = shape.sizes.data();
    description.strides = shape.strides.data();
  }
  Sorted(const Sorted&) = delete;
  Sorted& operator=(const Sorted&) = delete;

  Shaped shape;
  tbk_tensor_t description;
};

/// False, with nothing done, where the backend refuses. `values` and `indices` may have fewer along `dim`.
bool run_sort(const at::Tensor& self, int64_t dim, uint64_t flags, const at::Tensor& values,
              const at::Tensor& indices) {
  if (values.numel() == 0) return true;
  if (at::globalContext().deterministicAlgorithms()) flags |= TBK_SORT_STABLE;
  const Sorted to(values, dim, true), places(indices, dim, true), from(self, dim, false);
  const std::array<const tbk_tensor_t*, 3> tensors = {&from.description, &to.description,
                                                      &places.description};
  const tbk_args_sort_t arguments = {sizeof arguments, tensors[0], tensors[1],
                                     tensors[2],       flags,      index_bits_of(tensors)};
  return launch(sort_kernel, self.device().index(), &arguments, tensors,
                std::array<int64_t, 2>{static_cast<int64_t>(flags), arguments.index_bits});
}

/// The dimension, where a call may be served.
std::optional<int64_t> served_dim(const at::Tensor& self, int64_t dim, Route route) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || !is_open(route) || !are_plain({&self}) ||
      at::isComplexType(self.scalar_type()) || self.dim() > TBK_PROGRAM_MOST_RANK)
    return std::nullopt;
  return offers_sort(self.device().index()) ? at : std::nullopt;
}

bool are_sorted_into(const at::Tensor& self, const at::Tensor& values, const at::Tensor& indices) {
  return are_plain({&self, &values, &indices}) && values.scalar_type() == self.scalar_type() &&
         indices.scalar_type() == at::kLong && is_apart(indices, {&self, &values}) &&
         is_apart(values, {}) && (values.is_same(self) || is_apart(values, {&self}));
}

uint64_t order(bool is_descending) {
  return is_descending ? TBK_SORT_DESCENDING : 0;
}

bool sort_into(const at::Tensor& self, bool is_stable, int64_t dim, bool is_descending,
               at::Tensor& values, at::Tensor& indices) {
  const std::optional<int64_t> at = served_dim(self, dim, Route::generic);
  if (!at.has_value() || !are_sorted_into(self, values, indices)) return false;
  at::native::resize_output(values, self.sizes());
  at::native::resize_output(indices, self.sizes());
  return run_sort(self, *at, order(is_descending) | (is_stable ? TBK_SORT_STABLE : 0), values,
                  indices);
}

/// The sizes of `self` with `count` of them along `dim`.
at::DimVector sizes_with(const at::Tensor& self, int64_t dim, int64_t count) {
  at::DimVector sizes(self.sizes().begin(), self.sizes().end());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = count;
  return sizes;
}

int64_t length_of(const at::Tensor& self, int64_t dim) {
  return self.dim() == 0 ? 1 : self.size(dim);
}

bool topk_into(const at::Tensor& self, int64_t count, int64_t dim, bool is_largest,
               at::Tensor& values, at::Tensor& indices) {
  const std::optional<int64_t> at = served_dim(self, dim, Route::generic);
  if (!at.has_value() || count < 0 || count > length_of(self, *at) ||
      (self.dim() == 0 && count != 1) || values.is_same(self) ||
      !are_sorted_into(self, values, indices))
    return false;
  const at::DimVector sizes = sizes_with(self, *at, count);
  at::native::resize_output(values, sizes);
  at::native::resize_output(indices, sizes);
  return run_sort(self, *at, order(is_largest), values, indices);
}

/// The first `count` of each segment, and where they were; not defined where the backend refuses.
std::pair<at::Tensor, at::Tensor> first_of(const at::Tensor& self, int64_t dim, int64_t count) {
  const at::DimVector sizes = sizes_with(self, dim, count);
  const c10::DeviceIndex device = self.device().index();
  at::Tensor values = empty_on(device, sizes, self.scalar_type()),
             indices = empty_on(device, sizes, at::kLong);
  if (!run_sort(self, dim, TBK_SORT_STABLE, values, indices)) return {};
  return {values, indices};
}

/// Gives a result what stands at one place of each segment.
void give(const at::Tensor& one, int64_t dim, bool keepdim, at::Tensor& out) {
  const at::Tensor shaped = keepdim || one.dim() == 0 ? one : one.squeeze(dim);
  at::native::resize_output(out, shaped.sizes());
  out.copy_(shaped);
}

bool kthvalue_into(const at::Tensor& self, int64_t place, int64_t dim, bool keepdim,
                   at::Tensor& values, at::Tensor& indices) {
  const std::optional<int64_t> at = served_dim(self, dim, Route::composed);
  if (!at.has_value() || place < 1 || place > length_of(self, *at) || self.numel() == 0 ||
      self.scalar_type() == at::kBool || values.is_same(self) ||
      !are_sorted_into(self, values, indices))
    return false;
  const Composition whole;
  const auto [all, places] = first_of(self, *at, place);
  if (!all.defined()) return false;
  const auto last = [&](const at::Tensor& of) {
    return of.dim() == 0 ? of : of.narrow(*at, place - 1, 1);
  };
  give(last(all), *at, keepdim, values);
  give(last(places), *at, keepdim, indices);
  return true;
}

/// Where the median is in a sorted segment, whose NaN stand last: at the first of those, or, where they do
/// not count, in the middle of the others. The input is how many there are, number 0 the length.
const Program* middle_program(bool ignores_nan) {
  static std::array<std::atomic<const Program*>, 2> made;
  return made_once(made[ignores_nan ? 1 : 0], [&] {
    ProgramBuilder b;
    const Value nans = b.input(at::kLong), length = b.number(at::kLong);
    const Value zero = b.constant(0, at::kLong), one = b.constant(1, at::kLong);
    const Value numbers = b.apply(TBK_OPCODE_SUB, {length, nans});
    const Value last = b.apply(TBK_OPCODE_SUB, {ignores_nan ? numbers : length, one});
    const Value half = b.apply(TBK_OPCODE_SHR, {b.apply(TBK_OPCODE_MAX, {last, zero}), one});
    const Value has_nan = b.apply(TBK_OPCODE_GT, {nans, zero});
    b.result(ignores_nan ? half : b.apply(TBK_OPCODE_SELECT, {has_nan, numbers, half}));
    return b.intern();
  });
}

/// Not defined where the backend refuses.
at::Tensor middle(const at::Tensor& self, int64_t dim, bool ignores_nan) {
  const int64_t length = length_of(self, dim);
  const c10::DeviceIndex device = self.device().index();
  const at::DimVector sizes = sizes_with(self, dim, 1);
  if (!at::isFloatingType(self.scalar_type()))
    return number_of((length - 1) / 2, device, at::kLong).expand(sizes);
  const at::Tensor nans = at::isnan(self).sum(dim, /*keepdim=*/true);
  at::Tensor place = empty_on(device, sizes, at::kLong);
  const bool is_done =
      run_program(*middle_program(ignores_nan), place, {&nans}, {static_cast<double>(length)});
  return is_done ? place : at::Tensor();
}

bool median_into(const at::Tensor& self, int64_t dim, bool keepdim, bool ignores_nan,
                 at::Tensor& values, at::Tensor& indices) {
  const std::optional<int64_t> at = served_dim(self, dim, Route::composed);
  if (at.has_value() && self.dim() == 0)
    return median_into(self.unsqueeze(0), 0, /*keepdim=*/false, ignores_nan, values, indices);
  if (!at.has_value() || self.numel() == 0 || self.scalar_type() == at::kBool ||
      values.is_same(self) || !are_sorted_into(self, values, indices) ||
      !offers_index(self.device().index()) || !offers_pointwise(self.device().index()) ||
      !offers_reduce(self.device().index()))
    return false;
  const Composition whole;
  const auto [all, places] = first_of(self, *at, length_of(self, *at));
  if (!all.defined()) return false;
  const at::Tensor place = middle(self, *at, ignores_nan);
  if (!place.defined()) return false;
  give(at::gather(all, *at, place), *at, keepdim, values);
  give(at::gather(places, *at, place), *at, keepdim, indices);
  return true;
}

template <class Op, class... Arguments>
TwoOutputs both_or_on_host(bool is_served, Route route, at::Tensor& values, at::Tensor& indices,
                           Arguments&&... arguments) {
  if (!is_served) return on_host<Op>(std::forward<Arguments>(arguments)..., values, indices);
  count_served<Op>(route, values);
  return {values, indices};
}

TwoOutputs sort_out(const at::Tensor& self, std::optional<bool> stable, int64_t dim,
                    bool descending, at::Tensor& values, at::Tensor& indices) {
  return both_or_on_host<at::_ops::sort_values_stable>(
      sort_into(self, stable.value_or(false), dim, descending, values, indices), Route::generic,
      values, indices, self, stable, dim, descending);
}

TwoOutputs topk_out(const at::Tensor& self, int64_t count, int64_t dim, bool largest, bool sorted,
                    at::Tensor& values, at::Tensor& indices) {
  return both_or_on_host<at::_ops::topk_values>(
      topk_into(self, count, dim, largest, values, indices), Route::generic, values, indices, self,
      count, dim, largest, sorted);
}

TwoOutputs kthvalue_out(const at::Tensor& self, int64_t place, int64_t dim, bool keepdim,
                        at::Tensor& values, at::Tensor& indices) {
  return both_or_on_host<at::_ops::kthvalue_values>(
      kthvalue_into(self, place, dim, keepdim, values, indices), Route::composed, values, indices,
      self, place, dim, keepdim);
}

TwoOutputs median_out(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& values,
                      at::Tensor& indices) {
  return both_or_on_host<at::_ops::median_dim_values>(
      median_into(self, dim, keepdim, false, values, indices), Route::composed, values, indices,
      self, dim, keepdim);
}

TwoOutputs nanmedian_out(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& values,
                         at::Tensor& indices) {
  return both_or_on_host<at::_ops::nanmedian_dim_values>(
      median_into(self, dim, keepdim, true, values, indices), Route::composed, values, indices,
      self, dim, keepdim);
}

template <class Op>
at::Tensor median_of_all(const at::Tensor& self, bool ignores_nan) {
  if (are_plain({&self}) && self.numel() > 0) {
    const c10::DeviceIndex device = self.device().index();
    at::Tensor value = empty_on(device, {}, self.scalar_type()),
               place = empty_on(device, {}, at::kLong);
    if (median_into(self.reshape({-1}), 0, false, ignores_nan, value, place)) {
      count_served<Op>(Route::composed, value);
      return value;
    }
  }
  return on_host<Op>(self);
}

at::Tensor median(const at::Tensor& self) {
  return median_of_all<at::_ops::median>(self, false);
}
at::Tensor nanmedian(const at::Tensor& self) {
  return median_of_all<at::_ops::nanmedian>(self, true);
}

}  // namespace

bool offers_sort(c10::DeviceIndex device) {
  Backend::get().ensure_open(device);
  return sort_kernel.find(device) != nullptr;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sort.values_stable", sort_out);
  m.impl("topk.values", topk_out);
  m.impl("kthvalue.values", kthvalue_out);
  m.impl("median", median);
  m.impl("median.dim_values", median_out);
  m.impl("nanmedian", nanmedian);
  m.impl("nanmedian.dim_values", nanmedian_out);
}

}  // namespace tbk::generic
