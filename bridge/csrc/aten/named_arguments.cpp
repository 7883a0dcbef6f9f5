// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/Tensor.h>
#include <aten/named_arguments.h>

namespace tbk {
namespace {

using c10::IValue;
using c10::TypeKind;

const c10::Type& element_of(const c10::Type& list) {
  return *list.castRaw<c10::ListType>()->getElementType();
}

const c10::Type& content_of(const c10::Type& optional) {
  return *optional.castRaw<c10::OptionalType>()->getElementType();
}

bool is_list_of_tensors(const c10::Type& list) {
  const c10::Type& element = element_of(list);
  return element.kind() == TypeKind::TensorType ||
         (element.kind() == TypeKind::OptionalType &&
          content_of(element).kind() == TypeKind::TensorType);
}

std::vector<at::Tensor> tensors_of(const IValue& value) {
  if (!value.isOptionalTensorList()) return value.toTensorVector();
  std::vector<at::Tensor> tensors;
  for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
    tensors.push_back(tensor.value_or(at::Tensor()));
  return tensors;
}

std::vector<bool> bools_of(const IValue& value) {
  const c10::List<bool> list = value.toBoolList();
  return {list.begin(), list.end()};
}

bool append_list(CustomArguments& to, const c10::Type& type, const IValue& value, bool is_written,
                 bool is_pointer) {
  if (is_list_of_tensors(type)) {
    if (!value.isTensorList() && !value.isOptionalTensorList()) return false;
    is_written ? to.add_outputs(tensors_of(value)) : to.add_inputs(tensors_of(value));
  } else if (value.isIntList()) {
    is_pointer ? to.add_ints_pointer(value.toIntVector()) : to.add_ints(value.toIntVector());
  } else if (value.isDoubleList()) {
    is_pointer ? to.add_doubles_pointer(value.toDoubleVector())
               : to.add_doubles(value.toDoubleVector());
  } else if (value.isBoolList() && !is_pointer) {
    to.add_bools(bools_of(value));
  } else {
    return false;
  }
  return true;
}

void append_integer(CustomArguments& to, int64_t value, bool is_pointer) {
  is_pointer ? to.add_int_pointer(value) : to.add_int(value);
}

/// A number, a text, or what PyTorch has as an integer.
bool append_single(CustomArguments& to, const c10::Type& type, const IValue& value,
                   bool is_pointer) {
  if (type.kind() == TypeKind::NumberType) {
    if (!value.isScalar()) return false;
    is_pointer ? to.add_scalar_pointer(value.toScalar()) : to.add_scalar(value.toScalar());
  } else if (value.isInt()) {
    append_integer(to, value.toInt(), is_pointer);
  } else if (value.isBool()) {
    append_integer(to, static_cast<int64_t>(value.toBool()), is_pointer);
  } else if (value.isDouble()) {
    is_pointer ? to.add_double_pointer(value.toDouble()) : to.add_double(value.toDouble());
  } else if (value.isString()) {
    to.add_text(value.toStringRef());
  } else {
    return false;
  }
  return true;
}

bool append_one(CustomArguments& to, const c10::Type& type, const IValue& value, bool is_written,
                bool is_pointer) {
  if (type.kind() == TypeKind::ListType)
    return append_list(to, type, value, is_written, is_pointer);
  if (type.kind() != TypeKind::TensorType) return append_single(to, type, value, is_pointer);
  const at::Tensor tensor = value.isTensor() ? value.toTensor() : at::Tensor();
  is_written ? to.add_output(tensor) : to.add_input(tensor);
  return true;
}

bool is_passed_single(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::TensorType:
    case TypeKind::NumberType:
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::BoolType:
    case TypeKind::FloatType:
    case TypeKind::StringType:
      return true;
    default:
      return false;
  }
}

bool is_passed_list(const c10::Type& type, bool is_pointer) {
  switch (element_of(type).kind()) {
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::FloatType:
      return true;
    case TypeKind::BoolType:
      return !is_pointer;
    default:
      return is_list_of_tensors(type) && !is_pointer;
  }
}

}  // namespace

bool is_passed(const c10::Type& type) {
  const bool is_pointer = type.kind() == TypeKind::OptionalType;
  const c10::Type& inner = is_pointer ? content_of(type) : type;
  return inner.kind() == TypeKind::ListType ? is_passed_list(inner, is_pointer)
                                            : is_passed_single(inner);
}

bool append(CustomArguments& to, const c10::Type& type, const IValue& value, bool is_written) {
  if (type.kind() != TypeKind::OptionalType) return append_one(to, type, value, is_written, false);
  if (!value.isNone()) return append_one(to, content_of(type), value, is_written, true);
  to.add_absent();
  return true;
}

}  // namespace tbk
