/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * acl.h: the part of ACL and aclnn that this backend uses, by dlopen. The prototypes are our own: names,
 * parameter types, values and codes are those of the published interface. The backend and its simulator
 * are both built from these maps.
 *
 * Each row names where its facts were read:
 *   D nnnn  the API reference on hiascend.com, page aclcppdevg_03_nnnn, CANN 8.0 to 9.1: prototype and effect
 *   Da      the same site, aclnn API, CANN 8.0 to 9.1 (operatorlist_00019, operatorlist_00041)
 *   H       the header of ACL 1.15.0 as Ascend/pytorch had it (BSD-3), 2026-05: prototype and values; the
 *           effect is what torch_npu relies on, and its page was not read: unverified
 *   O       how Ascend/op-plugin 517f2e7d (BSD-3) calls it: prototype; the effect is that of the PyTorch
 *           operator that it serves there: unverified
 */
#ifndef TBK_NPU_ACL_H
#define TBK_NPU_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int acl_result; /* aclError, and what aclnn functions return */
typedef void *acl_context, *acl_stream, *acl_event;
typedef struct acl_tensor_object acl_tensor;
typedef struct acl_scalar_object acl_scalar;
typedef struct acl_ints_object acl_ints; /* aclIntArray */
typedef struct acl_list_object acl_list; /* aclTensorList */
typedef struct acl_executor_object acl_executor;

/* What a simulator of this library exports: "tbk_npu_simulator N". The driver that has it is simulated. */
#define ACL_SIMULATOR_MARKER "tbk_npu_simulator"

/* X(name, value, status): the codes that are told apart here (H), and what they are to who called this backend: a
 * wrong argument is one of the backend's own. */
#define ACL_RESULT_MAP(X)                       \
  X(OK, 0, OK)                                  \
  X(INVALID_PARAM, 100000, FAILED)              \
  X(UNINITIALIZED, 100001, FAILED)              \
  X(REPEAT_INITIALIZE, 100002, FAILED)          \
  X(UNSUPPORTED_DTYPE, 100026, UNSUPPORTED)     \
  X(WAIT_CALLBACK_TIMEOUT, 100036, FAILED)      \
  X(REPEAT_FINALIZE, 100037, FAILED)            \
  X(RT_PARAM_INVALID, 107000, FAILED)           \
  X(INVALID_DEVICE, 107001, FAILED)             \
  X(CONTEXT_NULL, 107002, FAILED)               \
  X(STREAM_CONTEXT, 107003, FAILED)             \
  X(EVENT_TIMESTAMP_INVALID, 107006, FAILED)    \
  X(EVENT_TIMESTAMP_REVERSED, 107007, FAILED)   \
  X(UNALIGNED, 107008, FAILED)                  \
  X(STREAM_NO_CALLBACK, 107015, FAILED)         \
  X(INVALID_MEMORY_TYPE, 107016, FAILED)        \
  X(INVALID_HANDLE, 107017, FAILED)             \
  X(INVALID_MALLOC_TYPE, 107018, FAILED)        \
  X(DEVICE_TASK_ABORT, 107022, DEVICE_LOST)     \
  X(STREAM_ABORT, 107023, FAILED)               \
  X(BAD_ALLOC, 200000, OUT_OF_MEMORY)           \
  X(API_NOT_SUPPORTED, 200001, UNSUPPORTED)     \
  X(FEATURE_UNSUPPORTED, 200006, UNSUPPORTED)   \
  X(FEATURE_NOT_SUPPORTED, 207000, UNSUPPORTED) \
  X(MEMORY_ALLOCATION, 207001, OUT_OF_MEMORY)   \
  X(RESOURCE_ALLOC, 207005, OUT_OF_MEMORY)      \
  X(NO_EVENT_RESOURCE, 207007, OUT_OF_MEMORY)   \
  X(NO_STREAM_RESOURCE, 207008, OUT_OF_MEMORY)  \
  X(DEVICE_OOM, 207018, OUT_OF_MEMORY)          \
  X(INTERNAL, 500000, DEVICE_LOST)              \
  X(RT_FAILURE, 500003, DEVICE_LOST)            \
  X(STREAM_NOT_COMPLETE, 507004, NOT_READY)     \
  X(EVENT_NOT_COMPLETE, 507006, NOT_READY)      \
  X(REPORT_TIMEOUT, 507012, FAILED)             \
  X(AICORE_TIMEOUT, 507014, DEVICE_LOST)        \
  X(AICORE_EXCEPTION, 507015, DEVICE_LOST)      \
  X(DEVICE_SETUP, 507033, FAILED)               \
  X(STREAM_SYNC_TIMEOUT, 507046, FAILED)        \
  X(EVENT_SYNC_TIMEOUT, 507047, FAILED)         \
  X(DEVICE_MEMORY, 507053, DEVICE_LOST)         \
  X(DRIVER_INTERNAL, 507899, DEVICE_LOST)       \
  X(NN_NULL, 161001, FAILED)                    \
  X(NN_INVALID, 161002, FAILED)                 \
  X(NN_RUNTIME, 361001, FAILED)                 \
  X(NN_INFER_SHAPE, 561001, FAILED)             \
  X(NN_TILING, 561002, FAILED)                  \
  X(NN_NO_KERNEL, 561003, FAILED)               \
  X(NN_EXECUTOR, 561101, FAILED)                \
  X(NN_EXECUTOR_NULL, 561103, FAILED)

