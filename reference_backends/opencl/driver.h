/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.h: the part of OpenCL 1.2 that is used here, declared from its specification, so that no
 * SDK is needed to build; and the functions of the loader, found at run time.
 */
#ifndef TBK_OPENCL_DRIVER_H
#define TBK_OPENCL_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef uint64_t cl_bits; /* every cl_bitfield */

typedef struct cl_platform_object* cl_platform;
typedef struct cl_device_object* cl_device;
typedef struct cl_context_object* cl_context;
typedef struct cl_queue_object* cl_queue;
typedef struct cl_mem_object* cl_mem;
typedef struct cl_program_object* cl_program;
typedef struct cl_kernel_object* cl_kernel;
typedef struct cl_event_object* cl_event;

typedef void (*cl_event_fn)(cl_event event, cl_int status, void* argument);

/* X(name, code): what the calls made here can answer with. Their names begin with CL_. */
#define OPENCL_ERRORS(X)                            \
  X(SUCCESS, 0)                                     \
  X(DEVICE_NOT_FOUND, -1)                           \
  X(DEVICE_NOT_AVAILABLE, -2)                       \
  X(COMPILER_NOT_AVAILABLE, -3)                     \
  X(MEM_OBJECT_ALLOCATION_FAILURE, -4)              \
  X(OUT_OF_RESOURCES, -5)                           \
  X(OUT_OF_HOST_MEMORY, -6)                         \
  X(PROFILING_INFO_NOT_AVAILABLE, -7)               \
  X(BUILD_PROGRAM_FAILURE, -11)                     \
  X(MAP_FAILURE, -12)                               \
  X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14) \
  X(INVALID_VALUE, -30)                             \
  X(INVALID_DEVICE, -33)                            \
  X(INVALID_CONTEXT, -34)                           \
  X(INVALID_QUEUE_PROPERTIES, -35)                  \
  X(INVALID_COMMAND_QUEUE, -36)                     \
  X(INVALID_MEM_OBJECT, -38)                        \
  X(INVALID_PROGRAM_EXECUTABLE, -45)                \
  X(INVALID_KERNEL_ARGS, -52)                       \
  X(INVALID_WORK_GROUP_SIZE, -54)                   \
  X(INVALID_BUFFER_SIZE, -61)                       \
  X(PLATFORM_NOT_FOUND_KHR, -1001)                  \
  X(CONTEXT_TERMINATED_KHR, -1121)

enum {
#define CODE(name, code) CL_##name = (code),
  OPENCL_ERRORS(CODE)
#undef CODE
      CL_OK = CL_SUCCESS
};

enum {
  CL_PLATFORM_VERSION = 0x0901,
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019, /* in bits */
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_ENDIAN_LITTLE = 0x1026,
  CL_DEVICE_AVAILABLE = 0x1027,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_QUEUE_PROPERTIES = 0x102A,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
  CL_CONTEXT_PLATFORM = 0x1084,
  CL_QUEUE_PROPERTIES = 0x1093,
  CL_QUEUE_PRIORITY = 0x1096, /* cl_khr_priority_hints */
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_EVENT_STATUS = 0x11D3,
  CL_PROFILING_END = 0x1283
};

