/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * old.h: the names whose current version has a suffix.
 */
#ifndef SIM_OLD_H
#define SIM_OLD_H

#define SIM_OLD_NAMES(X)       \
  X(cuDeviceTotalMem)          \
  X(cuDevicePrimaryCtxRelease) \
  X(cuCtxPushCurrent)          \
  X(cuCtxPopCurrent)           \
  X(cuMemAlloc)                \
  X(cuMemFree)                 \
  X(cuMemGetInfo)              \
  X(cuMemcpyHtoDAsync)         \
  X(cuMemcpyDtoHAsync)         \
  X(cuMemcpyDtoDAsync)         \
  X(cuStreamDestroy)           \
  X(cuEventDestroy)

#endif /* SIM_OLD_H */
