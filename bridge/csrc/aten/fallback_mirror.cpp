// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/EmptyTensor.h>
#include <aten/copy.h>
#include <aten/copy_layout.h>
#include <aten/empty.h>
#include <aten/fallback_mirror.h>
#include <aten/resize.h>
#include <c10/core/CPUAllocator.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>
#include <runtime/memory.h>

#include <algorithm>
#include <cstring>

namespace tbk {
namespace {

// A multiple of every element's size, so that offsets stay whole.
constexpr uint64_t kAlignment = 64;

uint64_t bytes_of(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize());
}

uint64_t begin_of(const at::Tensor& tensor) {
  return static_cast<uint64_t>(tensor.storage_offset()) * tensor.itemsize();
}

c10::Storage host_storage(c10::DataPtr data, uint64_t bytes) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(data),
                      c10::GetCPUAllocator(), /*resizable=*/true);
}

}  // namespace

HostMirror::HostMirror(c10::DeviceIndex device, const char* operation)
    : device_(device),
      host_visible_(Backend::get().device(device).host_visible()),
      stream_(current_stream(device)) {
  stream_.note(operation);
}

HostMirror::~HostMirror() {
  try {
    finish();
  } catch (const std::exception&) {
    // Only on the way out of another exception, which says more.
  }
}

void HostMirror::add(const at::Tensor& tensor, bool written) {
  for (View& view : views_)
    if (view.device.is_same(tensor)) {
      view.written |= written;
      return;
    }
  const size_t index = storage_of(tensor.storage().unsafeGetStorageImpl());
  if (const uint64_t bytes = bytes_of(tensor); bytes > 0) {
    Storage& storage = storages_[index];
    const uint64_t begin = begin_of(tensor);
    const uint64_t end = begin + bytes;
    TORCH_CHECK(end <= storage.device->nbytes(), "a tensor of sizes ", tensor.sizes(), ", strides ",
                tensor.strides(), " and storage offset ", tensor.storage_offset(), " needs ", end,
                " bytes, and its storage has ", storage.device->nbytes());
    storage.begin = storage.end == 0 ? begin : std::min(storage.begin, begin);
    storage.end = std::max(storage.end, end);
  }
  views_.push_back(View{tensor, at::Tensor(), index, written});
}

size_t HostMirror::storage_of(c10::StorageImpl* device) {
  for (size_t index = 0; index < storages_.size(); index++)
    if (storages_[index].device == device) return index;
  storages_.push_back(Storage{device, c10::Storage()});
  return storages_.size() - 1;
}

void HostMirror::alias(size_t index) {
  Storage& storage = storages_[index];
  const bool written = std::any_of(views_.begin(), views_.end(), [index](const View& view) {
    return view.written && view.storage == index;
  });
  storage.begin = 0;
  // A lazy clone that is only read stays one.
  storage.host_data = written ? storage.device->mutable_data() : storage.device->data_ptr().get();
  storage.host = host_storage(c10::DataPtr(storage.host_data, at::kCPU), storage.device->nbytes());
}

void HostMirror::fetch(Storage& storage) {
  storage.begin -= storage.begin % kAlignment;
  const uint64_t bytes = storage.end - storage.begin;
  storage.host = host_storage(c10::GetCPUAllocator()->allocate(bytes), bytes);
  storage.host_data = storage.host.mutable_data();
  if (bytes == 0) return;
  pending_ = true;
  download(storage.host_data, Location{device_, handle_of(storage.device->data()), storage.begin},
           bytes, stream_);
}

void HostMirror::bring() {
  if (host_visible_ && stream_.handle != nullptr) synchronize(stream_);
  for (size_t index = 0; index < storages_.size(); index++)
    host_visible_ ? alias(index) : fetch(storages_[index]);
  finish();
  for (View& view : views_)
    view.host = view_of(view);
}

at::Tensor HostMirror::view_of(const View& view) {
  Storage& storage = storages_[view.storage];
  // Where each has one view, that may have it.
  const bool is_shared = views_.size() > storages_.size();
  const c10::TensorImpl* from = view.device.unsafeGetTensorImpl();
  at::Tensor host = at::detail::make_tensor<c10::TensorImpl>(
      is_shared ? storage.host : std::move(storage.host),
      c10::DispatchKeySet(c10::DispatchKey::CPU), from->dtype());
  c10::TensorImpl* to = host.unsafeGetTensorImpl();
  const bool is_empty = from->numel() == 0;  // such a one may lie anywhere
  const auto begin = static_cast<int64_t>(storage.begin / from->itemsize());
  to->set_sizes_and_strides(from->sizes(), from->strides(),
                            is_empty && !host_visible_ ? 0 : from->storage_offset() - begin);
  if (from->is_conj()) to->_set_conj(true);
  if (from->is_neg()) to->_set_neg(true);
  if (from->is_wrapped_number()) to->set_wrapped_number(true);
  return host;
}

const at::Tensor& HostMirror::host(const at::Tensor& tensor) const {
  for (const View& view : views_)
    if (view.device.is_same(tensor)) return view.host;
  return tensor;
}

bool HostMirror::was_moved(const View& view) const {
  const Storage& storage = storages_[view.storage];
  return view.host.unsafeGetTensorImpl()->unsafe_storage().data() != storage.host_data ||
         view.host.sizes() != view.device.sizes() || view.host.strides() != view.device.strides();
}

void HostMirror::give_back(const View& view) {
  // Some operators conjugate what they wrote by its bit alone.
  if (view.host.is_conj() != view.device.is_conj()) view.device._set_conj(view.host.is_conj());
  if (view.host.is_neg() != view.device.is_neg()) view.device._set_neg(view.host.is_neg());
  if (was_moved(view)) {
    resize_tensor(view.device, view.host.sizes(), view.host.strides());
    copy_tensor(view.device, view.host, /*non_blocking=*/false);
  } else if (!host_visible_ && view.device.numel() > 0) {
    // Between the elements of other strides lie bytes that are not ours to write.
    if (view.device.is_non_overlapping_and_dense())
      send(view.device.storage(), begin_of(view.device), view.host.const_data_ptr(),
           view.device.nbytes());
    else
      copy_tensor(without_repeats(view.device), without_repeats(view.host), /*non_blocking=*/false);
  }
}

void HostMirror::write_back() {
  for (const View& view : views_)
    if (view.written) give_back(view);
}

void HostMirror::send(const c10::Storage& to, uint64_t offset, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  if (host_visible_ && stream_.handle == nullptr) {
    // Without streams nothing is pending that may still use the block.
    std::memcpy(static_cast<char*>(to.mutable_data()) + offset, from, bytes);
    return;
  }
  pending_ = true;
  upload(Location{device_, handle_of(to.mutable_data()), offset}, from, bytes, stream_);
}

at::Tensor HostMirror::to_device(const at::Tensor& result) {
  const at::Tensor plain =
      result.is_conj() || result.is_neg() ? result.resolve_conj().resolve_neg() : result;
  at::Tensor on_device =
      empty_strided_on(device_, plain.sizes(), plain.strides(), plain.scalar_type());
  sent_.push_back(plain);
  send(on_device.storage(), 0, plain.const_data_ptr(), bytes_of(plain));
  return on_device;
}

void HostMirror::finish() {
  if (!pending_) return;
  pending_ = false;
  synchronize(stream_);
}

}  // namespace tbk
