// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/custom.h>
#include <python/custom.h>

#include <torch/csrc/Dtype.h>

#include <map>

namespace py = pybind11;

namespace tbk {
namespace {

using Add = void (*)(CustomArguments&, const py::handle&);

at::Tensor tensor_of(const py::handle& value) {
  return value.is_none() ? at::Tensor() : value.cast<at::Tensor>();
}

void add_tensors(CustomArguments& arguments, const py::handle& value) {
  std::vector<at::Tensor> tensors;
  for (const py::handle item : value)
    tensors.push_back(tensor_of(item));
  arguments.add_inputs(tensors);
}

/// PyTorch's own conversion of a number of Python is not there yet.
at::Scalar scalar_of(const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) return value.cast<int64_t>();
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  return value.cast<c10::complex<double>>();
}

void add_scalar(CustomArguments& arguments, const py::handle& value) {
  arguments.add_scalar(scalar_of(value));
}

void add_scalar_pointer(CustomArguments& arguments, const py::handle& value) {
  if (value.is_none()) return arguments.add_absent();
  arguments.add_scalar_pointer(scalar_of(value));
}

int64_t dtype_of(const py::handle& value) {
  TORCH_CHECK_TYPE(THPDtype_Check(value.ptr()), "a dtype is wanted");
  return static_cast<int64_t>(reinterpret_cast<THPDtype*>(value.ptr())->scalar_type);
}

void add_dtype(CustomArguments& arguments, const py::handle& value) {
  arguments.add_int(dtype_of(value));
}

void add_dtype_pointer(CustomArguments& arguments, const py::handle& value) {
  if (value.is_none()) return arguments.add_absent();
  arguments.add_int_pointer(dtype_of(value));
}

/// Appends a value by `add`, or NULL where it is None.
template <typename Value, void (CustomArguments::*add)(Value)>
void add_pointer(CustomArguments& arguments, const py::handle& value) {
  using Plain = std::remove_cv_t<std::remove_reference_t<Value>>;
  if (value.is_none()) return arguments.add_absent();
  (arguments.*add)(value.cast<Plain>());
}

template <typename Value, void (CustomArguments::*add)(Value)>
void add_value(CustomArguments& arguments, const py::handle& value) {
  using Plain = std::remove_cv_t<std::remove_reference_t<Value>>;
  (arguments.*add)(value.cast<Plain>());
}

const std::map<std::string, Add>& kinds() {
  using C = CustomArguments;
  static const std::map<std::string, Add> table = {
      {"input", [](C& a, const py::handle& value) { a.add_input(tensor_of(value)); }},
      {"output", [](C& a, const py::handle& value) { a.add_output(tensor_of(value)); }},
      {"inputs", add_tensors},
      {"int", add_value<int64_t, &C::add_int>},
      {"dtype", add_dtype},
      {"dtype pointer", add_dtype_pointer},
      {"double", add_value<double, &C::add_double>},
      {"scalar", add_scalar},
      {"int pointer", add_pointer<int64_t, &C::add_int_pointer>},
      {"double pointer", add_pointer<double, &C::add_double_pointer>},
      {"scalar pointer", add_scalar_pointer},
      {"ints", add_value<const std::vector<int64_t>&, &C::add_ints>},
      {"doubles", add_value<const std::vector<double>&, &C::add_doubles>},
      {"bools", add_value<const std::vector<bool>&, &C::add_bools>},
      {"text", add_value<const std::string&, &C::add_text>},
  };
  return table;
}

}  // namespace

bool launch_custom(const std::string& name, uint32_t version, const py::list& arguments) {
  CustomArguments made;
  for (const py::handle item : arguments) {
    const auto pair = item.cast<py::tuple>();
    const auto kind = pair[0].cast<std::string>();
    const auto found = kinds().find(kind);
    TORCH_CHECK_VALUE(found != kinds().end(), "there is no kind '", kind, "' of an argument");
    found->second(made, pair[1]);
  }
  const py::gil_scoped_release no_gil;
  return made.launch(name, version);
}

}  // namespace tbk
