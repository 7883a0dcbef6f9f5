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
#include "../../../nvrtc.h"

#define SHIM_NAME "CUDA"
#define SHIM_BEHIND "libtbk_cuda_simulator.so"
#define SHIM_MARKER tbk_cuda_simulator
#define SHIM_OF_DRIVER(member, symbol, parameters) \
  SHIM_ROW(member, symbol, "cu_result", #parameters)
/* The driver, and the cuBLAS and the compiler that belong to it. */
#define SHIM_MAP                  \
  CUDA_DRIVER_MAP(SHIM_OF_DRIVER) \
  CUDA_CUBLAS_MAP(SHIM_OF_DRIVER) \
  CUDA_NVRTC_MAP(SHIM_OF_DRIVER)
/* What is compiled is not kept in a file. */
#define SHIM_ENVIRONMENT(simulator) ((void)(simulator), setenv("TBK_CUDA_CACHE", "", 1))

#endif /* SIM_SHIM_DRIVER_H */