enum {
#define ACL_RESULT_ENUM(name, value, status) ACL_##name = (value),
  ACL_RESULT_MAP(ACL_RESULT_ENUM)
#undef ACL_RESULT_ENUM
};

enum { ACL_HOST_TO_DEVICE = 1, ACL_DEVICE_TO_HOST = 2, ACL_DEVICE_TO_DEVICE = 3 }; /* H */
enum { ACL_MALLOC_HUGE_FIRST = 0 };                                                /* H */
enum { ACL_DDR_MEM = 0, ACL_HBM_MEM = 1 };                                         /* H */
enum { ACL_ATTR_TOTAL_GLOBAL_MEM = 301 };                                          /* H */
enum { ACL_STREAM_FAST_LAUNCH = 1, ACL_STREAM_FAST_SYNC = 2 };                     /* D 0069 */
enum { ACL_CONTINUE_ON_FAILURE = 0, ACL_STOP_ON_FAILURE = 1 };                     /* D 0074 */
enum { ACL_STREAM_COMPLETE = 0, ACL_STREAM_NOT_READY = 1 };                        /* H */
enum { ACL_EVENT_SYNC = 1, ACL_EVENT_PROGRESS = 2, ACL_EVENT_TIME_LINE = 8 };      /* D 0079 */
enum { ACL_EVENT_RECORDED_NOT_READY = 0, ACL_EVENT_RECORDED_COMPLETE = 1 };        /* D 0083 */
enum { ACL_CALLBACK_NO_BLOCK = 0, ACL_CALLBACK_BLOCK = 1 };                        /* D 0125 */
enum { ACL_KEEP_DTYPE = 0 }; /* cubeMathType: no narrower format (T CalcuOpUtil.cpp:407) */

/* X(name, value): aclFormat of tensors that are plain strided (H). */
enum { ACL_FORMAT_NCHW = 0, ACL_FORMAT_ND = 2, ACL_FORMAT_NCDHW = 30, ACL_FORMAT_NCL = 47 };

/* X(tbk name, aclDataType) (H): the dtypes of TBK_DTYPE_MAP. */
#define ACL_DTYPE_MAP(X) \
  X(UINT8, 4)            \
  X(INT8, 2)             \
  X(INT16, 6)            \
  X(INT32, 3)            \
  X(INT64, 9)            \
  X(FLOAT16, 1)          \
  X(FLOAT32, 0)          \
  X(FLOAT64, 11)         \
  X(COMPLEX64, 16)       \
  X(COMPLEX128, 17)      \
  X(BOOL, 12)            \
  X(BFLOAT16, 27)

enum {
#define ACL_DTYPE_ENUM(name, value) ACL_##name = (value),
  ACL_DTYPE_MAP(ACL_DTYPE_ENUM)
#undef ACL_DTYPE_ENUM
};

/* Without an optional function something is done in another way, or is not offered. */
enum { ACL_OPTIONAL, ACL_NEEDED };

