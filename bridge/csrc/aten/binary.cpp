// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// add, sub and mul of two tensors.
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/sub_ops.h>
#include <aten/copy.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/pointwise.h>
#include <tbk/tbk_operators.h>
#include <torch/library.h>

#include <algorithm>

namespace tbk {
namespace {

constinit Kernel add_kernel(TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor);
constinit Kernel mul_kernel(TBK_NAME_mul_Tensor, TBK_VERSION_mul_Tensor);

/// What a call comes to: where the result goes, and the dtype in which it is computed.
struct Shape {
  at::Tensor out;
  at::ScalarType dtype;
};

/// Contiguous also in its dimensions of one element, whose strides tell channels-last apart.
bool is_canonical(const at::Tensor& tensor) {
  int64_t stride = 1;
  for (int64_t d = tensor.dim() - 1; d >= 0; d--) {
    if (tensor.stride(d) != stride) return false;
    stride *= std::max<int64_t>(tensor.size(d), 1);
  }
  return true;
}

bool is_simple(const at::Tensor& tensor) {
  return is_host_number(tensor) || (is_ours(tensor) && is_canonical(tensor));
}

at::ScalarType common_dtype(const at::Tensor& self, const at::Tensor& other) {
  at::native::ResultTypeState state;
  state = at::native::update_result_type_state(self, state);
  return at::native::result_type(at::native::update_result_type_state(other, state));
}

/// A new result of contiguous operands is contiguous. Everything else is left to PyTorch: strides of
/// the result, an `out` to be resized, overlaps, casts that are not allowed, mixed devices.
Shape settle_shape(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  const bool one_device =
      is_host_number(self) || is_host_number(other) || self.device() == other.device();
  const bool is_contiguous = have_same_form(self, other) || (is_simple(self) && is_simple(other));
  if (!out.defined() && one_device && is_contiguous) {
    const at::Tensor& on_device = is_ours(self) ? self : other;
    const at::ScalarType dtype = common_dtype(self, other);
    const at::DimVector sizes = at::infer_size_dimvector(self.sizes(), other.sizes());
    return {empty_on(on_device.device().index(), sizes, dtype), dtype};
  }
  auto iterator = at::TensorIterator::borrowing_binary_op(out, self, other);
  return {iterator.output(), iterator.common_dtype()};
}

/// False, with nothing done, where the backend refuses; else `launch_with` has filled `shape.out`.
template <class Launch>
bool run(Kernel& kernel, const Shape& shape, const at::Tensor& self, const at::Tensor& other,
         Launch launch_with) {
  const c10::DeviceIndex device = shape.out.device().index();
  if (!offers(kernel, device, shape.dtype)) return false;
  const bool is_direct = shape.out.scalar_type() == shape.dtype;
  const at::Tensor out = is_direct ? shape.out : empty_on(device, shape.out.sizes(), shape.dtype);
  const tbk_tensor_t result = describe(out);  // first: what is written may be read as well
  const Operand first(self, device, shape.dtype, out.sizes());
  const Operand second(other, device, shape.dtype, out.sizes());
  if (!launch_with(*first, *second, &result)) return false;
  if (!is_direct) copy_tensor(shape.out, out, /*non_blocking=*/false);
  return true;
}

bool launch_add(c10::DeviceIndex device, const tbk_tensor_t* self, const tbk_tensor_t* other,
                const at::Scalar& alpha, const tbk_tensor_t* out) {
  const tbk_scalar_t scalar = to_scalar(alpha);
  const tbk_args_add_Tensor_t arguments = {sizeof arguments, self, other, scalar, out};
  return launch(add_kernel, device, &arguments, {self, other, out}, plan_key_of(scalar));
}

bool launch_mul(c10::DeviceIndex device, const tbk_tensor_t* self, const tbk_tensor_t* other,
                const tbk_tensor_t* out) {
  const tbk_args_mul_Tensor_t arguments = {sizeof arguments, self, other, out};
  return launch(mul_kernel, device, &arguments, {self, other, out});
}

/// `alpha` in the dtype of the sum, which a kernel has: PyTorch's CPU rounds it first, and refuses what
/// does not fit.
at::Scalar alpha_in(at::ScalarType dtype, const at::Scalar& alpha) {
  return alpha.equal(1) ? alpha : number_in(dtype, alpha);
}

/// Whether PyTorch's CPU would multiply by the one element of `other` as it is, in float, and round
/// the product alone; and whether that makes a difference.
bool is_exact_factor(const at::Tensor& other, at::ScalarType dtype) {
  if (dtype != at::kHalf && dtype != at::kBFloat16) return false;
  if (other.numel() != 1 || other.scalar_type() == dtype) return false;
  if (!is_host_number(other)) return true;
  const at::Tensor exact = other.to(at::kFloat);
  return !exact.equal(exact.to(dtype).to(at::kFloat));
}

/// Whether a result may be written over `self` while `other` is read.
bool may_overwrite(const at::Tensor& self, const at::Tensor& other) {
  return self.is_same(other) || !self.is_alias_of(other);
}

at::Tensor add_into(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                    const at::Tensor& wanted) {
  Shape shape = settle_shape(self, other, wanted);
  at::native::alpha_check(shape.dtype, alpha);
  const c10::DeviceIndex device = shape.out.device().index();
  if (!run(add_kernel, shape, self, other,
           [&](const tbk_tensor_t* first, const tbk_tensor_t* second, const tbk_tensor_t* out) {
             return launch_add(device, first, second, alpha_in(shape.dtype, alpha), out);
           }))
    at::native::call_fallback_fn<&generic::pointwise_or_fallback, at::_ops::add_out>::call(
        self, other, alpha, shape.out);
  return shape.out;
}

at::Tensor sub_into(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                    const at::Tensor& wanted) {
  at::native::sub_check(self, other);
  Shape shape = settle_shape(self, other, wanted);
  at::native::alpha_check(shape.dtype, alpha);  // before a boolean one is negated
  const c10::DeviceIndex device = shape.out.device().index();
  if (!run(add_kernel, shape, self, other,
           [&](const tbk_tensor_t* first, const tbk_tensor_t* second, const tbk_tensor_t* out) {
             return launch_add(device, first, second, alpha_in(shape.dtype, -alpha), out);
           }))
    at::native::call_fallback_fn<&generic::pointwise_or_fallback, at::_ops::sub_out>::call(
        self, other, alpha, shape.out);
  return shape.out;
}

bool run_mul(const Shape& shape, const at::Tensor& self, const at::Tensor& other) {
  const c10::DeviceIndex device = shape.out.device().index();
  return run(mul_kernel, shape, self, other,
             [&](const tbk_tensor_t* first, const tbk_tensor_t* second, const tbk_tensor_t* out) {
               return launch_mul(device, first, second, out);
             });
}

/// The product in float, rounded once to `shape.dtype`.
bool run_mul_exactly(const Shape& shape, const at::Tensor& self, const at::Tensor& other) {
  const c10::DeviceIndex device = shape.out.device().index();
  const Shape exact = {empty_on(device, shape.out.sizes(), at::kFloat), at::kFloat};
  if (!run_mul(exact, self, other)) return false;
  const bool is_direct = shape.out.scalar_type() == shape.dtype;
  const at::Tensor out = is_direct ? shape.out : empty_on(device, shape.out.sizes(), shape.dtype);
  copy_tensor(out, exact.out, /*non_blocking=*/false);
  if (!is_direct) copy_tensor(shape.out, out, /*non_blocking=*/false);
  return true;
}

at::Tensor mul_into(const at::Tensor& self, const at::Tensor& other, const at::Tensor& wanted) {
  Shape shape = settle_shape(self, other, wanted);
  const bool is_exact = is_exact_factor(other, shape.dtype);
  if (!(is_exact ? run_mul_exactly(shape, self, other) : run_mul(shape, self, other)))
    at::native::call_fallback_fn<&generic::pointwise_or_fallback, at::_ops::mul_out>::call(
        self, other, shape.out);
  return shape.out;
}

// The quick way: no iterator, no shape function. Where the backend refuses, the long way says so too,
// and falls back.

bool add_quickly(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                 const at::Tensor& out) {
  const c10::DeviceIndex device = self.device().index();
  at::native::alpha_check(self.scalar_type(), alpha);
  // Of 1 nothing is rounded, and launch() asks what is offered by itself.
  if (!alpha.equal(1) && !offers(add_kernel, device, self.scalar_type())) return false;
  const at::Scalar factor = alpha_in(self.scalar_type(), alpha);
  const tbk_tensor_t result = describe(out), first = describe_input(self),
                     second = describe_input(other);
  return launch_add(device, &first, &second, factor, &result);
}

at::Tensor add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  if (have_same_form(self, other)) [[likely]] {
    at::Tensor out = empty_on(self.device().index(), self.sizes(), self.scalar_type());
    if (add_quickly(self, other, alpha, out)) return out;
  }
  return add_into(self, other, alpha, at::Tensor());
}

at::Tensor& add_(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  if (!have_same_form(self, other) || !may_overwrite(self, other) ||
      !add_quickly(self, other, alpha, self))
    add_into(self, other, alpha, self);
  return self;
}

at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                    at::Tensor& out) {
  add_into(self, other, alpha, out);
  return out;
}

