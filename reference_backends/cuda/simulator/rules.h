/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.h: what the simulator asks of a program. Each sentence is our own; `source` names the page of
 * NVIDIA's documentation that it rests on ("Driver" is the CUDA Driver API reference of CUDA 13.0,
 * August 2025). The classes are those of simkit/rules.h.
 * Rules 1 to 26, 28, 30, 36 and 37 were held against the comments of cuda.h of CUDA 13.0, from which that
 * reference is made. 27 was held against the last edition of the CUDA C++ Programming Guide (CUDA 13.0, August
 * 2025, "Guide"), chapter 20; 31 to 35 against chapter 2 of the page of cuBLAS of CUDA 13 (the one that has
 * emulation by fixed point), as others keep both pages: read in November 2026. That setting a stream takes the
 * workspace away is 2.4.7 of the same page.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include <simkit/rules.h>

/* X(name, number, class, answer, source, sentence) */
#define SIM_RULES(X)                                                                              \
  X(UNINITIALIZED, 1, SIM_DOCUMENTED, 3, "Driver, Initialization: cuInit",                        \
    "cuInit succeeds before any other call.")                                                     \
  X(FORKED, 2, SIM_UNDEFINED, 3, "Driver, Initialization: silent on fork",                        \
    "A child of a process that called cuInit makes no call.")                                     \
  X(HOST_FUNCTION, 3, SIM_DOCUMENTED, 800, "Driver, Execution Control: cuLaunchHostFunc",         \
    "A host function makes no call of the driver.")                                               \
  X(NO_CONTEXT, 4, SIM_DOCUMENTED, 201, "Driver, CUresult: CUDA_ERROR_INVALID_CONTEXT",           \
    "A call that works in a context is made by a thread that has one current.")                   \
  X(CONTEXT_GONE, 5, SIM_DOCUMENTED, 709, "Driver, CUresult: CUDA_ERROR_CONTEXT_IS_DESTROYED",    \
    "A context is not used after its last release.")                                              \
  X(BAD_HANDLE, 6, SIM_DOCUMENTED, 400, "Driver, CUresult: CUDA_ERROR_INVALID_HANDLE",            \
    "A handle is one that the driver made, of the kind that the call takes.")                     \
  X(DESTROYED, 7, SIM_UNDEFINED, 400, "Driver, cuStreamDestroy, cuEventDestroy, cuModuleUnload",  \
    "A stream, an event or a module is neither used nor destroyed again once it is destroyed.")   \
  X(STALE_HANDLE, 8, SIM_UNDEFINED, 400, "Driver, cuDevicePrimaryCtxRelease: resets the context", \
    "A stream or an event is not used after the context in which it was made is gone.")           \
  X(RECORD_CONTEXT, 9, SIM_DOCUMENTED, 400, "Driver, Event Management: cuEventRecord",            \
    "An event is recorded on a stream of its own context.")                                       \
  X(STREAM_CONTEXT, 10, SIM_GUESS, 0, "Driver, Stream Management: silent",                        \
    "Work is enqueued on a stream while the stream's context is current.")                        \
  X(RANGE, 11, SIM_UNDEFINED, 1, "Driver, Memory Management: silent on ranges",                   \
    "A range of device memory lies inside of one live allocation.")                               \
  X(POINTER_CONTEXT, 12, SIM_GUESS, 0, "Driver, Unified Addressing",                              \
    "Device memory is used in its own context, or by a copy between contexts that names it.")     \
  X(FREE, 13, SIM_DOCUMENTED, 1, "Driver, Memory Management: cuMemFree",                          \
    "cuMemFree takes the start of an allocation that is live.")                                   \
  X(FREE_HOST, 14, SIM_DOCUMENTED, 1, "Driver, Memory Management: cuMemFreeHost, cuMemHostAlloc", \
    "cuMemFreeHost takes the start of a pinned allocation that is live.")                         \
  X(NULL_POINTER, 15, SIM_DOCUMENTED, 1, "Driver, CUresult: CUDA_ERROR_INVALID_VALUE",            \
    "Where a result or a host range must stand there is no NULL.")                                \
  X(SIZE, 16, SIM_DOCUMENTED, 1, "Driver, Memory Management: cuMemAlloc",                         \
    "An allocation by cuMemAlloc has more than 0 bytes.")                                         \
  X(FLAGS, 17, SIM_DOCUMENTED, 1, "Driver, CUresult: CUDA_ERROR_INVALID_VALUE",                   \
    "Flags and attributes are those that the reference lists.")                                   \
  X(DEVICE, 18, SIM_DOCUMENTED, 101, "Driver, CUresult: CUDA_ERROR_INVALID_DEVICE",               \
    "A device is one of those that cuDeviceGet gives.")                                           \
  X(POP, 19, SIM_DOCUMENTED, 201, "Driver, Context Management: cuCtxPopCurrent",                  \
    "A thread pops no more contexts than it pushed.")                                             \
  X(RELEASE, 20, SIM_DOCUMENTED, 201, "Driver, cuDevicePrimaryCtxRelease",                        \
    "A primary context is released as often as it was retained, and no oftener.")                 \
  X(TIMING, 21, SIM_DOCUMENTED, 400, "Driver, Event Management: cuEventElapsedTime",              \
    "Time is taken between two events with timing, both recorded.")                               \
  X(LEGACY_STREAM, 22, SIM_GUESS, 0, "Driver, Stream synchronization behavior",                   \
    "No work is enqueued on the legacy default stream, which waits for other streams.")           \
  X(VERSION, 23, SIM_UNDEFINED, 1, "Driver, Driver Entry Point Access",                           \
    "A symbol that has versions is called with the suffix of the version that is meant.")         \
  X(DEPTH_RULE, 24, SIM_GUESS, 1, "Driver, Context Management: cuCtxPushCurrent",                 \
    "A thread has at most 64 contexts pushed.")                                                   \
  X(LEFT, 25, SIM_GUESS, 0, "Driver, cuDevicePrimaryCtxRelease: resets the context",              \
    "What was made in a context is destroyed and freed before its last release.")                 \
  X(STILL_PUSHED, 26, SIM_GUESS, 0, "Driver, cuDevicePrimaryCtxRelease: pops nothing",            \
    "A thread pops a context that it pushed before the context's last release.")                  \
  X(LAUNCH_LIMITS, 27, SIM_DOCUMENTED, 1, "Guide, 20.2, Table 27",                                \
    "A launch stays within what the device allows of groups, threads and shared memory.")         \
  X(LAUNCH_BOUNDS, 28, SIM_DOCUMENTED, 701, "Driver, CUresult: LAUNCH_OUT_OF_RESOURCES",          \
    "A group has no more threads than the kernel was compiled for.")                              \
  X(LAUNCH_SHAPE, 29, SIM_UNDEFINED, 1, "none: the kernels are our own",                          \
    "A kernel of emit is launched in one dimension, in groups of exactly 64 threads.")            \
  X(ACCESS, 30, SIM_DOCUMENTED, 700, "Driver, CUresult: ILLEGAL_ADDRESS, MISALIGNED_ADDRESS",     \
    "Device code reads and writes inside of live allocations, at aligned addresses.")             \
  X(CUBLAS_CONTEXT, 31, SIM_UNDEFINED, 400, "cuBLAS, 2.1.2: cuBLAS Context",                      \
    "A handle of cuBLAS is used while the context in which it was made is current.")              \
  X(CUBLAS_ARGUMENT, 32, SIM_DOCUMENTED, 1, "cuBLAS, 2.8.12: cublasGemmEx",                       \
    "Sizes, leading dimensions, forms and modes of a product are those that the page allows.")    \
  X(CUBLAS_SCALARS, 33, SIM_UNDEFINED, 1, "cuBLAS, 2.1.5: Scalar Parameters",                     \
    "Alpha and beta stand where the handle's pointer mode says: with the host or the device.")    \
  X(CUBLAS_WORKSPACE, 34, SIM_DOCUMENTED, 1, "cuBLAS, 2.4.8: cublasSetWorkspace",                 \
    "A workspace begins at a multiple of 256 bytes.")                                             \
  X(CUBLAS_FREED, 35, SIM_UNDEFINED, 700, "cuBLAS, 2.4.8: kernels rely on it intact",             \
    "A workspace is there until the product that uses it is computed.")                           \
  X(SIZE_ELSEWHERE, 36, SIM_UNDEFINED, 1, "Driver, cuMemHostAlloc, cuMemAllocAsync: silent",      \
    "A pinned allocation, and one of a stream, has more than 0 bytes.")                           \
  X(TIMING_CONTEXT, 37, SIM_UNDEFINED, 400, "Driver, cuEventElapsedTime: silent",                 \
    "Time is taken between two events of one context.")                                           \
  X(CUBLAS_OTHER, 38, SIM_UNDEFINED, 1, "none: a limit of this simulator",                        \
    "A product is computed with alpha 1 and beta 0, both with the host: no other is simulated.")

typedef enum sim_rule {
#define SIM_RULE_NAME(name, number, class, answer, source, sentence) SIM_##name = (number),
  SIM_RULES(SIM_RULE_NAME)
#undef SIM_RULE_NAME
} sim_rule_t;

#endif /* SIM_RULES_H */
