// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/view_as_real.h>
#include <generic/parts.h>

namespace tbk::generic {

Parts::Parts(const at::Tensor& whole) {
  const at::Tensor both = at::view_as_real(whole);
  real = both.select(-1, 0);
  imaginary = both.select(-1, 1);
}

}  // namespace tbk::generic