at::Tensor sub(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  return sub_into(self, other, alpha, at::Tensor());
}
at::Tensor& sub_(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  sub_into(self, other, alpha, self);
  return self;
}
at::Tensor& sub_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                    at::Tensor& out) {
  sub_into(self, other, alpha, out);
  return out;
}

bool mul_quickly(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  const tbk_tensor_t result = describe(out), first = describe_input(self),
                     second = describe_input(other);
  return launch_mul(self.device().index(), &first, &second, &result);
}

at::Tensor mul(const at::Tensor& self, const at::Tensor& other) {
  if (have_same_form(self, other)) [[likely]] {
    at::Tensor out = empty_on(self.device().index(), self.sizes(), self.scalar_type());
    if (mul_quickly(self, other, out)) return out;
  }
  return mul_into(self, other, at::Tensor());
}
at::Tensor& mul_(at::Tensor& self, const at::Tensor& other) {
  if (!have_same_form(self, other) || !may_overwrite(self, other) ||
      !mul_quickly(self, other, self))
    mul_into(self, other, self);
  return self;
}
at::Tensor& mul_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  mul_into(self, other, out);
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("add.Tensor", add);
  m.impl("add_.Tensor", add_);
  m.impl("add.out", add_out);
  m.impl("sub.Tensor", sub);
  m.impl("sub_.Tensor", sub_);
  m.impl("sub.out", sub_out);
  m.impl("mul.Tensor", mul);
  m.impl("mul_.Tensor", mul_);
  m.impl("mul.out", mul_out);
}

}  // namespace tbk