/* X(member, symbol, need, page, result, parameters): libascendcl.so */
#define ACL_RUNTIME_MAP(X)                                                                         \
  X(init, "aclInit", ACL_NEEDED, "H", acl_result, (const char* config_path))                       \
  X(finalize, "aclFinalize", ACL_NEEDED, "D 0023", acl_result, (void))                             \
  X(get_version, "aclrtGetVersion", ACL_OPTIONAL, "H", acl_result,                                 \
    (int32_t * out_major, int32_t * out_minor, int32_t * out_patch))                               \
  X(recent_error, "aclGetRecentErrMsg", ACL_OPTIONAL, "H", const char*, (void))                    \
  X(soc_name, "aclrtGetSocName", ACL_OPTIONAL, "H", const char*, (void))                           \
  X(device_count, "aclrtGetDeviceCount", ACL_NEEDED, "H", acl_result, (uint32_t * out_count))      \
  X(device_info, "aclrtGetDeviceInfo", ACL_OPTIONAL, "H", acl_result,                              \
    (uint32_t device, int attribute, int64_t* out_value))                                          \
  X(set_device, "aclrtSetDevice", ACL_NEEDED, "D 0038", acl_result, (int32_t device))              \
  X(reset_device, "aclrtResetDevice", ACL_NEEDED, "D 0040", acl_result, (int32_t device))          \
  X(default_context, "aclrtGetPrimaryCtxState", ACL_OPTIONAL, "H", acl_result,                     \
    (int32_t device, uint32_t * out_flags, int32_t * out_active))                                  \
  X(get_context, "aclrtGetCurrentContext", ACL_NEEDED, "H", acl_result, (acl_context * out))       \
  X(set_context, "aclrtSetCurrentContext", ACL_NEEDED, "D 0061", acl_result, (acl_context chosen)) \
  X(synchronize_device, "aclrtSynchronizeDevice", ACL_NEEDED, "H", acl_result, (void))             \
  X(memory_info, "aclrtGetMemInfo", ACL_NEEDED, "H", acl_result,                                   \
    (int attribute, size_t* out_free, size_t* out_total))                                          \
  X(malloc_padded, "aclrtMalloc", ACL_NEEDED, "D 0095", acl_result,                                \
    (void** out, size_t size_bytes, int policy))                                                   \
  X(malloc_align32, "aclrtMallocAlign32", ACL_OPTIONAL, "H", acl_result,                           \
    (void** out, size_t size_bytes, int policy))                                                   \
  X(free, "aclrtFree", ACL_NEEDED, "D 2074", acl_result, (void* pointer))                          \
  X(malloc_host, "aclrtMallocHost", ACL_NEEDED, "H", acl_result, (void** out, size_t size_bytes))  \
  X(free_host, "aclrtFreeHost", ACL_NEEDED, "H", acl_result, (void* pointer))                      \
  X(copy, "aclrtMemcpy", ACL_NEEDED, "H", acl_result,                                              \
    (void* destination, size_t room_bytes, const void* source, size_t size_bytes, int kind))       \
  X(copy_async, "aclrtMemcpyAsync", ACL_NEEDED, "D 0106", acl_result,                              \
    (void* destination, size_t room_bytes, const void* source, size_t size_bytes, int kind,        \
     acl_stream stream))                                                                           \
  X(fill, "aclrtMemset", ACL_NEEDED, "H", acl_result,                                              \
    (void* pointer, size_t bytes, int32_t value, size_t size_bytes))                               \
  X(fill_async, "aclrtMemsetAsync", ACL_NEEDED, "H", acl_result,                                   \
    (void* pointer, size_t bytes, int32_t value, size_t size_bytes, acl_stream stream))            \
  X(stream_create, "aclrtCreateStream", ACL_NEEDED, "H", acl_result, (acl_stream * out))           \
  X(stream_create_config, "aclrtCreateStreamWithConfig", ACL_OPTIONAL, "D 0069", acl_result,       \
    (acl_stream * out, uint32_t priority, uint32_t flags))                                         \
  X(stream_failure_mode, "aclrtSetStreamFailureMode", ACL_OPTIONAL, "D 0074", acl_result,          \
    (acl_stream stream, uint64_t mode))                                                            \
  X(stream_destroy, "aclrtDestroyStream", ACL_NEEDED, "D 0070", acl_result, (acl_stream stream))   \
  X(stream_synchronize, "aclrtSynchronizeStream", ACL_NEEDED, "H", acl_result,                     \
    (acl_stream stream))                                                                           \
  X(stream_query, "aclrtStreamQuery", ACL_NEEDED, "H", acl_result,                                 \
    (acl_stream stream, int* out_status))                                                          \
  X(stream_wait_event, "aclrtStreamWaitEvent", ACL_NEEDED, "D 0091", acl_result,                   \
    (acl_stream stream, acl_event event))                                                          \
  X(event_create, "aclrtCreateEventExWithFlag", ACL_NEEDED, "D 0081", acl_result,                  \
    (acl_event * out, uint32_t flags))                                                             \
  X(event_destroy, "aclrtDestroyEvent", ACL_NEEDED, "H", acl_result, (acl_event event))            \
  X(event_record, "aclrtRecordEvent", ACL_NEEDED, "D 0083", acl_result,                            \
    (acl_event event, acl_stream stream))                                                          \
  X(event_query, "aclrtQueryEventStatus", ACL_NEEDED, "D 0083", acl_result,                        \
    (acl_event event, int* out_status))                                                            \
  X(event_synchronize, "aclrtSynchronizeEvent", ACL_NEEDED, "H", acl_result, (acl_event event))    \
  X(event_elapsed, "aclrtEventElapsedTime", ACL_NEEDED, "D 0090", acl_result,                      \
    (float* out_ms, acl_event start, acl_event end))                                               \
  X(event_timestamp, "aclrtEventGetTimestamp", ACL_NEEDED, "D 1780", acl_result,                   \
    (acl_event event, uint64_t * out_microseconds))                                                \
  X(launch_host_function, "aclrtLaunchHostFunc", ACL_OPTIONAL, "D 1959", acl_result,               \
    (acl_stream stream, void (*function)(void*), void* argument))                                  \
  X(launch_callback, "aclrtLaunchCallback", ACL_OPTIONAL, "D 0125", acl_result,                    \
    (void (*function)(void*), void* argument, int block, acl_stream stream))                       \
  X(subscribe_report, "aclrtSubscribeReport", ACL_OPTIONAL, "D 0125", acl_result,                  \
    (uint64_t thread, acl_stream stream))                                                          \
  X(process_report, "aclrtProcessReport", ACL_OPTIONAL, "D 0125", acl_result, (int32_t wait_ms))   \
  X(unsubscribe_report, "aclrtUnSubscribeReport", ACL_OPTIONAL, "D 0125", acl_result,              \
    (uint64_t thread, acl_stream stream))                                                          \
  X(peer_can_access, "aclrtDeviceCanAccessPeer", ACL_OPTIONAL, "H", acl_result,                    \
    (int32_t * out_can, int32_t device, int32_t peer))                                             \
  X(peer_enable, "aclrtDeviceEnablePeerAccess", ACL_OPTIONAL, "H", acl_result,                     \
    (int32_t peer, uint32_t flags))

