/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * types.h: what all parts of the interface are made of: status, error, handles and dtypes.
 */
#ifndef TBK_TYPES_H
#define TBK_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 until version 1 is final; its candidate is frozen in contracts/compat/1rc. */
#define TBK_ABI_VERSION 0
#define TBK_ENTRY_SYMBOL "tbk_backend_create"

#if defined(__GNUC__)
#define TBK_EXPORT __attribute__((visibility("default")))
#define TBK_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TBK_EXPORT
#define TBK_MUST_CHECK
#endif

/* 1 where `object` was allocated by a side that knows `member` and the member is not NULL or 0. */
#define TBK_HAS(object, type, member) \
  ((object) != NULL &&                \
   (object)->struct_size >= offsetof(type, member) + sizeof((object)->member) && (object)->member)

/* ------------------------------------------------------------------------------------ status -- */

typedef int32_t tbk_status_t;

/* X(name, value, text) */
#define TBK_STATUS_MAP(X)                                                                 \
  X(OK, 0, "success")                                                                     \
  X(INVALID, 1, "an argument breaks a checked requirement")                               \
  X(INVALID_STATE, 2, "the object is in a state in which the call is not allowed")        \
  X(UNSUPPORTED, 3, "the backend does not offer this; nothing has happened")              \
  X(OUT_OF_MEMORY, 4, "memory or another countable resource of the device is exhausted")  \
  X(NOT_READY, 5, "enqueued work has not completed yet; not an error")                    \
  X(UNAVAILABLE, 6, "the device is held by another process; a later attempt may succeed") \
  X(FAILED, 7, "the driver, or work enqueued earlier, failed; the device stays usable")   \
  X(DEVICE_LOST, 8, "the device is lost to this process until it ends")

enum {
#define TBK_STATUS_ENUM(name, value, text) TBK_##name = (value),
  TBK_STATUS_MAP(TBK_STATUS_ENUM)
#undef TBK_STATUS_ENUM
      TBK_STATUS_COUNT
};

/* Written only by a call that fails, always with a terminating NUL. Its size is frozen. */
typedef struct tbk_error {
  char message[256];
} tbk_error_t;

/* ------------------------------------------------------------------------------------- types -- */

typedef struct tbk_instance tbk_instance_t;
typedef struct tbk_stream tbk_stream_t;
typedef struct tbk_event tbk_event_t;
typedef struct tbk_plan tbk_plan_t;
typedef struct tbk_kernel tbk_kernel_t;

typedef uint64_t tbk_memory_t;

/* X(name, value, size_bytes): values are those of PyTorch's ScalarType, so that nobody maps. */
#define TBK_DTYPE_MAP(X) \
  X(UINT8, 0, 1)         \
  X(INT8, 1, 1)          \
  X(INT16, 2, 2)         \
  X(INT32, 3, 4)         \
  X(INT64, 4, 8)         \
  X(FLOAT16, 5, 2)       \
  X(FLOAT32, 6, 4)       \
  X(FLOAT64, 7, 8)       \
  X(COMPLEX64, 9, 8)     \
  X(COMPLEX128, 10, 16)  \
  X(BOOL, 11, 1)         \
  X(BFLOAT16, 15, 2)

enum {
#define TBK_DTYPE_ENUM(name, value, size_bytes) TBK_##name = (value),
  TBK_DTYPE_MAP(TBK_DTYPE_ENUM)
#undef TBK_DTYPE_ENUM
      TBK_DTYPE_LIMIT = 64 /* dtypes are bits of a 64-bit mask in the device's properties */
};

/* State of a random number generator. `offset` is in 32-bit words and a multiple of 4. */
typedef struct tbk_generator {
  uint64_t seed;
  uint64_t offset;
} tbk_generator_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TYPES_H */
