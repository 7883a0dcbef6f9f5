/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shim_driver.h: the driver of cuda, for the shim.
 */
#ifndef SIM_SHIM_DRIVER_H
#define SIM_SHIM_DRIVER_H

#include <stdlib.h>

#include "../../../cublas.h"

#define SHIM_NAME "CUDA"
#define SHIM_BEHIND "libtbk_cuda_simulator.so"
#define SHIM_MARKER tbk_cuda_simulator
#define SHIM_OF_DRIVER(member, symbol, parameters) \
  SHIM_ROW(member, symbol, "cu_result", #parameters)
/* The driver, and the cuBLAS that belongs to it. */
#define SHIM_MAP CUDA_DRIVER_MAP(SHIM_OF_DRIVER) CUDA_CUBLAS_MAP(SHIM_OF_DRIVER)
/* A shim has no compiler. */
#define SHIM_ENVIRONMENT(simulator) \
  (setenv("TBK_CUDA_NVRTC", simulator, 1) | setenv("TBK_CUDA_CACHE", "", 1))

#endif /* SIM_SHIM_DRIVER_H */