enum {
  CL_QUEUE_PROFILING = 1 << 1,
  CL_PRIORITY_HIGH = 1 << 0,
  CL_PRIORITY_MEDIUM = 1 << 1,
  CL_MEM_READ_WRITE = 1 << 0,
  CL_MEM_ALLOC_HOST_PTR = 1 << 4,
  CL_MAP_READ_WRITE = 3,
  CL_MIGRATE_CONTENT_UNDEFINED = 1 << 1,
  CL_COMPLETE = 0
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

#define EVENTS cl_uint, const cl_event*, cl_event* /* what every command ends in */

/* X(result, name, arguments): what every driver of OpenCL 1.2 has. A call is driver->cl<name>. */
#define OPENCL_FUNCTIONS(X)                                                                       \
  X(cl_int, GetPlatformIDs, (cl_uint, cl_platform*, cl_uint*))                                    \
  X(cl_int, GetPlatformInfo, (cl_platform, cl_uint, size_t, void*, size_t*))                      \
  X(cl_int, GetDeviceIDs, (cl_platform, cl_bits, cl_uint, cl_device*, cl_uint*))                  \
  X(cl_int, GetDeviceInfo, (cl_device, cl_uint, size_t, void*, size_t*))                          \
  X(cl_context, CreateContext,                                                                    \
    (const intptr_t*, cl_uint, const cl_device*, void*, void*, cl_int*))                          \
  X(cl_int, ReleaseContext, (cl_context))                                                         \
  X(cl_queue, CreateCommandQueue, (cl_context, cl_device, cl_bits, cl_int*))                      \
  X(cl_int, ReleaseCommandQueue, (cl_queue))                                                      \
  X(cl_int, Flush, (cl_queue))                                                                    \
  X(cl_mem, CreateBuffer, (cl_context, cl_bits, size_t, void*, cl_int*))                          \
  X(cl_int, ReleaseMemObject, (cl_mem))                                                           \
  X(cl_int, EnqueueWriteBuffer, (cl_queue, cl_mem, cl_uint, size_t, size_t, const void*, EVENTS)) \
  X(cl_int, EnqueueReadBuffer, (cl_queue, cl_mem, cl_uint, size_t, size_t, void*, EVENTS))        \
  X(cl_int, EnqueueCopyBuffer, (cl_queue, cl_mem, cl_mem, size_t, size_t, size_t, EVENTS))        \
  X(cl_int, EnqueueFillBuffer, (cl_queue, cl_mem, const void*, size_t, size_t, size_t, EVENTS))   \
  X(cl_int, EnqueueMigrateMemObjects, (cl_queue, cl_uint, const cl_mem*, cl_bits, EVENTS))        \
  X(void*, EnqueueMapBuffer,                                                                      \
    (cl_queue, cl_mem, cl_uint, cl_bits, size_t, size_t, EVENTS, cl_int*))                        \
  X(cl_int, EnqueueUnmapMemObject, (cl_queue, cl_mem, void*, EVENTS))                             \
  X(cl_int, EnqueueMarkerWithWaitList, (cl_queue, EVENTS))                                        \
  X(cl_int, EnqueueBarrierWithWaitList, (cl_queue, EVENTS))                                       \
  X(cl_int, EnqueueNDRangeKernel,                                                                 \
    (cl_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*, EVENTS))          \
  X(cl_event, CreateUserEvent, (cl_context, cl_int*))                                             \
  X(cl_int, SetUserEventStatus, (cl_event, cl_int))                                               \
  X(cl_int, SetEventCallback, (cl_event, cl_int, cl_event_fn, void*))                             \
  X(cl_int, WaitForEvents, (cl_uint, const cl_event*))                                            \
  X(cl_int, GetEventInfo, (cl_event, cl_uint, size_t, void*, size_t*))                            \
  X(cl_int, GetEventProfilingInfo, (cl_event, cl_uint, size_t, void*, size_t*))                   \
  X(cl_int, RetainEvent, (cl_event))                                                              \
  X(cl_int, ReleaseEvent, (cl_event))                                                             \
  X(cl_program, CreateProgramWithSource,                                                          \
    (cl_context, cl_uint, const char**, const size_t*, cl_int*))                                  \
  X(cl_int, BuildProgram, (cl_program, cl_uint, const cl_device*, const char*, void*, void*))     \
  X(cl_int, GetProgramBuildInfo, (cl_program, cl_device, cl_uint, size_t, void*, size_t*))        \
  X(cl_int, ReleaseProgram, (cl_program))                                                         \
  X(cl_kernel, CreateKernel, (cl_program, const char*, cl_int*))                                  \
  X(cl_int, SetKernelArg, (cl_kernel, cl_uint, size_t, const void*))                              \
  X(cl_int, ReleaseKernel, (cl_kernel))

/* Of OpenCL 2.0; NULL where the loader is older. */
#define OPENCL_LATER_FUNCTIONS(X) \
  X(cl_queue, CreateCommandQueueWithProperties, (cl_context, cl_device, const cl_ulong*, cl_int*))

typedef struct opencl_driver {
#define MEMBER(result, name, arguments) result(*cl##name) arguments; /* NOLINT: no expression */
  OPENCL_FUNCTIONS(MEMBER)
  OPENCL_LATER_FUNCTIONS(MEMBER)
#undef MEMBER
} opencl_driver_t;

/* Opens the loader at `path`. Returns NULL, or the reason why it cannot be used, which lives in
 * `text`. Libraries are never unloaded. */
const char* opencl_driver_load(opencl_driver_t* driver, const char* path, char* text, size_t size);

/* Returns the name that the specification gives an error code. */
const char* opencl_error_name(cl_int code);

#endif /* TBK_OPENCL_DRIVER_H */
