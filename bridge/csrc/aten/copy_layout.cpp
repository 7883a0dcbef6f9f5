// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/from_blob.h>
#include <aten/copy_layout.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>

namespace tbk {
namespace {

uint64_t offset_of(const at::Tensor& tensor) {
  return static_cast<uint64_t>(tensor.storage_offset()) * tensor.element_size();
}

}  // namespace

Location location_of(const at::Tensor& tensor) {
  return {tensor.device().index(), handle_of(tensor.storage().data()), offset_of(tensor)};
}

Location written_location_of(const at::Tensor& tensor) {
  return {tensor.device().index(), handle_of(tensor.storage().mutable_data()), offset_of(tensor)};
}

bool same_layout(const at::Tensor& to, const at::Tensor& from) {
  if (to.dtype() != from.dtype()) return false;
  if (to.is_contiguous() && from.is_contiguous()) return true;
  if (!to.is_non_overlapping_and_dense() || !from.is_non_overlapping_and_dense()) return false;
  for (int64_t i = 0; i < to.dim(); i++)
    if (to.size(i) > 1 && to.stride(i) != from.stride(i)) return false;
  return true;
}

int64_t span_of(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); i++)
    last += (tensor.size(i) - 1) * tensor.stride(i);
  return last + 1;
}

at::Tensor without_repeats(const at::Tensor& tensor) {
  at::DimVector sizes(tensor.sizes());
  for (size_t i = 0; i < sizes.size(); i++)
    if (tensor.stride(static_cast<int64_t>(i)) == 0 && sizes[i] > 1) sizes[i] = 1;
  return tensor.sizes() == sizes ? tensor : tensor.as_strided(sizes, tensor.strides());
}

bool may_overlap(const at::Tensor& one, const at::Tensor& other) {
  if (!one.storage().is_alias_of(other.storage())) return false;
  const auto end = [](const at::Tensor& tensor) {
    return offset_of(tensor) + static_cast<uint64_t>(span_of(tensor)) * tensor.element_size();
  };
  return offset_of(one) < end(other) && offset_of(other) < end(one);
}

std::optional<at::Tensor> host_view(const at::Tensor& tensor) {
  const Location place = written_location_of(tensor);
  if (!Backend::get().device(place.device).host_visible()) return std::nullopt;
  auto* data = reinterpret_cast<std::byte*>(static_cast<uintptr_t>(place.memory)) + place.offset;
  return at::from_blob(data, tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.dtype()));
}

}  // namespace tbk
