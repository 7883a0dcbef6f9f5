// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// cat of tensors of one dtype: each is copied to its part of the result, all in one launch.
#include <ATen/core/IListRef.h>
#include <ATen/ops/cat_compositeexplicitautogradnonfunctional_dispatch.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <generic/pointwise.h>
#include <torch/library.h>

#include <deque>

namespace tbk::generic {
namespace {

/// ListOfParts of one dtype, device and rank, which differ in size along one dimension alone; PyTorch raises,
/// promotes or leaves parts out for others.
class ListOfParts {
 public:
  ListOfParts(const at::ITensorListRef& tensors, int64_t dim)
      : tensors_(tensors.begin(), tensors.end()) {
    is_served_ = !tensors_.empty() && is_ours(first()) && first().dim() > 0 &&
                 dim >= -first().dim() && dim < first().dim();
    if (!is_served_) return;
    dim_ = dim < 0 ? dim + first().dim() : dim;
    sizes_.assign(first().sizes().begin(), first().sizes().end());
    size() = 0;
    for (const at::Tensor& each : tensors_)
      is_served_ = is_served_ && add(each);
  }

  bool is_served() const {
    return is_served_ && computed_in(dtype()) != at::ScalarType::Undefined &&
           offers_pointwise(device());
  }
  c10::DeviceIndex device() const {
    return first().device().index();
  }
  at::ScalarType dtype() const {
    return first().scalar_type();
  }
  c10::IntArrayRef sizes() const {
    return sizes_;
  }
  /// As PyTorch's: that of all parts, or the usual one.
  at::MemoryFormat format() const {
    const at::MemoryFormat format = first().suggest_memory_format();
    for (const at::Tensor& each : tensors_)
      if (each.suggest_memory_format() != format) return at::MemoryFormat::Contiguous;
    return format;
  }
  /// Copies each part to `out`, which has these sizes. Returns false where the backend refuses.
  bool copy_to(const at::Tensor& out) const {
    std::deque<Launch> launches;
    std::vector<at::Tensor> places;  // outlive the launch
    std::vector<Launch*> sets;
    int64_t start = 0;
    for (const at::Tensor& each : tensors_) {
      places.push_back(out.narrow(dim_, start, each.size(dim_)));
      start += each.size(dim_);
      if (each.numel() == 0) continue;
      sets.push_back(&launches.emplace_back(device(), each.sizes()));
      sets.back()->output(places.back(), places.back().strides());
      sets.back()->input(each, each.strides());
    }
    return sets.empty() || Launch::pointwise(*program(), sets);
  }

 private:
  const at::Tensor& first() const {
    return tensors_[0];
  }
  int64_t& size() {
    return sizes_[static_cast<size_t>(dim_)];
  }

  bool add(const at::Tensor& tensor) {
    if (!is_plain(tensor) || tensor.device() != first().device() ||
        tensor.scalar_type() != dtype() || tensor.dim() != first().dim())
      return false;
    for (int64_t d = 0; d < tensor.dim(); d++)
      if (d != dim_ && tensor.size(d) != first().size(d)) return false;
    size() += tensor.size(dim_);
    return true;
  }

  const Program* program() const {
    return program_by_key({Formulas::kCopy, dtype(), dtype(), 0},
                          [&](ProgramBuilder& b) { b.result(b.input(dtype())); });
  }

  std::vector<at::Tensor> tensors_;
  at::DimVector sizes_;
  int64_t dim_ = 0;
  bool is_served_ = false;
};

at::Tensor empty_for(const ListOfParts& parts) {
  at::Tensor out = empty_on(parts.device(), parts.sizes(), parts.dtype());
  const at::MemoryFormat format = parts.format();
  if (format != at::MemoryFormat::Contiguous)
    out.unsafeGetTensorImpl()->empty_tensor_restride(format);
  return out;
}

at::Tensor cat(const at::ITensorListRef& tensors, int64_t dim) {
  static OperatorCounter& counter = counter_of_operator("aten::cat", "");
  const ListOfParts parts(tensors, dim);
  if (is_open(Route::generic) && parts.is_served()) {
    at::Tensor out = empty_for(parts);
    if (parts.copy_to(out)) {
      count_call(counter, Route::generic, parts.device(), parts.dtype());
      return out;
    }
  }
  // PyTorch's own, which promotes, and has the form with an output do the rest.
  return at::compositeexplicitautogradnonfunctional::cat(tensors, dim);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cat", cat);
}

}  // namespace tbk::generic