/* X(member, symbol, need, page, result, parameters): libnnopbase.so, found through libopapi.so.
 * Strides and offset are in elements and not negative; the offset counts from `data`, which is aligned to
 * 32 bytes (Da 00019). */
#define ACL_HANDLE_MAP(X)                                                                     \
  X(create_tensor, "aclCreateTensor", ACL_NEEDED, "Da 00019", acl_tensor*,                    \
    (const int64_t* sizes, uint64_t rank, int dtype, const int64_t* strides, int64_t offset,  \
     int format, const int64_t* storage_sizes, uint64_t storage_rank, void* data))            \
  X(destroy_tensor, "aclDestroyTensor", ACL_NEEDED, "O", acl_result, (const void* tensor))    \
  X(create_scalar, "aclCreateScalar", ACL_NEEDED, "O", acl_scalar*, (void* value, int dtype)) \
  X(destroy_scalar, "aclDestroyScalar", ACL_NEEDED, "O", acl_result, (const void* scalar))    \
  X(create_ints, "aclCreateIntArray", ACL_NEEDED, "O", acl_ints*,                             \
    (const int64_t* items, uint64_t count))                                                   \
  X(destroy_ints, "aclDestroyIntArray", ACL_NEEDED, "O", acl_result, (const void* ints))      \
  X(create_list, "aclCreateTensorList", ACL_OPTIONAL, "O", acl_list*,                         \
    (const acl_tensor* const* items, uint64_t count))                                         \
  X(destroy_list, "aclDestroyTensorList", ACL_OPTIONAL, "O", acl_result, (const void* list))  \
  X(make_repeatable, "aclSetAclOpExecutorRepeatable", ACL_OPTIONAL, "Da 00041", acl_result,   \
    (acl_executor * executor))                                                                \
  X(destroy_executor, "aclDestroyAclOpExecutor", ACL_OPTIONAL, "Da 00041", acl_result,        \
    (acl_executor * executor))

#define ACL_PHASE_ONE_SYMBOL(name) "aclnn" name "GetWorkspaceSize"
#define ACL_PHASE_TWO_SYMBOL(name) "aclnn" name
/* Phase two of all operators: issues on the stream; the workspace may be NULL where 0 bytes are wanted. */
typedef acl_result (*acl_issue)(void* workspace, uint64_t workspace_bytes, acl_executor* executor,
                                acl_stream stream);

typedef struct acl_runtime {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define ACL_MEMBER(member, symbol, need, page, result, parameters) result(*member) parameters;
  ACL_RUNTIME_MAP(ACL_MEMBER)
} acl_runtime_t;

typedef struct acl_operators {
  ACL_HANDLE_MAP(ACL_MEMBER)
#undef ACL_MEMBER
} acl_operators_t;

#endif /* TBK_NPU_ACL_H */
