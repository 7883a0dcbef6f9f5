// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// index_add, index_copy, index_fill and index_reduce, and the gradient of embedding: whole slices along one
// dimension.
#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/index_add_ops.h>
#include <ATen/ops/index_copy_ops.h>
#include <ATen/ops/index_fill_ops.h>
#include <ATen/ops/index_reduce_ops.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/host_number.h>
#include <generic/index_write.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// The slices of `sizes`, of which there are as many as indices, that lie along `dim` of a table of that
/// rank.
Placement slices(const char* operation, const at::DimVector& sizes, int64_t dim,
                 const at::Tensor& index, uint64_t flags) {
  at::DimVector strides = standing(sizes.size());
  strides[static_cast<size_t>(dim)] = index.dim() == 0 ? 1 : index.stride(0);
  Placement placement(operation, sizes, flags);
  placement.by_one_of(static_cast<int64_t>(sizes.size()), dim, index, strides);
  return placement;
}

/// What is written where, once it is known to be served; nothing where PyTorch raises.
std::optional<Writing> sliced(const char* operation, const at::Tensor& self, int64_t dim,
                              const at::Tensor& index, const at::Tensor& source,
                              const at::Tensor& out) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || index.dim() > 1 || self.dim() != source.dim() ||
      !may_write(self, index, source, out))
    return std::nullopt;
  const Shaped table(self), from(source);
  at::DimVector sizes = table.sizes;
  sizes[static_cast<size_t>(*at)] = index.numel();
  if (from.sizes != sizes) return std::nullopt;
  return Writing{self, out, slices(operation, sizes, *at, index, 0), from};
}

/// PyTorch raises for other numbers, or computes what it makes of them.
bool is_factor(const at::Scalar& alpha, at::ScalarType dtype) {
  if (!fits(alpha, dtype, /*is_checked=*/false)) return false;
  if (dtype == at::kBool || dtype == at::kComplexHalf || alpha.isBoolean()) return alpha.equal(1);
  return !alpha.isFloatingPoint() || !at::isIntegralType(dtype, /*includeBool=*/true);
}

bool index_add_into(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                    const at::Tensor& source, const at::Scalar& alpha, Route route,
                    at::Tensor& out) {
  if (!is_open(route) || !is_factor(alpha, self.scalar_type()) ||
      !sliced("aten::index_add", self, dim, index, source, out).has_value())
    return false;
  const Composition whole;
  const at::Tensor multiplied = route == Route::composed ? source.mul(alpha) : source;
  const auto writing = sliced("aten::index_add", self, dim, index, multiplied, out);
  return writing.has_value() && write(*writing, TBK_INDEX_ADD);
}

at::Tensor& index_add_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                          const at::Tensor& source, const at::Scalar& alpha, at::Tensor& out) {
  using Op = at::_ops::index_add_out;
  const Route route = alpha.equal(1) ? Route::generic : Route::composed;
  const bool is_served = index_add_into(self, dim, index, source, alpha, route, out);
  return served_or_on_host<Op>(is_served, route, out, self, dim, index, source, alpha, out);
}

at::Tensor& index_copy_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                           const at::Tensor& source, at::Tensor& out) {
  using Op = at::_ops::index_copy_out;
  const auto writing = sliced("aten::index_copy", self, dim, index, source, out);
  const bool is_served = is_open(Route::generic) && index.scalar_type() == at::kLong &&
                         writing.has_value() && write(*writing, TBK_INDEX_WRITE);
  return served_or_on_host<Op>(is_served, Route::generic, out, self, dim, index, source, out);
}

at::Tensor& index_reduce_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                             const at::Tensor& source, std::string_view reduce, bool include_self,
                             at::Tensor& out) {
  using Op = at::_ops::index_reduce_out;
  const std::optional<Reducing> how = reducing_of(reduce == "sum" ? "" : reduce);
  const auto writing = sliced("aten::index_reduce", self, dim, index, source, out);
  const bool is_served =
      how.has_value() && writing.has_value() && write_reduced(*writing, *how, include_self);
  const Route route = how.has_value() ? route_of_reduced(*how, include_self) : Route::generic;
  return served_or_on_host<Op>(is_served, route, out, self, dim, index, source, reduce,
                               include_self, out);
}

