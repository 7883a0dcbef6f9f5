// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// gather, index_select, take and put_: one launch of tbk::index each.
#include <ATen/native/Resize.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/put_ops.h>
#include <ATen/ops/take_ops.h>
#include <aten/empty.h>
#include <generic/index.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

bool is_read_by(const at::Tensor& self, const at::Tensor& index) {
  return is_open(Route::generic) && are_plain({&self, &index}) && has_indices(index) &&
         offers_index(self.device().index());
}

bool may_be_gathered_into(const at::Tensor& out, const at::Tensor& self, const at::Tensor& index) {
  return are_plain({&self, &out}) && out.scalar_type() == self.scalar_type() &&
         is_apart(out, {&self, &index});
}

bool gather_into(const at::Tensor& self, int64_t dim, const at::Tensor& index, at::Tensor& out) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || !are_plain({&self, &index}) || !may_be_gathered_into(out, self, index))
    return false;
  if (index.numel() == 0 && is_open(Route::generic)) {  // of any dtype and number of dimensions
    at::native::resize_output(out, index.sizes());
    return true;
  }
  if (!is_read_by(self, index)) return false;
  const Shaped table(self), places(index);
  if (table.sizes.size() != places.sizes.size()) return false;
  for (size_t d = 0; d < table.sizes.size(); d++)
    if (static_cast<int64_t>(d) != *at && places.sizes[d] > table.sizes[d]) return false;
  at::native::resize_output(out, index.sizes());
  Placement placement("aten::gather", places.sizes);
  placement.by_one_of(static_cast<int64_t>(table.sizes.size()), *at, index, places.strides);
  return placement.run(TBK_INDEX_GATHER, table, Shaped(out));
}

/// The sizes of what index_select gives; nothing where PyTorch raises.
std::optional<at::DimVector> selected_sizes(const at::Tensor& self, int64_t dim,
                                            const at::Tensor& index) {
  at::DimVector sizes(self.sizes().begin(), self.sizes().end());
  if (index.dim() > 1 || (sizes.empty() && index.numel() != 1)) return std::nullopt;
  if (!sizes.empty() && sizes[static_cast<size_t>(dim)] == 0 && index.numel() > 0)
    return std::nullopt;
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = index.numel();
  return sizes;
}

bool select_into(const at::Tensor& self, int64_t dim, const at::Tensor& index, at::Tensor& out) {
  const std::optional<int64_t> at = wrapped(dim, self);
  if (!at.has_value() || !is_read_by(self, index) || !may_be_gathered_into(out, self, index))
    return false;
  const std::optional<at::DimVector> sizes = selected_sizes(self, *at, index);
  if (!sizes.has_value()) return false;
  at::native::resize_output(out, *sizes);
  const Shaped values(out);
  at::DimVector strides = standing(values.sizes.size());
  strides[static_cast<size_t>(*at)] = index.dim() == 0 ? 1 : index.stride(0);
  Placement placement("aten::index_select", values.sizes);
  placement.by_one_of(static_cast<int64_t>(values.sizes.size()), *at, index, strides);
  return placement.run(TBK_INDEX_GATHER, Shaped(self), values);
}

/// Places of a tensor in the order of its elements. Where those lie in that order, it is one dimension of them.
bool run_flat(const char* operation, int64_t mode, const at::Tensor& table, const at::Tensor& index,
              const at::Tensor& values) {
  const Shaped places(index);
  const bool is_line = table.is_contiguous();
  Placement placement(operation, places.sizes, TBK_INDEX_NEGATIVE | (is_line ? 0 : TBK_INDEX_FLAT));
  placement.by(index, places.strides);
  const Shaped line(table, {table.numel()}, {1});
  return placement.run(mode, is_line ? line : Shaped(table), Shaped(values));
}

bool take_into(const at::Tensor& self, const at::Tensor& index, at::Tensor& out) {
  if (!is_read_by(self, index) || index.scalar_type() != at::kLong ||
      !may_be_gathered_into(out, self, index))
    return false;
  at::native::resize_output(out, index.sizes());
  return run_flat("aten::take", TBK_INDEX_GATHER, self, index, out);
}

bool put_into(at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
              bool accumulate) {
  if (!is_read_by(self, index) || index.scalar_type() != at::kLong ||
      !are_plain({&self, &source}) || self.scalar_type() != source.scalar_type() ||
      index.numel() != source.numel() || !is_apart(self, {&index, &source}))
    return false;
  const int64_t mode = accumulate ? TBK_INDEX_ADD : TBK_INDEX_WRITE;
  return run_flat("aten::put_", mode, self, index, source.reshape(index.sizes()));
}

at::Tensor& gather_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                       bool sparse_gradient, at::Tensor& out) {
  return served_or_on_host<at::_ops::gather_out>(gather_into(self, dim, index, out), Route::generic,
                                                 out, self, dim, index, sparse_gradient, out);
}

at::Tensor& index_select_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                             at::Tensor& out) {
  return served_or_on_host<at::_ops::index_select_out>(select_into(self, dim, index, out),
                                                       Route::generic, out, self, dim, index, out);
}

at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  using Op = at::_ops::index_select;
  if (is_read_by(self, index)) {
    at::Tensor out = empty_on(self.device().index(), {0}, self.scalar_type());
    if (select_into(self, dim, index, out)) {
      count_served<Op>(Route::generic, out);
      return out;
    }
  }
  return on_host<Op>(self, dim, index);
}

at::Tensor& take_out(const at::Tensor& self, const at::Tensor& index, at::Tensor& out) {
  return served_or_on_host<at::_ops::take_out>(take_into(self, index, out), Route::generic, out,
                                               self, index, out);
}

at::Tensor take(const at::Tensor& self, const at::Tensor& index) {
  using Op = at::_ops::take;
  if (is_read_by(self, index)) {
    at::Tensor out = empty_on(self.device().index(), {0}, self.scalar_type());
    if (take_into(self, index, out)) {
      count_served<Op>(Route::generic, out);
      return out;
    }
  }
  return on_host<Op>(self, index);
}

at::Tensor& put_(at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
                 bool accumulate) {
  return served_or_on_host<at::_ops::put_>(put_into(self, index, source, accumulate),
                                           Route::generic, self, self, index, source, accumulate);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("gather.out", gather_out);
  m.impl("index_select", index_select);
  m.impl("index_select.out", index_select_out);
  m.impl("take", take);
  m.impl("take.out", take_out);
  m.impl("put_", put_);
}

}  // namespace tbk::generic
