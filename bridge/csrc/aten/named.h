// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Operators that a backend serves by the names of PyTorch's overloads, whichever they are.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace tbk {

/// One overload that <tbk/tbk_aten.h> has an argument struct for, without those that have a wrapper by
/// hand.
struct NamedRow {
  const char* name;    ///< As PyTorch has it: "exp", "topk", "clamp.Tensor".
  uint32_t version;    ///< Of the struct.
  const char* schema;  ///< That the struct was made of.
};
extern const NamedRow kNamedRows[];
extern const int kNamedRowCount;

/// Asks the backend which overloads it offers on `device`, which is open, and lets their kernels come
/// before whatever else computes these operators, in place and with out= too. What a kernel refuses, and
/// what it cannot be asked for, goes on as before. Any thread; what was done once stays.
void offer_named(c10::DeviceIndex device);

}  // namespace tbk
