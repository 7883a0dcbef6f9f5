// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Sparse, nested and quantised tensors: one clear refusal, instead of the dispatcher's list of keys.
#include <ATen/ops/_nested_tensor_from_mask_left_aligned_native.h>
#include <ATen/ops/_nested_tensor_size_native.h>
#include <ATen/ops/_nested_tensor_storage_offsets_native.h>
#include <ATen/ops/_nested_tensor_strides_native.h>
#include <aten/refusals.h>
#include <runtime/backend.h>
#include <torch/library.h>

namespace tbk {
namespace {

struct Refusal {
  const char* name;
  const char* instead;
};

Refusal refusal_of(TensorKind kind) {
  switch (kind) {
    case TensorKind::sparse:
      return {"sparse", "use a dense tensor (to_dense), or keep it on the CPU"};
    case TensorKind::nested:
      return {"strided nested",
              "use layout=torch.jagged, or a padded tensor; for nn.TransformerEncoder "
              "enable_nested_tensor=False"};
    case TensorKind::quantised:
      return {"quantised", "dequantize it, or keep it on the CPU"};
    case TensorKind::mkldnn:
      return {"mkldnn", "keep it on the CPU"};
  }
  return {"such", "keep it on the CPU"};
}

template <TensorKind kind>
void refuse(const c10::OperatorHandle& op, torch::jit::Stack*) {
  refuse_kind(op, kind);
}

/// PyTorch's encoder asks this before it makes a nested tensor of a padded one, and takes its ordinary
/// path where the answer is no.
bool never_left_aligned(const at::Tensor&, const at::Tensor&) {
  return false;
}

}  // namespace

void refuse_kind(const c10::OperatorHandle& op, TensorKind kind) {
  const auto [name, instead] = refusal_of(kind);
  C10_THROW_ERROR(NotImplementedError,
                  c10::str(op.operator_name(), ": the bridge of '", Backend::get().name(),
                           "' has no ", name, " tensors; ", instead));
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<TensorKind::sparse>>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<TensorKind::sparse>>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<TensorKind::quantised>>());
}
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<TensorKind::nested>>());
}

// Autograd asks a nested tensor for its sizes where it may not throw. They lie on the host.
TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, m) {
  m.impl("_nested_tensor_size", at::native::_nested_tensor_size);
  m.impl("_nested_tensor_strides", at::native::_nested_tensor_strides);
  m.impl("_nested_tensor_storage_offsets", at::native::_nested_tensor_storage_offsets);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_nested_tensor_from_tensor_list",
         torch::CppFunction::makeFromBoxedFunction<&refuse<TensorKind::nested>>());
  m.impl("_nested_view_from_buffer",
         torch::CppFunction::makeFromBoxedFunction<&refuse<TensorKind::nested>>());
  m.impl("_nested_tensor_from_mask_left_aligned", never_left_aligned);
}

}  // namespace tbk
