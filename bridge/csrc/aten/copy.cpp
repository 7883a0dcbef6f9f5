// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/_to_copy_native.h>
#include <aten/copy.h>
#include <aten/copy_device.h>
#include <aten/copy_host.h>
#include <aten/copy_layout.h>
#include <generic/complex_copy.h>
#include <generic/complex_parts.h>
#include <runtime/backend.h>
#include <torch/library.h>

namespace tbk {
namespace {

/// What is stored: a conjugate or negative view without its bit.
at::Tensor stored(const at::Tensor& tensor) {
  at::Tensor bare = tensor.is_conj() ? tensor.conj() : tensor;
  return bare.is_neg() ? bare._neg_view() : bare;
}

/// How values change on their way, where the bits of the two tensors differ.
struct Change {
  bool conjugate;
  bool negate;

  Change(const at::Tensor& destination, const at::Tensor& source)
      : conjugate(destination.is_complex() && destination.is_conj() != source.is_conj()),
        negate(destination.scalar_type() != at::kBool && destination.is_neg() != source.is_neg()) {}
  explicit operator bool() const {
    return conjugate || negate;
  }
  void apply_(const at::Tensor& tensor) const {
    if (conjugate) tensor.conj_physical_();
    if (negate) tensor.neg_();
  }
};

bool same_place(const at::Tensor& one, const at::Tensor& other) {
  return one.storage().is_alias_of(other.storage()) &&
         one.storage_offset() == other.storage_offset() && one.dtype() == other.dtype() &&
         one.strides() == other.strides();
}

bool is_same_data(const at::Tensor& one, const at::Tensor& other) {
  return same_place(one, other) && one.sizes() == other.sizes() &&
         one.is_conj() == other.is_conj() && one.is_neg() == other.is_neg();
}

void open_devices(const at::Tensor& tensor) {
  if (tensor.device().is_privateuseone()) Backend::get().ensure_open(tensor.device().index());
}

/// Tensors of equal sizes, not empty, without bits.
void copy_stored(const at::Tensor& destination, const at::Tensor& source, bool non_blocking) {
  if (source.device().is_cpu()) return copy_from_host(destination, source, non_blocking);
  if (destination.device().is_cpu()) return copy_to_host(destination, source, non_blocking);
  if (destination.device() != source.device()) return copy_across(destination, source);
  if (may_overlap(destination, source)) return copy_on_device(destination, source.clone());
  copy_on_device(destination, source);
}

void copy_changed(const at::Tensor& destination, const at::Tensor& source, Change change) {
  if (source.device().is_cpu()) {
    const at::Tensor changed = source.to(destination.scalar_type(), false, /*copy=*/true);
    change.apply_(changed);
    return copy_stored(destination, changed, false);
  }
  const bool is_here = destination.device() == source.device();
  const bool is_apart = same_place(destination, source) || !may_overlap(destination, source);
  if (is_here && is_apart &&
      generic::copy_pairs(destination, source, {change.conjugate, change.negate}))
    return generic::warn_of_lost_parts(source.scalar_type(), destination.scalar_type());
  if (!same_place(destination, source)) copy_stored(destination, source, false);
  change.apply_(destination);
}

void check_copy(const at::Tensor& destination, const at::Tensor& source) {
  TORCH_CHECK(destination.defined() && source.defined(), "copy_: an undefined tensor");
  for (const at::Tensor* tensor : {&destination, &source}) {
    TORCH_CHECK(tensor->layout() == at::kStrided,
                "copy_: only strided tensors are copied to or from ", "this device, not ",
                tensor->layout());
    TORCH_CHECK(tensor->device().is_cpu() || tensor->device().is_privateuseone(),
                "copy_: no copy between ", source.device(), " and ", destination.device());
  }
}

}  // namespace

void copy_tensor(const at::Tensor& destination, const at::Tensor& source, bool non_blocking) {
  check_copy(destination, source);
  open_devices(destination);
  open_devices(source);
  at::Tensor from = stored(source);
  if (from.sizes() != destination.sizes()) from = from.expand(destination.sizes());
  if (destination.numel() == 0 || is_same_data(destination, source)) return;
  at::assert_no_internal_overlap(destination);
  at::assert_no_partial_overlap(destination, source);
  const at::Tensor to = stored(destination);
  if (const Change change(destination, source); change) [[unlikely]]
    copy_changed(to, from, change);
  else if (!same_place(to, from))
    copy_stored(to, from, non_blocking);
}

namespace {

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.is_same(source)) return self;
  copy_tensor(self, source, non_blocking);
  return self;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& destination, bool non_blocking) {
  copy_tensor(destination, self, non_blocking);
  return destination;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& destination) {
  destination.resize_(self.sizes());
  copy_tensor(destination, self, false);
  return destination;
}

/// PyTorch pins what a copy to the host that does not block gives, also where nothing can be pinned.
at::Tensor to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                   std::optional<at::Layout> layout, std::optional<at::Device> device,
                   std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<at::MemoryFormat> format) {
  non_blocking = non_blocking && Backend::get().tables().has_pinned;
  return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking, format);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("copy_", copy_);
  m.impl("_to_copy", to_copy);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
}

// By default PyTorch resolves such views before an operator runs, with a copy, which would come here
// again without end.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace tbk
