// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Copies between the host and a device. Elements are converted and put in order on the host.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <aten/copy_device.h>
#include <aten/copy_host.h>
#include <aten/copy_layout.h>
#include <aten/empty.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/host_allocator.h>

#include <cstring>

namespace tbk {
namespace {

/// Up to here it is better to copy the source once more than to have the caller wait for the stream.
constexpr uint64_t staged_most_bytes = 64 * 1024;

at::TensorOptions on_host(const at::Tensor& like) {
  return at::TensorOptions().dtype(like.dtype());
}

void upload_pinned(Location to, const void* from, uint64_t bytes, Stream& stream) {
  upload(to, from, bytes, stream);
  record_pinned(from, stream.wrap());
}

bool can_stage(const Stream& stream, uint64_t bytes) {
  return stream.handle != nullptr && bytes <= staged_most_bytes &&
         Backend::get().tables().has_pinned;
}

/// `from` may be changed when this returns, unless it is pinned and `non_blocking`.
void upload_bytes(Location to, const void* from, uint64_t bytes, bool non_blocking) {
  Stream& stream = current_stream(to.device);
  if (non_blocking && is_pinned(from)) return upload_pinned(to, from, bytes, stream);
  if (non_blocking && can_stage(stream, bytes)) {
    const CurrentDeviceGuard guard(to.device);  // the allocator opens the current one
    const at::DataPtr stage = host_allocator().allocate(bytes);
    std::memcpy(stage.get(), from, bytes);
    return upload_pinned(to, stage.get(), bytes, stream);
  }
  upload(to, from, bytes, stream);
  synchronize(stream);
}

/// Where neither the backend nor the host can write with strides: every run of elements that lie
/// together by itself. Nothing between them is written, as other streams may be writing there.
void upload_runs(const at::Tensor& destination, const at::Tensor& contiguous) {
  int64_t outer = destination.dim(), run = 1;
  while (outer > 0 && (destination.size(outer - 1) == 1 || destination.stride(outer - 1) == run)) {
    outer--;
    run *= destination.size(outer);
  }
  const Location first = written_location_of(destination);
  Stream& stream = current_stream(first.device);
  const auto element = static_cast<int64_t>(destination.element_size());
  const auto* from = static_cast<const std::byte*>(contiguous.const_data_ptr());
  for (int64_t done = 0; done < contiguous.numel(); done += run) {
    int64_t at = 0;
    for (int64_t dim = outer - 1, rest = done / run; dim >= 0; rest /= destination.size(dim--))
      at += rest % destination.size(dim) * destination.stride(dim);
    Location to = first;
    to.offset += static_cast<uint64_t>(at * element);
    upload(to, from + done * element, static_cast<uint64_t>(run * element), stream);
  }
  synchronize(stream);
}

/// The elements of `source` on the host, in its dtype.
at::Tensor download_span(const at::Tensor& source) {
  const int64_t span = span_of(source);
  const at::Tensor host = at::empty({span}, on_host(source));
  Stream& stream = current_stream(source.device().index());
  download(host.mutable_data_ptr(), location_of(source), host.nbytes(), stream);
  synchronize(stream);
  return host.as_strided(source.sizes(), source.strides(), 0);
}

}  // namespace

void copy_from_host(const at::Tensor& destination, const at::Tensor& source, bool non_blocking) {
  if (same_layout(destination, source)) {
    upload_bytes(written_location_of(destination), source.const_data_ptr(), source.nbytes(),
                 non_blocking);
    return;
  }
  if (const auto view = host_view(destination)) {
    synchronize(current_stream(destination.device().index()));
    view->copy_(source);
    return;
  }
  if (destination.is_non_overlapping_and_dense()) {
    const at::Tensor staged =
        at::empty_strided(destination.sizes(), destination.strides(), on_host(destination));
    staged.copy_(source);
    copy_from_host(destination, staged, false);
    return;
  }
  const at::Tensor staged = at::empty(destination.sizes(), on_host(destination));
  staged.copy_(source);
  const at::Tensor compact =
      empty_on(destination.device().index(), destination.sizes(), destination.scalar_type());
  copy_from_host(compact, staged, false);
  if (!launch_copy(destination, compact)) upload_runs(destination, staged);
}

void copy_to_host(const at::Tensor& destination, const at::Tensor& source, bool non_blocking) {
  Stream& stream = current_stream(source.device().index());
  if (same_layout(destination, source)) {
    void* to = destination.mutable_data_ptr();
    download(to, location_of(source), source.nbytes(), stream);
    if (non_blocking && is_pinned(to))
      record_pinned(to, stream.wrap());
    else
      synchronize(stream);
    return;
  }
  if (const auto view = host_view(source)) {
    synchronize(stream);
    destination.copy_(*view);
    return;
  }
  if (span_of(source) > 2 * source.numel()) {
    const at::Tensor compact =
        empty_on(source.device().index(), source.sizes(), source.scalar_type());
    if (launch_copy(compact, source)) {
      destination.copy_(download_span(compact));
      return;
    }
  }
  destination.copy_(download_span(source));
}

}  // namespace tbk
