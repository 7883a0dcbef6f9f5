// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <generic/pointwise.h>
#include <generic/sets.h>
#include <runtime/backend.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace tbk::generic {

bool lie_alike(c10::ArrayRef<const at::Tensor*> tensors, at::ScalarType dtype, at::Device device) {
  const at::Tensor& first = *tensors[0];
  for (const at::Tensor* each : tensors)
    if (!is_plain(*each) || each->scalar_type() != dtype || each->device() != device ||
        each->sizes() != first.sizes() || each->strides() != first.strides())
      return false;
  return first.is_non_overlapping_and_dense();
}

Sets::Sets(c10::DeviceIndex device)
    : device_(device), is_flat_(Backend::get().device(device).flat_address()) {}

Launch& Sets::add(c10::ArrayRef<const at::Tensor*> outputs, c10::ArrayRef<const at::Tensor*> inputs,
                  c10::ArrayRef<const at::Tensor*> shared) {
  constexpr std::array<int64_t, 1> kStep = {1}, kStay = {0};
  const std::array<int64_t, 1> sizes = {outputs[0]->numel()};
  Launch& launch = launches_.emplace_back(device_, sizes);
  for (const at::Tensor* each : outputs) {
    note(*each, /*is_written=*/true);
    launch.output(*each, kStep);
  }
  const auto is_output = [&](const at::Tensor* in) {
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const at::Tensor* out) { return out->is_same(*in); });
  };
  for (const at::Tensor* each : inputs) {
    if (!is_output(each)) note(*each, /*is_written=*/false);
    launch.input(*each, kStep);
  }
  for (const at::Tensor* each : shared) {
    note(*each, /*is_written=*/false);
    launch.input(*each, kStay);
  }
  return launch;
}

Launch& Sets::add_reduction(const at::Tensor& out, const at::Tensor& in) {
  constexpr std::array<int64_t, 1> kStep = {1};
  const std::array<int64_t, 1> inner = {in.numel()};
  Launch& launch = launches_.emplace_back(device_, c10::IntArrayRef(), inner);
  note(out, /*is_written=*/true);
  launch.output(out, {});
  note(in, /*is_written=*/false);
  launch.input(in, kStep);
  return launch;
}

void Sets::note(const at::Tensor& tensor, bool is_written) {
  const auto item = static_cast<int64_t>(tensor.element_size());
  const auto base =
      reinterpret_cast<uintptr_t>(tensor.unsafeGetTensorImpl()->unsafe_storage().data());
  const int64_t first = tensor.storage_offset() * item, end = first + tensor.numel() * item;
  // Two storages may share memory where addresses are flat.
  const auto shift = static_cast<int64_t>(is_flat_ ? base : 0);
  extents_.push_back({is_flat_ ? 0 : base, first + shift, end + shift, is_written});
}

bool Sets::are_apart() {
  std::sort(extents_.begin(), extents_.end(), [](const Extent& a, const Extent& b) {
    return std::tie(a.base, a.first) < std::tie(b.base, b.first);
  });
  Extent all = {}, written = {};  // how far those before reach, and those that are written
  for (const Extent& each : extents_) {
    if (each.base != all.base) all = written = {each.base, each.first, each.first, false};
    if (each.first < written.end || (each.is_written && each.first < all.end)) return false;
    all.end = std::max(all.end, each.end);
    if (each.is_written) written.end = each.end;
  }
  return true;
}

std::vector<Launch*> Sets::pointers() {
  std::vector<Launch*> result;
  for (Launch& launch : launches_)
    result.push_back(&launch);
  return result;
}

bool Sets::pointwise(const Program& program) {
  return launches_.empty() || (are_apart() && Launch::pointwise(program, pointers()));
}

bool Sets::reduce(const Reduction& reduction) {
  return launches_.empty() || (are_apart() && Launch::reduce(reduction, pointers()));
}

}  // namespace tbk::generic
