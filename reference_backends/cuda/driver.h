/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.h: the part of the CUDA driver API that this backend uses, by dlopen. The
 * prototypes are our own: names, parameter types and values are those of the published interface
 * (CUDA 12.0 and later). Symbols are looked up with their version suffix, because a plain name may
 * stand for an older ABI.
 */
#ifndef TBK_CUDA_DRIVER_H
#define TBK_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_deviceptr;
typedef struct cu_context_object* cu_context;
typedef struct cu_stream_object* cu_stream;
typedef struct cu_event_object* cu_event;
typedef struct cu_module_object* cu_module;
typedef struct cu_function_object* cu_function;

enum {
  CU_OK = 0,
  CU_INVALID_VALUE = 1,
  CU_OUT_OF_MEMORY = 2,
  CU_DEVICE_UNAVAILABLE = 46,
  CU_NOT_READY = 600,
  CU_NOT_SUPPORTED = 801
};
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2, CU_HOST_ALLOC_PORTABLE = 1 };
enum {
  CU_ATTRIBUTE_CC_MAJOR = 75,
  CU_ATTRIBUTE_CC_MINOR = 76,
  CU_ATTRIBUTE_MEMORY_POOLS = 115 /* CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED */
};

/* X(member, symbol, parameters). What CUDA_DRIVER_OPTIONAL names may be missing. */
#define CUDA_DRIVER_MAP(X)                                                                         \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(get_version, "cuDriverGetVersion", (int* out_version))                                         \
  X(error_string, "cuGetErrorString", (cu_result result, const char** out_text))                   \
  X(device_get_count, "cuDeviceGetCount", (int* out_count))                                        \
  X(device_get, "cuDeviceGet", (cu_device * out_device, int index))                                \
  X(device_get_name, "cuDeviceGetName", (char* name, int length, cu_device device))                \
  X(device_get_attribute, "cuDeviceGetAttribute", (int* out, int attribute, cu_device device))     \
  X(device_total_mem, "cuDeviceTotalMem_v2", (size_t * out_bytes, cu_device device))               \
  X(device_can_access_peer, "cuDeviceCanAccessPeer",                                               \
    (int* out_can, cu_device device, cu_device peer))                                              \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (cu_context * out, cu_device device))              \
  X(primary_release, "cuDevicePrimaryCtxRelease_v2", (cu_device device))                           \
  X(context_push, "cuCtxPushCurrent_v2", (cu_context context))                                     \
  X(context_pop, "cuCtxPopCurrent_v2", (cu_context * out_context))                                 \
  X(context_synchronize, "cuCtxSynchronize", (void))                                               \
  X(mem_alloc, "cuMemAlloc_v2", (cu_deviceptr * out, size_t size_bytes))                           \
  X(mem_free, "cuMemFree_v2", (cu_deviceptr pointer))                                              \
  X(mem_alloc_async, "cuMemAllocAsync", (cu_deviceptr * out, size_t size_bytes, cu_stream stream)) \
  X(mem_free_async, "cuMemFreeAsync", (cu_deviceptr pointer, cu_stream stream))                    \
  X(mem_get_info, "cuMemGetInfo_v2", (size_t * out_free, size_t * out_total))                      \
  X(mem_host_alloc, "cuMemHostAlloc", (void** out, size_t size_bytes, unsigned flags))             \
  X(mem_free_host, "cuMemFreeHost", (void* pointer))                                               \
  X(copy_h2d, "cuMemcpyHtoDAsync_v2",                                                              \
    (cu_deviceptr destination, const void* source, size_t size_bytes, cu_stream stream))           \
  X(copy_d2h, "cuMemcpyDtoHAsync_v2",                                                              \
    (void* destination, cu_deviceptr source, size_t size_bytes, cu_stream stream))                 \
  X(copy_d2d, "cuMemcpyDtoDAsync_v2",                                                              \
    (cu_deviceptr destination, cu_deviceptr source, size_t size_bytes, cu_stream stream))          \
  X(copy_peer, "cuMemcpyPeerAsync",                                                                \
    (cu_deviceptr destination, cu_context destination_context, cu_deviceptr source,                \
     cu_context source_context, size_t size_bytes, cu_stream stream))                              \
  X(fill, "cuMemsetD8Async",                                                                       \
    (cu_deviceptr pointer, unsigned char value, size_t size_bytes, cu_stream stream))              \
  X(stream_create, "cuStreamCreateWithPriority",                                                   \
    (cu_stream * out_stream, unsigned flags, int priority))                                        \
  X(stream_destroy, "cuStreamDestroy_v2", (cu_stream stream))                                      \
  X(stream_query, "cuStreamQuery", (cu_stream stream))                                             \
  X(stream_synchronize, "cuStreamSynchronize", (cu_stream stream))                                 \
  X(stream_wait_event, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned flags))    \
  X(event_create, "cuEventCreate", (cu_event * out_event, unsigned flags))                         \
  X(event_destroy, "cuEventDestroy_v2", (cu_event event))                                          \
  X(event_record, "cuEventRecord", (cu_event event, cu_stream stream))                             \
  X(event_query, "cuEventQuery", (cu_event event))                                                 \
  X(event_synchronize, "cuEventSynchronize", (cu_event event))                                     \
  X(event_elapsed, "cuEventElapsedTime", (float* out_ms, cu_event start, cu_event end))            \
  X(launch_host_func, "cuLaunchHostFunc",                                                          \
    (cu_stream stream, void (*function)(void*), void* argument))                                   \
  X(module_load_data, "cuModuleLoadData", (cu_module * out_module, const void* image))             \
  X(module_unload, "cuModuleUnload", (cu_module module))                                           \
  X(module_get_function, "cuModuleGetFunction",                                                    \
    (cu_function * out_function, cu_module module, const char* name))                              \
  X(launch_kernel, "cuLaunchKernel",                                                               \
    (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,                  \
     void** parameters, void** extra))

/* Of drivers older than 11.2 (cuMemAllocAsync): memory is kept by this backend then. */
#define CUDA_DRIVER_OPTIONAL(X) X(mem_alloc_async) X(mem_free_async)

typedef struct cuda_driver {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define CUDA_DRIVER_MEMBER(member, symbol, parameters) cu_result(*member) parameters;
  CUDA_DRIVER_MAP(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
} cuda_driver_t;

/*
 * Opens the driver and initialises it, once per process; NULL where there is no usable driver. Not
 * called before somebody counts devices: an initialised driver does not survive a fork, so that a
 * forked child has none either.
 */
const cuda_driver_t* cuda_driver(void);

/* Returns why there is no driver, or no device that it counts; empty where there is one. */
const char* cuda_driver_reason(void);

/* Returns the driver's version and the file that it was loaded from, for people; empty without a driver. */
const char* cuda_driver_about(void);

/* Whether the driver that was opened carries the marker of a simulated one. */
bool cuda_driver_is_simulated(void);

/* Whether this is a child that was forked from a process after it opened the driver. */
bool cuda_driver_is_forked(void);

/* Returns what the driver says about `result`; never NULL. */
const char* cuda_error_text(cu_result result);

#endif /* TBK_CUDA_DRIVER_H */
