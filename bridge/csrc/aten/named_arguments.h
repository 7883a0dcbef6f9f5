// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <aten/custom.h>

namespace tbk {

/// Returns whether a kernel can be given arguments of `type`: no generators, storages or streams.
bool is_passed(const c10::Type& type);

/// Appends `value` of `type`, as tbk_aten.h lays it out; of tensors those that are written as outputs.
/// Returns false for a value that only stands for one, such as a symbolic size. Errors: those of
/// CustomArguments.
bool append(CustomArguments& to, const c10::Type& type, const c10::IValue& value, bool is_written);

}  // namespace tbk
