// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Copies on one device and between two.
#include <ATen/ops/empty.h>
#include <aten/copy_device.h>
#include <aten/copy_host.h>
#include <aten/copy_layout.h>
#include <aten/empty.h>
#include <aten/kernels.h>
#include <generic/complex_copy.h>
#include <generic/complex_parts.h>
#include <runtime/backend.h>
#include <runtime/event.h>
#include <tbk/tbk_operators.h>

namespace tbk {
namespace {

constinit Kernel copy_kernel(TBK_NAME_copy_, TBK_VERSION_copy_);

/// A dtype that kernels know and that has elements of as many bytes; -1 where there is none.
int32_t carrier_of(size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return TBK_UINT8;
    case 2:
      return TBK_INT16;
    case 4:
      return TBK_INT32;
    case 8:
      return TBK_INT64;
    case 16:
      return TBK_COMPLEX128;
    default:
      return -1;
  }
}

bool launch_copy_as(int32_t to, int32_t from, const at::Tensor& destination,
                    const at::Tensor& source) {
  tbk_tensor_t self = describe(destination), src = describe_input(source);
  self.dtype = to;
  src.dtype = from;
  const tbk_args_copy__t arguments = {sizeof arguments, &self, &src, 0};
  return launch(copy_kernel, destination.device().index(), &arguments, {&self, &src});
}

void copy_bytes(const at::Tensor& destination, const at::Tensor& source) {
  const Location to = written_location_of(destination), from = location_of(source);
  copy(to, from, source.nbytes(), current_stream(from.device));
}

/// On the stream of the source: after what the destination's stream was given so far, which may still
/// use the memory, and before what it gets later.
void copy_bytes_across(const at::Tensor& destination, const at::Tensor& source) {
  Stream& giving = current_stream(source.device().index());
  Stream& taking = current_stream(destination.device().index());
  Event free, arrived;
  free.record(taking);
  free.wait(giving);
  copy_bytes(destination, source);
  arrived.record(giving);
  arrived.wait(taking);
}

}  // namespace

bool launch_copy(const at::Tensor& destination, const at::Tensor& source) {
  const auto to = static_cast<int32_t>(destination.scalar_type());
  const auto from = static_cast<int32_t>(source.scalar_type());
  if (launch_copy_as(to, from, destination, source)) return true;
  const int32_t carrier = carrier_of(source.element_size());
  return to == from && carrier >= 0 && carrier != to &&
         launch_copy_as(carrier, carrier, destination, source);
}

void copy_on_device(const at::Tensor& destination, const at::Tensor& source) {
  if (same_layout(destination, source)) return copy_bytes(destination, source);
  if (launch_copy(destination, source) || generic::copy_pairs(destination, source))
    return generic::warn_of_lost_parts(source.scalar_type(), destination.scalar_type());
  if (const auto view = host_view(destination)) {
    synchronize(current_stream(destination.device().index()));
    view->copy_(*host_view(source));
    return;
  }
  const at::Tensor staged =
      at::empty(source.sizes(), at::TensorOptions().dtype(destination.dtype()));
  copy_to_host(staged, source, false);
  copy_from_host(destination, staged, false);
}

void copy_across(const at::Tensor& destination, const at::Tensor& source) {
  if (same_layout(destination, source)) return copy_bytes_across(destination, source);
  const c10::DeviceIndex from = source.device().index(), to = destination.device().index();
  const at::ScalarType dtype = destination.scalar_type();
  if (destination.is_non_overlapping_and_dense()) {
    const at::Tensor packed =
        empty_strided_on(from, destination.sizes(), destination.strides(), dtype);
    copy_on_device(packed, source);
    return copy_bytes_across(destination, packed);
  }
  // Converted where it comes from, put in order where it goes to.
  const at::Tensor packed = empty_on(from, source.sizes(), dtype);
  copy_on_device(packed, source);
  const at::Tensor arrived = empty_on(to, source.sizes(), dtype);
  copy_bytes_across(arrived, packed);
  copy_on_device(destination, arrived);
}

}  // namespace tbk
