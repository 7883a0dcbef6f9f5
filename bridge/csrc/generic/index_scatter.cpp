// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// scatter, scatter_add and scatter_reduce.
#include <ATen/ops/scatter_add_ops.h>
#include <ATen/ops/scatter_ops.h>
#include <ATen/ops/scatter_reduce_ops.h>
#include <generic/index_write.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

/// Whether an index of these sizes lies within a tensor of those, but for `dim`, which may be -1.
bool lies_within(const at::DimVector& index, const at::DimVector& sizes, int64_t dim) {
  if (index.size() != sizes.size()) return false;
  for (size_t d = 0; d < sizes.size(); d++)
    if (static_cast<int64_t>(d) != dim && index[d] > sizes[d]) return false;
  return true;
}

/// What is written where, once it is known to be served; nothing where PyTorch raises.
std::optional<Writing> scattered(const char* operation, const at::Tensor& self, int64_t dim,
                                 const at::Tensor& index, const at::Tensor& source,
                                 const at::Tensor& out) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || !may_write(self, index, source, out)) return std::nullopt;
  const Shaped table(self), places(index), from(source);
  if (index.numel() > 0 &&
      (!lies_within(places.sizes, table.sizes, *at) || !lies_within(places.sizes, from.sizes, -1)))
    return std::nullopt;
  Placement placement(operation, places.sizes);
  placement.by_one_of(static_cast<int64_t>(table.sizes.size()), *at, index, places.strides);
  return Writing{self, out, placement, Shaped(source, places.sizes, from.strides)};
}

bool scatter_into(const char* operation, int64_t mode, const at::Tensor& self, int64_t dim,
                  const at::Tensor& index, const at::Tensor& source, at::Tensor& out) {
  if (!is_open(Route::generic)) return false;
  if (index.numel() == 0 && are_plain({&self, &out}) && self.scalar_type() == out.scalar_type()) {
    start_from(self, out);  // an index without elements may be of any dtype
    return true;
  }
  const auto writing = scattered(operation, self, dim, index, source, out);
  return writing.has_value() && write(*writing, mode);
}

/// As if `value` stood in a tensor of the sizes of `index`.
bool scatter_number(const char* operation, int64_t mode, const at::Tensor& self, int64_t dim,
                    const at::Tensor& index, const at::Scalar& value, at::Tensor& out) {
  if (!is_open(Route::generic) || !are_plain({&self, &index, &out})) return false;
  // PyTorch refuses a number that does not fit where it would be written.
  const at::Tensor number = number_of(index.numel() == 0 ? at::Scalar(0) : value,
                                      self.device().index(), self.scalar_type());
  return scatter_into(operation, mode, self, dim, index, number.expand(index.sizes()), out);
}

std::optional<int64_t> mode_of(std::string_view reduce) {
  if (reduce == "add") return TBK_INDEX_ADD;
  if (reduce == "multiply") return TBK_INDEX_MUL;
  return std::nullopt;
}

at::Tensor& scatter_src_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                            const at::Tensor& source, at::Tensor& out) {
  using Op = at::_ops::scatter_src_out;
  const bool is_served =
      scatter_into("aten::scatter.src", TBK_INDEX_WRITE, self, dim, index, source, out);
  return served_or_on_host<Op>(is_served, Route::generic, out, self, dim, index, source, out);
}

at::Tensor& scatter_value_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                              const at::Scalar& value, at::Tensor& out) {
  using Op = at::_ops::scatter_value_out;
  const bool is_served =
      scatter_number("aten::scatter.value", TBK_INDEX_WRITE, self, dim, index, value, out);
  return served_or_on_host<Op>(is_served, Route::generic, out, self, dim, index, value, out);
}

at::Tensor& scatter_reduce_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                               const at::Tensor& source, std::string_view reduce, at::Tensor& out) {
  using Op = at::_ops::scatter_reduce_out;
  const std::optional<int64_t> mode = mode_of(reduce);
  const bool is_served = mode.has_value() &&
                         scatter_into("aten::scatter.reduce", *mode, self, dim, index, source, out);
  return served_or_on_host<Op>(is_served, Route::generic, out, self, dim, index, source, reduce,
                               out);
}

at::Tensor& scatter_value_reduce_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                                     const at::Scalar& value, std::string_view reduce,
                                     at::Tensor& out) {
  using Op = at::_ops::scatter_value_reduce_out;
  const std::optional<int64_t> mode = mode_of(reduce);
  const bool is_served = mode.has_value() && scatter_number("aten::scatter.value_reduce", *mode,
                                                            self, dim, index, value, out);
  return served_or_on_host<Op>(is_served, Route::generic, out, self, dim, index, value, reduce,
                               out);
}

at::Tensor& scatter_add_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                            const at::Tensor& source, at::Tensor& out) {
  using Op = at::_ops::scatter_add_out;
  const bool is_served =
      scatter_into("aten::scatter_add", TBK_INDEX_ADD, self, dim, index, source, out);
  return served_or_on_host<Op>(is_served, Route::generic, out, self, dim, index, source, out);
}

at::Tensor& scatter_reduce_two_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                                   const at::Tensor& source, std::string_view reduce,
                                   bool include_self, at::Tensor& out) {
  using Op = at::_ops::scatter_reduce_two_out;
  const std::optional<Reducing> how = reducing_of(reduce);
  const auto writing = scattered("aten::scatter_reduce.two", self, dim, index, source, out);
  const bool is_served =
      how.has_value() && writing.has_value() && write_reduced(*writing, *how, include_self);
  const Route route = how.has_value() ? route_of_reduced(*how, include_self) : Route::generic;
  return served_or_on_host<Op>(is_served, route, out, self, dim, index, source, reduce,
                               include_self, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("scatter.src_out", scatter_src_out);
  m.impl("scatter.value_out", scatter_value_out);
  m.impl("scatter.reduce_out", scatter_reduce_out);
  m.impl("scatter.value_reduce_out", scatter_value_reduce_out);
  m.impl("scatter_add.out", scatter_add_out);
  m.impl("scatter_reduce.two_out", scatter_reduce_two_out);
}

}  // namespace tbk::generic
