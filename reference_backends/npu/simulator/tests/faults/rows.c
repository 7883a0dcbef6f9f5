/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.c: how each function fails here. The pages of most functions say "0 is success, anything else is
 * failure" and name few codes, so these are the classes that the list of codes has (H): a wrong call,
 * no resource, something inside, an error of work, what a chip does not do.
 */
#include "../../../acl.h"
#include "faults.h"

#define COMMON ACL_RT_PARAM_INVALID, ACL_INTERNAL
#define MEMORY COMMON, ACL_MEMORY_ALLOCATION, ACL_DEVICE_OOM
#define WORK COMMON, ACL_STREAM_CONTEXT, ACL_AICORE_EXCEPTION
#define PLAN ACL_NN_INVALID, ACL_NN_TILING, ACL_NN_NO_KERNEL, ACL_NN_NULL, ACL_NN_RUNTIME
#define ISSUE ACL_NN_RUNTIME, ACL_NN_EXECUTOR, ACL_AICORE_EXCEPTION
#define OPERATOR(name)                           \
  {ACL_PHASE_ONE_SYMBOL(name), {PLAN}, false}, { \
    ACL_PHASE_TWO_SYMBOL(name), {ISSUE}, false   \
  }

const bool fault_with_kernels = true;

const fault_row_t fault_rows[] = {
    {"aclInit", {ACL_INVALID_PARAM, ACL_INTERNAL}, false},
    {"aclrtGetVersion", {COMMON}, true}, /* a text for people */
    {"aclrtGetDeviceCount", {ACL_INTERNAL, ACL_RT_FAILURE}, false},
    {"aclrtGetSocName", {1}, true},    /* the device is called something */
    {"aclGetRecentErrMsg", {1}, true}, /* more about an error that is told anyway */
    {"aclrtGetDeviceInfo", {COMMON, ACL_FEATURE_NOT_SUPPORTED}, true}, /* 0 is not known */
    {"aclrtSetDevice", {COMMON, ACL_INVALID_DEVICE, ACL_DEVICE_SETUP}, false},
    {"aclrtResetDevice", {COMMON, ACL_INVALID_DEVICE}, false},
    {"aclrtGetCurrentContext", {COMMON}, false},
    {"aclrtSetCurrentContext", {COMMON}, false},
    {"aclrtGetPrimaryCtxState", {COMMON}, true}, /* asked for what stays as it was */
    {"aclrtSynchronizeDevice", {WORK}, false},
    {"aclrtGetMemInfo", {COMMON}, false},
    {"aclrtMallocAlign32", {MEMORY}, false},
    {"aclrtFree", {COMMON}, false},
    {"aclrtMallocHost", {MEMORY}, false},
    {"aclrtFreeHost", {COMMON}, false},
    {"aclrtMemcpy", {COMMON, ACL_AICORE_EXCEPTION}, false},
    {"aclrtMemcpyAsync", {WORK}, false},
    {"aclrtMemset", {COMMON, ACL_AICORE_EXCEPTION}, false},
    {"aclrtMemsetAsync", {WORK}, false},
    {"aclrtCreateStreamWithConfig", {COMMON, ACL_NO_STREAM_RESOURCE}, false},
    {"aclrtSetStreamFailureMode", {COMMON}, false},
    {"aclrtDestroyStream", {COMMON, ACL_STREAM_CONTEXT}, false},
    {"aclrtSynchronizeStream", {WORK}, false},
    {"aclrtStreamQuery", {WORK}, false},
    {"aclrtStreamWaitEvent", {WORK}, false},
    {"aclrtCreateEventExWithFlag", {COMMON, ACL_NO_EVENT_RESOURCE}, false},
    {"aclrtDestroyEvent", {COMMON}, false},
    {"aclrtRecordEvent", {WORK, ACL_NO_EVENT_RESOURCE}, false},
    {"aclrtQueryEventStatus", {WORK}, false},
    {"aclrtSynchronizeEvent", {WORK}, false},
    {"aclrtEventElapsedTime", {COMMON, ACL_EVENT_TIMESTAMP_INVALID}, false},
    {"aclrtEventGetTimestamp", {COMMON, ACL_EVENT_TIMESTAMP_INVALID}, false},
    {"aclrtLaunchHostFunc", {WORK}, false},
    {"aclrtDeviceCanAccessPeer", {COMMON}, true},    /* no access is a full answer */
    {"aclrtDeviceEnablePeerAccess", {COMMON}, true}, /* copies go another way */
    {"aclCreateTensor", {1}, false},
    {"aclDestroyTensor", {ACL_NN_INVALID}, true}, /* nobody can do more */
    {"aclCreateScalar", {1}, false},
    {"aclDestroyScalar", {ACL_NN_INVALID}, true},
    {"aclCreateIntArray", {1}, false},
    {"aclDestroyIntArray", {ACL_NN_INVALID}, true},
    {"aclCreateTensorList", {1}, false},
    {"aclDestroyTensorList", {ACL_NN_INVALID}, true},
    {"aclSetAclOpExecutorRepeatable", {ACL_NN_EXECUTOR}, true}, /* it is left then, as without it */
    {"aclDestroyAclOpExecutor", {ACL_NN_EXECUTOR}, true},
    OPERATOR("InplaceFillScalar"),
    OPERATOR("InplaceCopy"),
    OPERATOR("Add"),
    OPERATOR("Mul"),
    OPERATOR("SWhere"),
    OPERATOR("ReduceSum"),
    OPERATOR("Mm"),
    OPERATOR("Exp"),
    OPERATOR("Cat"),
};
const size_t fault_row_count = sizeof fault_rows / sizeof *fault_rows;

/* Callbacks come by reports, to a thread of the backend. */
const char* const fault_polled = "aclrtProcessReport";

const fault_row_t fault_older_rows[] = {
    {"aclrtCreateStream", {COMMON, ACL_NO_STREAM_RESOURCE}, false},
    {"aclrtMalloc", {MEMORY}, false},
    {"aclrtSubscribeReport", {COMMON}, false},
    {"aclrtLaunchCallback", {WORK}, false},
    {"aclrtProcessReport", {COMMON}, true},     /* it is asked again */
    {"aclrtUnSubscribeReport", {COMMON}, true}, /* with the stream, which nobody has then */
};
const size_t fault_older_row_count = sizeof fault_older_rows / sizeof *fault_older_rows;
