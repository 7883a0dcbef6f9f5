// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// cat: each tensor is copied to its part of the result, all in one launch.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/op_registration/op_registration.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <generic/pointwise.h>
#include <torch/library.h>

#include <deque>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// Parts of one dtype, device and rank, which differ in size along one dimension alone; PyTorch raises,
/// promotes or leaves parts out for others.
class Parts {
 public:
  Parts(std::vector<at::Tensor> tensors, int64_t dim) : tensors_(std::move(tensors)) {
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
  bool has(const at::Tensor& out) const {
    return std::any_of(tensors_.begin(), tensors_.end(),
                       [&](const at::Tensor& each) { return out.is_alias_of(each); });
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

/// Serves cat(tensors, dim), and with `has_out` the form that writes to a tensor.
class Concatenate final : public c10::OperatorKernel {
 public:
  explicit Concatenate(bool has_out)
      : has_out_(has_out), counter_(counter_of(has_out ? "aten::cat.out" : "aten::cat")) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const size_t count = op.schema().arguments().size();
    if (is_open(Route::generic)) {
      const Parts parts(torch::jit::peek(*stack, 0, count).toTensorVector(),
                        torch::jit::peek(*stack, 1, count).toInt());
      const at::Tensor out = parts.is_served() ? output(parts, *stack) : at::Tensor();
      if (out.defined() && parts.copy_to(out)) {
        torch::jit::drop(*stack, count);
        torch::jit::push(*stack, out);
        return count_call(counter_, Route::generic, parts.device(), parts.dtype());
      }
    }
    cpu_fallback(op, stack);
  }

 private:
  /// Not defined where PyTorch promotes, or raises.
  at::Tensor output(const Parts& parts, const Stack& stack) const {
    if (!has_out_) {
      at::Tensor fresh = empty_on(parts.device(), parts.sizes(), parts.dtype());
      const at::MemoryFormat format = parts.format();
      if (format != at::MemoryFormat::Contiguous)
        fresh.unsafeGetTensorImpl()->empty_tensor_restride(format);
      return fresh;
    }
    const at::Tensor& out = torch::jit::peek(stack, 2, 3).toTensor();
    const bool is_fit = is_ours(out) && is_plain(out) && out.device().index() == parts.device() &&
                        out.scalar_type() == parts.dtype() && !parts.has(out) &&
                        at::has_internal_overlap(out) == at::MemOverlap::No;
    // A new one has the memory format of the parts, which PyTorch sees to.
    if (!is_fit || out.sizes() != parts.sizes()) return at::Tensor();
    return out;
  }

  const bool has_out_;
  OperatorCounter& counter_;
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  const auto kernel = [](bool has_out) {
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Concatenate>(has_out));
  };
  m.impl("cat", kernel(false));
  m.impl("cat.out", kernel(true));
}

}  // namespace tbk::generic
