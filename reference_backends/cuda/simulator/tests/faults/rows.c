/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.c: what each function may answer, by the list "Returns" on its page of the CUDA Driver API
 * reference (CUDA 13.0, August 2025), compared with the comments of its header, which have the same text.
 * Four codes are not on their pages and are met: 100 (cuInit without a device), 46 (a device that another
 * process has), 801 (cuMemAlloc), 200 (an image that is none). 700 and 719 where the page notes that it may
 * also return errors of work that was launched before.
 */
#include "faults.h"

#define COMMON 1, 3, 4, 201

const bool fault_with_kernels = true;

const fault_row_t fault_rows[] = {
    {"cuInit", {1, 100, 101, 803, 804}, false},
    {"cuDriverGetVersion", {1}, true}, /* a text for people */
    {"cuGetErrorString", {1}, true},   /* the text of an error of which somebody is told anyway */
    {"cuDeviceGetCount", {COMMON}, false},
    {"cuDeviceGet", {COMMON, 101}, false},
    {"cuDeviceGetName", {COMMON, 101}, true},     /* the device is called something */
    {"cuDeviceTotalMem_v2", {COMMON, 101}, true}, /* 0 stands for what is not known */
    {"cuDeviceCanAccessPeer", {3, 4, 101}, true}, /* no access is a full answer */
    {"cuDevicePrimaryCtxRetain", {COMMON, 2, 46, 101, 999}, false},
    {"cuDevicePrimaryCtxRelease_v2", {3, 4, 101, 201}, false},
    {"cuCtxPushCurrent_v2", {COMMON, 700}, false},
    {"cuCtxPopCurrent_v2", {3, 4, 201, 700}, false},
    {"cuCtxSynchronize", {3, 4, 201, 700, 719}, false},
    {"cuMemAlloc_v2", {COMMON, 2, 801, 700}, false},
    {"cuMemFree_v2", {COMMON, 700, 719}, false},
    {"cuMemGetInfo_v2", {COMMON, 700, 719}, false},
    {"cuMemHostAlloc", {COMMON, 2, 700}, false},
    {"cuMemFreeHost", {COMMON, 700}, false},
    {"cuMemcpyHtoDAsync_v2", {COMMON, 400, 700, 719}, false},
    {"cuMemcpyDtoHAsync_v2", {COMMON, 400, 700, 719}, false},
    {"cuMemcpyDtoDAsync_v2", {COMMON, 400, 700, 719}, false},
    {"cuMemcpyPeerAsync", {COMMON, 400, 700, 719}, false},
    {"cuMemsetD8Async", {COMMON, 700, 719}, false},
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
    {"cuLaunchHostFunc", {3, 4, 201, 400, 801, 700}, false},
    {"cuDeviceGetAttribute", {3, 4, 201, 101}, false},
    {"cuDeviceGetAttribute", {1}, true}, /* an older driver does not know that there are pools */
    /* What is refused is made anew, once: a file of the cache may be one that the driver does not take. */
    {"cuModuleLoadData", {COMMON, 200, 209, 218, 222, 303}, true},
    {"cuModuleLoadData", {2, 700}, false},
    {"cuModuleGetFunction", {COMMON, 500}, true},
    {"cuModuleGetFunction", {700}, false},
    {"cuModuleUnload", {COMMON, 800, 700}, false},
    {"cuLaunchKernel", {COMMON, 200, 400, 700, 701, 702, 719}, false},
    {"cuMemAllocAsync", {1, 3, 201, 801, 700}, false},
    {"cuMemAllocAsync", {2}, true}, /* without a workspace a kernel multiplies */
    {"cuMemFreeAsync", {1, 3, 201, 801, 700}, false},
    /* cuBLAS, by its own list of statuses: where it does not serve, a kernel of ours does. */
    {"cublasGetProperty", {7}, true},
    {"cublasCreate_v2", {1, 3}, true},
    {"cublasSetPointerMode_v2", {1}, true},
    {"cublasSetMathMode", {1}, true},
    {"cublasSetStream_v2", {1}, true},
    {"cublasSetWorkspace_v2", {1}, true},
    {"cublasSetWorkspace_v2", {7}, false},
    {"cublasGemmEx", {1, 3, 8, 15}, true},
    {"cublasGemmEx", {7, 11, 13, 14}, false},
    {"cublasDestroy_v2", {1}, true},
    /* NVRTC, by its list of results: what cannot be compiled is no kernel, for want of memory not yet. */
    {"nvrtcVersion", {3}, true},
    {"nvrtcCreateProgram", {1, 2, 3, 4}, false},
    {"nvrtcCompileProgram", {1, 3, 4, 5, 6, 7, 11}, false},
    {"nvrtcGetCUBINSize", {3, 4}, false},
    {"nvrtcGetCUBIN", {3, 4}, false},
    {"nvrtcGetProgramLogSize", {3, 4}, true}, /* a text for people; here there is none */
    {"nvrtcDestroyProgram", {4}, true},
};
const size_t fault_row_count = sizeof fault_rows / sizeof *fault_rows;

/* Memory in the order of a stream is the backend's own then: nothing else is called. */
const fault_row_t fault_older_rows[] = {{NULL, {0}, false}};
const size_t fault_older_row_count = 0;
const char* const fault_polled = NULL;
