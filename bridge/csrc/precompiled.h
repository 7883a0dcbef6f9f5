// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Parsed once for all files of the bridge; a file still includes what it uses.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>
