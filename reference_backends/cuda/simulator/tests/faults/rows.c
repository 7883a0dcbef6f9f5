/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.c: what each function may answer, by the list "Returns" on its page of the CUDA Driver API
 * reference (CUDA 13.0, August 2025); 700 and 719 where the page notes that it may also return errors
 * of work that was launched before.
 */
#include "faults.h"

#define COMMON 1, 3, 4, 201

const bool fault_with_kernels = false; /* the shim has no compiler */

const fault_row_t fault_rows[] = {
    {"cuInit", {1, 100, 101, 803, 804}, false},
    {"cuGetErrorString", {1}, true}, /* the text of an error of which somebody is told anyway */
    {"cuDeviceGetCount", {1, 3, 4}, false},
    {"cuDeviceGet", {COMMON, 101}, false},
    {"cuDeviceGetName", {COMMON, 101}, true},     /* the device is called something */
    {"cuDeviceTotalMem_v2", {COMMON, 101}, true}, /* 0 stands for what is not known */
    {"cuDeviceCanAccessPeer", {3, 4, 101}, true}, /* no access is a full answer */
    {"cuDevicePrimaryCtxRetain", {COMMON, 2, 46, 101, 999}, false},
    {"cuDevicePrimaryCtxRelease_v2", {3, 4, 101, 201}, false},
    {"cuCtxPushCurrent_v2", {COMMON}, false},
    {"cuCtxPopCurrent_v2", {3, 4, 201}, false},
    {"cuCtxSynchronize", {3, 4, 201, 700, 719}, false},
    {"cuMemAlloc_v2", {COMMON, 2, 801}, false},
    {"cuMemFree_v2", {COMMON, 700, 719}, false},
    {"cuMemGetInfo_v2", {COMMON, 700, 719}, false},
    {"cuMemHostAlloc", {COMMON, 2}, false},
    {"cuMemFreeHost", {COMMON, 700}, false},
    {"cuMemcpyHtoDAsync_v2", {COMMON, 400, 700, 719}, false},
    {"cuMemcpyDtoHAsync_v2", {COMMON, 400, 700, 719}, false},
    {"cuMemcpyDtoDAsync_v2", {COMMON, 400, 700, 719}, false},
    {"cuMemcpyPeerAsync", {COMMON, 400, 700, 719}, false},
    {"cuMemsetD8Async", {COMMON, 400, 700, 719}, false},
    {"cuStreamCreateWithPriority", {COMMON, 2, 700}, false},
    {"cuStreamDestroy_v2", {COMMON, 400, 700}, false},
    {"cuStreamQuery", {3, 4, 201, 400, 700, 719}, false},
    {"cuStreamSynchronize", {3, 4, 201, 400, 700, 719}, false},
    {"cuStreamWaitEvent", {3, 4, 201, 400, 700}, false},
    {"cuEventCreate", {COMMON, 2, 700}, false},
    {"cuEventDestroy_v2", {3, 4, 201, 400, 700}, false},
    {"cuEventRecord", {COMMON, 400, 700}, false},
    {"cuEventQuery", {1, 3, 4, 400, 700, 719}, false},
    {"cuEventSynchronize", {3, 4, 201, 400, 700, 719}, false},
    {"cuEventElapsedTime", {3, 4, 201, 400, 999, 700}, false},
    {"cuLaunchHostFunc", {COMMON, 400, 801, 700}, false},
};
const size_t fault_row_count = sizeof fault_rows / sizeof *fault_rows;
