/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: what the shim must know of the driver.
 */
#include <string.h>

#include "shim.h"

/* Pinned memory, too. */
const shim_handle_t shim_handles[] = {{"cu_deviceptr", 0, sizeof(cu_deviceptr)},
                                      {"cu_device", 0, sizeof(cu_device)},
                                      {"cu_result", 0, 0},
                                      {"cu_", 0, sizeof(void*)},
                                      {"cublas_handle", 0, sizeof(void*)},
                                      {"nvrtc_program", 0, sizeof(void*)},
                                      {"void", 1, sizeof(void*)},
                                      {NULL, 0, 0}};

/* Errors of work: the context answers each call with them from then on. */
bool shim_is_sticky(int result) {
  return result == 214 || (result >= 700 && result <= 719 && result != 701 && result != 704 &&
                           result != 705 && result != 708 && result != 712 && result != 713);
}

/* cuBLAS and the compiler have codes of their own; the calls around it meet the error. */
bool shim_meets_sticky(const char* symbol) {
  static const char* const outside[] = {"cuInit", "cuGetError", "cuDriver", "cuDevice",
                                        "cuCtxP", "cublas",     "nvrtc"};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    if (strncmp(symbol, outside[i], strlen(outside[i])) == 0) return false;
  return true;
}
