/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.h: what the simulator asks of a program. Each sentence is our own; `source` names what it rests
 * on, with the marks of acl.h: "D nnnn" is page aclcppdevg_03_nnnn of the API reference on hiascend.com
 * (CANN 8.0 to 9.1, read in November 2026), "Da" the aclnn API there, "H" the header of ACL 1.15.0 that
 * Ascend/pytorch had in May 2026, "T" and "O" what torch_npu and op-plugin do. The classes are those of
 * simkit/rules.h. Codes that no page gives to the case are the nearest of H.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include <simkit/rules.h>

#include "../acl.h"

/* X(name, number, class, answer, source, sentence) */
#define SIM_RULES(X)                                                                              \
  X(UNINITIALIZED, 1, SIM_DOCUMENTED, ACL_UNINITIALIZED, "D 0006 (aclInit), codes in H",          \
    "aclInit succeeds before any other call.")                                                    \
  X(FORKED, 2, SIM_UNDEFINED, ACL_UNINITIALIZED, "T torch_npu/npu/__init__.py:216; no page",      \
    "A child of a process that called aclInit makes no call.")                                    \
  X(HOST_FUNCTION, 3, SIM_UNDEFINED, ACL_FEATURE_UNSUPPORTED, "D 1959 (aclrtLaunchHostFunc)",     \
    "A host function makes no call of the driver.")                                               \
  X(FINALIZED, 4, SIM_UNDEFINED, ACL_UNINITIALIZED, "D 0023 (aclFinalize)",                       \
    "aclFinalize is the last call, and comes once.")                                              \
  X(FOREIGN, 5, SIM_UNDEFINED, ACL_REPEAT_FINALIZE, "T npu_sys_ctrl.cpp:220; no page",            \
    "Whoever is told by aclInit that somebody else initialised does not finalise.")               \
  X(NO_CONTEXT, 6, SIM_DOCUMENTED, ACL_CONTEXT_NULL, "D 0038 (aclrtSetDevice), codes in H",       \
    "A call that works in a context is made by a thread that has one current.")                   \
  X(CONTEXT_GONE, 7, SIM_UNDEFINED, ACL_CONTEXT_NULL, "D 0061 (aclrtSetCurrentContext)",          \
    "The context of a device that was reset is neither set nor used.")                            \
  X(BAD_HANDLE, 8, SIM_DOCUMENTED, ACL_INVALID_HANDLE, "codes in H",                              \
    "A handle is one that the driver made, of the kind that the call takes.")                     \
  X(DESTROYED, 9, SIM_UNDEFINED, ACL_INVALID_HANDLE, "D 0070, D 0081; no page says more",         \
    "What was destroyed is neither used nor destroyed again.")                                    \
  X(STALE_HANDLE, 10, SIM_UNDEFINED, ACL_INVALID_HANDLE, "D 0040 (aclrtResetDevice)",             \
    "A stream or an event is not used after its device was reset.")                               \
  X(DEVICE, 11, SIM_DOCUMENTED, ACL_INVALID_DEVICE, "D 0038 (aclrtSetDevice), codes in H",        \
    "A device is one of those that aclrtGetDeviceCount counts.")                                  \
  X(RESET, 12, SIM_DOCUMENTED, ACL_RT_PARAM_INVALID, "D 0040 (aclrtResetDevice)",                 \
    "A device is reset as often as it was set, and no oftener.")                                  \
  X(LEFT, 13, SIM_UNDEFINED, ACL_OK, "D 0040 (aclrtResetDevice)",                                 \
    "Streams and events are destroyed before the last reset of their device.")                    \
  X(MEMORY_LEFT, 14, SIM_GUESS, ACL_OK, "D 0040; no page speaks of memory",                       \
    "Memory is freed before the last reset of its device.")                                       \
  X(STILL_SET, 15, SIM_GUESS, ACL_OK, "D 0023 (aclFinalize), D 0040",                             \
    "Devices that were set are reset before aclFinalize.")                                        \
  X(STREAM_CONTEXT, 16, SIM_UNDEFINED, ACL_STREAM_CONTEXT, "D 0070, codes in H; T NPUGuardImpl",  \
    "A stream is used and destroyed by a thread whose current context it was made in.")           \
  X(EVENT_CONTEXT, 17, SIM_GUESS, ACL_OK, "T NPUGuardImpl.cpp:143; no page",                      \
    "An event is used by a thread whose current context it was made in.")                         \
  X(RECORD_DEVICE, 18, SIM_UNDEFINED, ACL_STREAM_CONTEXT, "T NPUEvent.cpp:100; no page",          \
    "An event is recorded on a stream of the device that it was made on.")                        \
  X(WAIT_DEVICE, 19, SIM_UNDEFINED, ACL_STREAM_CONTEXT, "D 0091; chips differ",                   \
    "A stream waits for an event of its own device.")                                             \
  X(EVENT_SYNC, 20, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0079, D 0081 (flags of events)",      \
    "A stream waits only for an event that was made with ACL_EVENT_SYNC.")                        \
  X(UNRECORDED, 21, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0091; no page",                       \
    "Nothing waits for an event that was never recorded.")                                        \
  X(TIMING, 22, SIM_UNDEFINED, ACL_EVENT_TIMESTAMP_INVALID, "D 0090 (aclrtEventElapsedTime)",     \
    "Time is taken of recorded events with ACL_EVENT_TIME_LINE, and between two of one stream.")  \
  X(DEFAULT_STREAM, 23, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0070, D 0074, default stream",    \
    "The default stream is not destroyed, and gets no failure mode.")                             \
  X(FAILURE_MODE, 24, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0074 (failure mode)",               \
    "The failure mode of a stream is 0 or 1, and is set once.")                                   \
  X(NULL_POINTER, 25, SIM_DOCUMENTED, ACL_RT_PARAM_INVALID, "codes in H",                         \
    "Where a result, a function or memory must stand there is no NULL.")                          \
  X(SIZE, 26, SIM_DOCUMENTED, ACL_RT_PARAM_INVALID, "D 0095 (aclrtMalloc)",                       \
    "An allocation has more than 0 bytes.")                                                       \
  X(FLAGS, 27, SIM_DOCUMENTED, ACL_RT_PARAM_INVALID, "D 0069, D 0079, enumerations of H",         \
    "Flags, policies, attributes and kinds are those that the reference lists.")                  \
  X(RANGE, 28, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0095, D 0106",                             \
    "A range of device memory lies inside of one live allocation.")                               \
  X(POINTER_DEVICE, 29, SIM_GUESS, ACL_OK, "D 0038; no page",                                     \
    "Device memory is used and freed in a context of its own device.")                            \
  X(FREE, 30, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0095, D 2074 (NULL there)",                 \
    "What is freed is the start of a live allocation of that kind.")                              \
  X(FREE_IN_USE, 31, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0095, D 2074: waits for nothing",    \
    "Memory is freed when no work that uses it is left.")                                         \
  X(DESTINATION, 32, SIM_DOCUMENTED, ACL_RT_PARAM_INVALID, "D 0106; H (destMax, maxCount)",       \
    "No more bytes are copied or filled than the destination is said to have.")                   \
  X(COUNT, 33, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0106: silent",                             \
    "A copy or a fill has more than 0 bytes.")                                                    \
  X(KIND, 34, SIM_UNDEFINED, ACL_INVALID_MEMORY_TYPE, "D 0106, codes in H",                       \
    "The kind of a copy says where its memory is.")                                               \
  X(HOST_TO_HOST, 35, SIM_DOCUMENTED, ACL_FEATURE_NOT_SUPPORTED, "D 0106 (aclrtMemcpyAsync)",     \
    "No asynchronous copy goes from the host to the host.")                                       \
  X(PAGEABLE, 36, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0106 in CANN 8.0 and 8.1",              \
    "Host memory of an asynchronous copy is page-locked; only newer drivers take other.")         \
  X(PEER, 37, SIM_UNDEFINED, ACL_DRIVER_INTERNAL, "T NPUPeerToPeerAccess.cpp:93; H",              \
    "Devices copy to each other when peer access is enabled on both sides.")                      \
  X(MIXED, 38, SIM_DOCUMENTED, ACL_FEATURE_UNSUPPORTED, "D 1959 (aclrtLaunchHostFunc)",           \
    "A stream has callbacks of one of the two styles.")                                           \
  X(NO_REPORT, 39, SIM_DOCUMENTED, ACL_STREAM_NO_CALLBACK, "D 0125, codes in H",                  \
    "A callback is launched on a stream for which a thread takes reports.")                       \
  X(SUBSCRIBED, 40, SIM_UNDEFINED, ACL_RT_PARAM_INVALID, "D 0125 (aclrtSubscribeReport)",         \
    "A stream has one thread for its reports, and a thread the streams of one device.")           \
  X(REPORTS_LEFT, 41, SIM_GUESS, ACL_OK, "D 0125; no page",                                       \
    "A stream is unsubscribed before it is destroyed.")                                           \
  X(DESCRIPTION, 42, SIM_DOCUMENTED, ACL_NN_INVALID, "Da 00019 (aclCreateTensor)",                \
    "Sizes, strides and the offset of a tensor are not negative, and its format is plain.")       \
  X(STORAGE, 43, SIM_UNDEFINED, ACL_NN_INVALID, "Da 00019: silent on what lies outside",          \
    "All elements of a tensor lie inside of its storage.")                                        \
  X(BASE, 44, SIM_DOCUMENTED, ACL_NN_INVALID, "Da 00019 (CANN 9.0: 32 bytes)",                    \
    "The storage of a tensor begins at a multiple of 32 bytes; the offset stands beside it.")     \
  X(PADDING, 45, SIM_UNDEFINED, ACL_NN_INVALID, "D 0095 (parts of an allocation)",                \
    "The storage of a tensor, rounded up to 32, has 32 bytes behind it in its allocation.")       \
  X(NN_NULL, 46, SIM_DOCUMENTED, ACL_NN_NULL, "Da, return codes of aclnn",                        \
    "An operator gets no NULL where it needs an argument, and its workspace is none.")            \
  X(DESCRIPTOR, 47, SIM_UNDEFINED, ACL_NN_INVALID, "O op_api_common.h:393; no page",              \
    "What describes an operand is destroyed after the second phase was called.")                  \
  X(EXECUTOR_USED, 48, SIM_UNDEFINED, ACL_NN_EXECUTOR, "Da 00041",                                \
    "An executor that was not made repeatable is issued once.")                                   \
  X(EXECUTOR_KIND, 49, SIM_UNDEFINED, ACL_NN_EXECUTOR, "Da 00041; no page",                       \
    "An executor is issued by the second phase of the operator that made it.")                    \
  X(EXECUTOR_CONTEXT, 50, SIM_UNDEFINED, ACL_NN_RUNTIME, "T, both phases on one device; no page", \
    "Both phases are called in one context.")                                                     \
  X(EXECUTOR_DESTROY, 51, SIM_UNDEFINED, ACL_NN_EXECUTOR, "Da 00041",                             \
    "Only an executor that was made repeatable is destroyed by the caller.")                      \
  X(EXECUTOR_LEFT, 52, SIM_GUESS, ACL_OK, "Da 00041",                                             \
    "An executor is issued, or made repeatable and destroyed.")                                   \
  X(EXECUTOR_NULL, 53, SIM_DOCUMENTED, ACL_NN_EXECUTOR_NULL, "Da 00041",                          \
    "Where an executor must stand there is no NULL.")                                             \
  X(WORKSPACE_SIZE, 54, SIM_UNDEFINED, ACL_NN_INVALID, "Da, the two phases",                      \
    "A workspace has as many bytes as the first phase asked for.")                                \
  X(WORKSPACE_BASE, 55, SIM_UNDEFINED, ACL_NN_INVALID, "D 0095 (parts of an allocation)",         \
    "A workspace begins at a multiple of 64 bytes.")                                              \
  X(WORKSPACE_TAKEN, 56, SIM_UNDEFINED, ACL_OK, "Da, the two phases: silent",                     \
    "Nothing else is written into a workspace until its operator is complete.")                   \
  X(ALIAS, 57, SIM_UNDEFINED, ACL_NN_INVALID, "O: other functions work in place; no page",        \
    "What an operator writes overlaps nothing that it reads.")                                    \
  X(DESCRIPTORS_LEFT, 58, SIM_GUESS, ACL_OK, "O op_api_common.h:393; no page",                    \
    "Tensors, scalars and lists are destroyed before the last device is reset.")

typedef enum sim_rule {
#define SIM_RULE_NAME(name, number, class, answer, source, sentence) SIM_##name = (number),
  SIM_RULES(SIM_RULE_NAME)
#undef SIM_RULE_NAME
} sim_rule_t;

#endif /* SIM_RULES_H */