bool fill_into(at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& number) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || index.dim() > 1 || index.scalar_type() != at::kLong ||
      !may_write(self, index, number, self))
    return false;
  const Shaped table(self);
  at::DimVector sizes = table.sizes;
  sizes[static_cast<size_t>(*at)] = index.numel();
  const Placement placement = slices("aten::index_fill_", sizes, *at, index, TBK_INDEX_NEGATIVE);
  return placement.run(TBK_INDEX_WRITE, table, placement.everywhere(number));
}

at::Tensor& index_fill_scalar(at::Tensor& self, int64_t dim, const at::Tensor& index,
                              const at::Scalar& value) {
  using Op = at::_ops::index_fill__int_Scalar;
  const bool may_be = is_open(Route::generic) && are_plain({&self, &index}) &&
                      (!value.isComplex() || self.is_complex());
  const bool is_served =
      may_be &&
      fill_into(self, dim, index, number_of(value, self.device().index(), self.scalar_type()));
  return served_or_on_host<Op>(is_served, Route::generic, self, self, dim, index, value);
}

at::Tensor& index_fill_tensor(at::Tensor& self, int64_t dim, const at::Tensor& index,
                              const at::Tensor& value) {
  using Op = at::_ops::index_fill__int_Tensor;
  if (is_host_number(value)) return index_fill_scalar(self, dim, index, value.item());
  const bool is_served = is_open(Route::generic) && are_plain({&self, &index, &value}) &&
                         value.dim() == 0 &&
                         c10::canCast(value.scalar_type(), self.scalar_type()) &&
                         fill_into(self, dim, index, number_for(self, value));
  return served_or_on_host<Op>(is_served, Route::generic, self, self, dim, index, value);
}

/// Sums rows of the gradient; not defined where the backend refuses.
at::Tensor summed_rows(const at::Tensor& gradient, const at::Tensor& indices, int64_t rows) {
  const at::Tensor sums =
      empty_on(gradient.device().index(), {rows, gradient.size(-1)}, gradient.scalar_type())
          .zero_();
  at::DimVector strides(indices.strides().begin(), indices.strides().end());
  strides.push_back(0);
  Placement placement("aten::embedding_dense_backward", gradient.sizes());
  placement.by(indices, strides);
  placement.along(gradient.dim() - 1);
  return placement.run(TBK_INDEX_ADD, Shaped(sums), Shaped(gradient)) ? sums : at::Tensor();
}

at::Tensor embedding_gradient(const at::Tensor& gradient, const at::Tensor& indices, int64_t rows,
                              int64_t padding, Route route) {
  const bool may_be =
      is_open(route) && are_plain({&gradient, &indices}) && has_indices(indices) &&
      gradient.dim() == indices.dim() + 1 &&
      gradient.sizes().slice(0, static_cast<size_t>(indices.dim())) == indices.sizes() &&
      at::isFloatingType(gradient.scalar_type()) && rows > 0 &&
      offers_index(gradient.device().index());
  if (!may_be) return at::Tensor();
  const Composition whole;
  // Thousands of rows may become one: their sum is rounded to half once.
  const at::ScalarType dtype = gradient.scalar_type();
  at::Tensor sums = summed_rows(gradient.to(computed_in(dtype)), indices, rows);
  if (!sums.defined()) return sums;
  if (padding >= 0 && padding < rows) sums.select(0, padding).zero_();
  return sums.to(dtype);
}

at::Tensor embedding_dense_backward(const at::Tensor& gradient, const at::Tensor& indices,
                                    int64_t rows, int64_t padding, bool by_frequency) {
  using Op = at::_ops::embedding_dense_backward;
  const at::ScalarType dtype = gradient.scalar_type();
  const Route route = computed_in(dtype) == dtype ? Route::generic : Route::composed;
  if (!by_frequency) {
    const at::Tensor sums = embedding_gradient(gradient, indices, rows, padding, route);
    if (sums.defined()) {
      count_served<Op>(route, sums);
      return sums;
    }
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(gradient, indices, rows,
                                                                      padding, by_frequency);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("index_add.out", index_add_out);
  m.impl("index_copy.out", index_copy_out);
  m.impl("index_reduce.out", index_reduce_out);
  m.impl("index_fill_.int_Scalar", index_fill_scalar);
  m.impl("index_fill_.int_Tensor", index_fill_tensor);
  m.impl("embedding_dense_backward", embedding_dense_backward);
}

}  // namespace tbk::generic
