// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/pybind11.h>
#include <torch/version.h>

PYBIND11_MODULE(_C, module) {
  module.doc() = "The compiled part of torch_tbk.";
  module.attr("torch_version") = TORCH_VERSION;
}
