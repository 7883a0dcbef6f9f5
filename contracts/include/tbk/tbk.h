/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk.h: what a library must offer to be a PyTorch accelerator backend.
 *
 * A backend is a shared library with one exported symbol, tbk_backend_create. It returns a table,
 * and everything else is reached through that table. Ten functions are mandatory (struct tbk_core);
 * the rest stands in optional tables. What a backend lacks is a NULL table or a NULL entry: there
 * are no flags for it, so nothing can disagree with itself.
 *
 * How to read this file
 *   Each function states Requires, Ensures, Ordering, Threads, Ownership, Errors, On error and
 *   Since. A line ends in the id of its clause; the clause's level, source and tests are in
 *   contracts/spec. "none" means that there is nothing to say, not that nobody thought about it.
 *   A Requires line says what happens to who breaks it: (checked) means that the backend answers
 *   with the named status and does nothing; (undefined) means that no test may rely on anything.
 *
 * Nothing implicit crosses this interface
 *   There is no current device, no current stream and no thread-local state. Each call names its
 *   instance, its device and its stream. What PyTorch calls "current" is kept by the host.
 *
 * Devices
 *   A device is an index, 0 to count - 1. Nothing starts before device_open, which may take
 *   seconds; a process may fork until then. A forked child never uses a device that its parent
 *   opened: the host sees to that.
 *
 * Memory
 *   A location is a handle and a byte offset. Adding to the handle is legal only where the device
 *   declares TBK_DEVICE_FLAT_ADDRESS; then handle + n, offset 0 and handle, offset n are the same
 *   location. The handle 0 is no memory. Layouts that a vendor tiles inside its own library stay
 *   there: what crosses this interface is bytes and strides.
 *
 * The least
 *   A host may rely on 8 streams, 8 events and 32 allocations of 64 KiB of a device at a time, and
 *   on 1 MiB in one allocation. Whatever more it needs it reads from the properties: memory, the
 *   largest allocation, granularity, dtypes, ranks. Kernels may refuse whatever no clause names.
 *
 * Streams
 *   A stream is a queue in order. A call that takes a stream and gets NULL is complete when it
 *   returns and is ordered after nothing else. With a stream it enqueues: it runs after all
 *   that was enqueued on that stream before, and before all that comes later. Whether the call
 *   returns at once is the backend's choice: a device that executes everything at once is legal.
 *
 * Errors
 *   A call returns a status and may write a message into a caller-owned buffer. An error of
 *   enqueued work appears at the latest when its stream or device is synchronised; it may appear
 *   earlier, and repeatedly. TBK_DEVICE_LOST is final for that device until the process ends.
 *
 * Growth
 *   Tables and structs that may grow begin with struct_size, set by the side that owns the memory.
 *   The other side reads or writes min(struct_size, sizeof its own) bytes. Members are appended,
 *   never moved, and no struct has padding at its tail. TBK_HAS tests for a member.
 *
 * Libraries are never unloaded.
 */
#ifndef TBK_TBK_H
#define TBK_TBK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 until cpu, cuda and npu all run on it; frozen under contracts/compat from 1 on. */
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

/* ------------------------------------------------------------------------- device properties -- */

enum {
  TBK_DEVICE_FLAT_ADDRESS = 1 << 0,      /* handle + n is the location n bytes further on */
  TBK_DEVICE_HOST_VISIBLE = 1 << 1,      /* the handle is a pointer that the host may dereference */
  TBK_DEVICE_CROSS_DEVICE_WAIT = 1 << 2, /* event_wait accepts an event of another device */
  TBK_DEVICE_EXCLUSIVE = 1 << 3,         /* one process at a time may have it open */
  TBK_DEVICE_PHILOX = 1 << 4,            /* random_bits is Philox4x32-10 in the layout it states */
  TBK_DEVICE_FLAGS_KNOWN = (1 << 5) - 1
};

typedef struct tbk_device_properties {
  size_t struct_size;
  const char* name; /* for people; borrowed, lives as long as the instance */
  uint64_t flags;
  uint64_t memory_bytes;     /* in total; 0 where it is not known, but then at least 64 MiB */
  uint64_t memory_alignment; /* bytes; a power of two, at least 16 */
  uint64_t copy_granularity; /* bytes; a power of two, 1 where any byte can be addressed */
  uint64_t dtypes;           /* bit n: kernels accept the dtype with the value n */
  int32_t max_rank;          /* of the tensors that kernels accept */
  int32_t priority_least;    /* of streams; lower comes first, as in PyTorch; 0 is between */
  int32_t priority_greatest;
  int32_t zero;
  uint64_t max_allocation_bytes; /* in one allocation; 0 where no limit but the memory is known */
} tbk_device_properties_t;

/* ------------------------------------------------------------------------- core, mandatory ---- */

/* The mandatory ten are those before `fill`. */
typedef struct tbk_core {
  size_t struct_size;

  /**
   * Destroy the instance.
   * Requires:  no other call on this instance is running (undefined).                 [TDN-001]
   * Ensures:   devices that are still open are closed first.                          [TDN-002]
   * Ordering:  returns when all enqueued work of the instance has completed.          [TDN-003]
   * Threads:   any thread; not concurrently with calls on the same instance.          [TDN-004]
   * Ownership: takes the instance, its table and all handles that came from it.       [TDN-005]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*destroy)(tbk_instance_t* self);

  /**
   * Tell how many devices there are.
   * Requires:  out_count != NULL; else INVALID (checked).                             [DEV-001]
   * Ensures:   0 <= *out_count; 0 where there is no device or no usable driver.       [DEV-002]
   * Ensures:   the same count for the life of the instance.                           [DEV-003]
   * Ordering:  host only; opens no device.                                            [DEV-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says, and no other.                                [DEV-005]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*device_count)(tbk_instance_t* self, int32_t* out_count,
                               tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Describe `device`, open or not.
   * Requires:  0 <= device < device count; else INVALID (checked).                    [DEV-006]
   * Requires:  out_properties != NULL; else INVALID (checked).                        [DEV-007]
   * Requires:  out_properties->struct_size covers struct_size; else INVALID (checked). [DEV-008]
   * Ensures:   at most out_properties->struct_size bytes are written.                 [DEV-009]
   * Ensures:   the same answers for the life of the instance, open or not.            [DEV-010]
   * Ensures:   name is not empty, at most 255 bytes, and lives as long as the instance. [DEV-011]
   * Ensures:   memory_alignment is a power of two and at least 16.                    [DEV-012]
   * Ensures:   copy_granularity is a power of two and divides memory_alignment.       [DEV-013]
   * Ensures:   priority_greatest <= 0 <= priority_least.                              [DEV-014]
   * Ensures:   flags has no bit that this header does not name.                       [DEV-015]
   * Ensures:   max_allocation_bytes is 0, or at least 1 MiB.                         [DEV-027]
   * Ordering:  host only; opens no device.                                            [DEV-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns the struct; the instance owns the name.                [DEV-016]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*device_properties)(tbk_instance_t* self, int32_t device,
                                    tbk_device_properties_t* out_properties,
                                    tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Open `device` for this instance. May take seconds.
   * Requires:  0 <= device < device count; else INVALID (checked).                    [DEV-006]
   * Requires:  the instance has not got it open; else INVALID_STATE (checked).        [DEV-017]
   * Ensures:   every call that names the device may be made.                          [DEV-018]
   * Ordering:  host-synchronous.                                                      [DEV-019]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    UNAVAILABLE, at once, where another process holds an exclusive device. [DEV-020]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*device_open)(tbk_instance_t* self, int32_t device,
                              tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Close `device`.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Ensures:   it can be opened again.                                                [DEV-022]
   * Ordering:  returns when all enqueued work of the device has completed.            [DEV-023]
   * Threads:   any thread; not concurrently with calls that name the device.          [DEV-024]
   * Ownership: giving back what came from the device stays a harmless no-op.          [TDN-006]
   * Errors:    FAILED and DEVICE_LOST of earlier work; it is closed all the same.     [DEV-025]
   * On error:  an error other than of enqueued work leaves the device as it was.      [DEV-026]
   * Since:     0
   */
  tbk_status_t (*device_close)(tbk_instance_t* self, int32_t device,
                               tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Allocate `size_bytes` of memory on `device`.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_memory != NULL; else INVALID (checked).                            [MEM-001]
   * Ensures:   *out_memory is not 0 when size_bytes > 0.                              [MEM-002]
   * Ensures:   the handle is a multiple of memory_alignment where addresses are flat. [MEM-003]
   * Ensures:   size 0 succeeds and gives 0 or a handle that memory_free accepts.      [MEM-004]
   * Ensures:   no byte of it belongs to another live allocation.                      [MEM-005]
   * Ensures:   every byte from 0 to size_bytes - 1 can be written and read back.      [MEM-006]
   * Ensures:   at least 32 allocations of 64 KiB can exist on a device at a time.    [MEM-023]
   * Ordering:  host-synchronous; usable at once on every stream of the device.        [MEM-007]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_memory; give it back with memory_free, once.      [MEM-008]
   * Errors:    OUT_OF_MEMORY when the device cannot give that much, for any size.     [MEM-009]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*memory_alloc)(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                               tbk_memory_t* out_memory, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give `memory` back.
   * Requires:  memory is 0 or came from memory_alloc on this device (undefined).      [MEM-010]
   * Requires:  no enqueued work uses it (undefined).                                  [MEM-011]
   * Ensures:   its bytes can be allocated again.                                      [MEM-012]
   * Ensures:   the contents of other allocations stay as they are.                    [MEM-013]
   * Ensures:   0 is accepted and does nothing.                                        [MEM-014]
   * Ordering:  host-synchronous.                                                      [MEM-015]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the memory.                                                      [MEM-016]
   * Errors:    none for memory of a lost device: it is accepted and forgotten.        [ERR-003]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*memory_free)(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                              tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Copy `size_bytes` from the host to memory of `device`.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  offset, size: multiples of copy_granularity; else INVALID (checked).   [CPY-001]
   * Requires:  the range lies inside one allocation (undefined).                      [CPY-002]
   * Requires:  `source` stays valid and unchanged until it is complete (undefined).   [CPY-003]
   * Ensures:   the bytes arrive, and no byte outside the range is written.            [CPY-004]
   * Ensures:   size 0 succeeds and does nothing, also with source NULL or memory 0.   [CPY-005]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps `source`.                                             [CPY-007]
   * Errors:    INVALID where the stream belongs to another device (checked).          [STR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*upload)(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                         const void* source, uint64_t size_bytes, tbk_stream_t* stream,
                         tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Copy `size_bytes` from memory of `device` to the host.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  offset, size: multiples of copy_granularity; else INVALID (checked).   [CPY-001]
   * Requires:  the range lies inside one allocation (undefined).                      [CPY-002]
   * Requires:  `destination` stays valid and unread until it is complete (undefined). [CPY-008]
   * Ensures:   the bytes arrive, and no byte outside destination[0, size) is written. [CPY-009]
   * Ensures:   size 0 succeeds and does nothing, with destination NULL or memory 0 too. [CPY-010]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps `destination`.                                        [CPY-011]
   * Errors:    INVALID where the stream belongs to another device (checked).          [STR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*download)(tbk_instance_t* self, int32_t device, void* destination,
                           tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Copy `size_bytes` from one place in memory of `device` to another.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  offsets, size: multiples of copy_granularity; else INVALID (checked).  [CPY-012]
   * Requires:  both ranges lie inside one allocation each (undefined).                [CPY-013]
   * Requires:  the ranges do not overlap (undefined).                                 [CPY-014]
   * Ensures:   the bytes arrive, and no byte outside the destination is written.      [CPY-015]
   * Ensures:   both ranges may lie in the same allocation.                            [CPY-016]
   * Ensures:   size 0 succeeds and does nothing, also with handles 0.                 [CPY-017]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID where the stream belongs to another device (checked).          [STR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*copy)(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                       uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                       uint64_t size_bytes, tbk_stream_t* stream,
                       tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Set `size_bytes` of memory of `device` to the byte `value`. May be NULL.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  offset, size: multiples of copy_granularity; else INVALID (checked).   [CPY-001]
   * Requires:  the range lies inside one allocation (undefined).                      [CPY-002]
   * Ensures:   every byte of the range is `value`, and no byte outside is written.    [CPY-018]
   * Ensures:   size 0 succeeds and does nothing, also with memory 0.                  [CPY-019]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID where the stream belongs to another device (checked).          [STR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*fill)(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                       uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                       tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Tell how much memory of `device` is free, and how much there is. May be NULL.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_free_bytes and out_total_bytes != NULL; else INVALID (checked).    [MEM-017]
   * Ensures:   *out_free_bytes <= *out_total_bytes, and the total never changes.      [MEM-018]
   * Ensures:   free falls while a large allocation lives, and comes back after it.    [MEM-019]
   * Ordering:  host-synchronous.                                                      [MEM-020]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*memory_info)(tbk_instance_t* self, int32_t device, uint64_t* out_free_bytes,
                              uint64_t* out_total_bytes, tbk_error_t* error) TBK_MUST_CHECK;
} tbk_core_t;

/* ---------------------------------------------------------------------------------- streams -- */

typedef struct tbk_stream_ops {
  size_t struct_size;

  /**
   * Create a stream on `device`. Lower `priority` comes first where the device cares.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_stream != NULL; else INVALID (checked).                            [STR-003]
   * Ensures:   *out_stream is not NULL, and has nothing to wait for.                  [STR-004]
   * Ensures:   a priority out of range is clamped, not refused.                       [STR-005]
   * Ensures:   at least 8 streams of a device can exist at a time.                    [STR-006]
   * Ordering:  host-synchronous.                                                      [STR-007]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_stream; give it back with stream_destroy, once.   [STR-008]
   * Errors:    OUT_OF_MEMORY when no more streams can be had.                         [STR-009]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_create)(tbk_instance_t* self, int32_t device, int32_t priority,
                                tbk_stream_t** out_stream, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Destroy `stream`; NULL does nothing.
   * Requires:  no later call names it (undefined).                                    [STR-010]
   * Ensures:   work enqueued before still runs to its end.                            [STR-011]
   * Ordering:  may return before that work is complete.                               [STR-012]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the stream.                                                      [STR-013]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*stream_destroy)(tbk_instance_t* self, tbk_stream_t* stream);

  /**
   * Tell whether all work enqueued on `stream` has completed. Does not block.
   * Requires:  stream != NULL; else INVALID (checked).                                [STR-014]
   * Ensures:   OK only if all earlier work is complete, with effects visible to the host. [STR-015]
   * Ensures:   NOT_READY while earlier work is not complete, without waiting for it.  [STR-016]
   * Ensures:   asked again and again, it becomes OK without any other call.           [STR-017]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work; it never stays NOT_READY for ever. [ERR-004]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_query)(tbk_instance_t* self, tbk_stream_t* stream,
                               tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Wait for all work enqueued on `stream` so far.
   * Requires:  stream != NULL; else INVALID (checked).                                [STR-014]
   * Ensures:   all earlier work is complete, with effects visible to the host.        [STR-019]
   * Ensures:   does not wait for work enqueued later on other streams.                [STR-020]
   * Ordering:  host-synchronous.                                                      [STR-021]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work, at the latest here.             [ERR-005]
   * On error:  the work is over all the same; the call has not returned early.        [ERR-006]
   * Since:     0
   */
  tbk_status_t (*stream_synchronize)(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Wait for all work enqueued on all streams of `device` so far.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Ensures:   earlier work of every stream of the device is complete and visible.    [STR-022]
   * Ensures:   succeeds where nothing was enqueued, and where there is no stream.     [STR-023]
   * Ordering:  host-synchronous.                                                      [STR-021]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work, at the latest here.             [ERR-005]
   * On error:  the work is over all the same; the call has not returned early.        [ERR-006]
   * Since:     0
   */
  tbk_status_t (*device_synchronize)(tbk_instance_t* self, int32_t device,
                                     tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give the driver's own handle of `stream`. May be NULL.
   * Requires:  stream and out_native != NULL; else INVALID (checked).                 [STR-024]
   * Ensures:   the same each time; earlier work is ordered before native work.        [STR-025]
   * Ordering:  host only, though it may flush a queue of the backend's own.           [STR-026]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: borrowed: valid as long as the stream.                                 [STR-027]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_native_handle)(tbk_instance_t* self, tbk_stream_t* stream,
                                       void** out_native, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Make a stream of a native handle of `device`. May be NULL.
   * Requires:  native is a live handle of the device (undefined).                     [STR-028]
   * Requires:  out_stream != NULL; else INVALID (checked).                            [STR-003]
   * Ensures:   work on *out_stream is in one order with work on the native queue.     [STR-029]
   * Ordering:  host-synchronous.                                                      [STR-007]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: stream_destroy takes *out_stream and leaves the native queue alone.    [STR-030]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*stream_from_native)(tbk_instance_t* self, int32_t device, void* native,
                                     tbk_stream_t** out_stream, tbk_error_t* error) TBK_MUST_CHECK;
} tbk_stream_ops_t;

/* ----------------------------------------------------------------------------------- events -- */

enum { TBK_EVENT_TIMING = 1 << 0, TBK_EVENT_FLAGS_KNOWN = (1 << 1) - 1 };

typedef struct tbk_event_ops {
  size_t struct_size;

  /**
   * Create an event on `device`. `flags` is 0 or TBK_EVENT_TIMING.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_event != NULL and no unknown bit in flags; else INVALID (checked). [EVT-001]
   * Ensures:   complete until recorded: query and synchronize succeed, wait adds nothing. [EVT-002]
   * Ensures:   at least 8 events of a device can exist at a time.                     [EVT-003]
   * Ordering:  host-synchronous.                                                      [EVT-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_event; give it back with event_destroy, once.     [EVT-005]
   * Errors:    OUT_OF_MEMORY when no more events can be had.                          [EVT-006]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_create)(tbk_instance_t* self, int32_t device, uint32_t flags,
                               tbk_event_t** out_event, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Destroy `event`; NULL does nothing.
   * Requires:  no later call names it (undefined).                                    [EVT-007]
   * Ensures:   legal while it is pending; waits already enqueued stay in force.       [EVT-008]
   * Ordering:  does not wait for the work it was recorded after.                      [EVT-009]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the event.                                                       [EVT-010]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*event_destroy)(tbk_instance_t* self, tbk_event_t* event);

  /**
   * Record in `event` all work enqueued on `stream` so far.
   * Requires:  event and stream != NULL and of one device; else INVALID (checked).    [EVT-011]
   * Ensures:   it completes when all that work has: copies, fills, kernels, callbacks. [EVT-012]
   * Ensures:   work enqueued later is not needed for it to complete.                  [EVT-013]
   * Ensures:   recorded again, it stands for the new point from this call on.         [EVT-014]
   * Ordering:  enqueued, in the order of that stream.                                 [EVT-015]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_record)(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                               tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Make later work of `stream` wait for `event`. May be done by waiting on the host.
   * Requires:  stream and event != NULL; else INVALID (checked).                      [EVT-016]
   * Requires:  one device, unless TBK_DEVICE_CROSS_DEVICE_WAIT; else INVALID (checked). [EVT-017]
   * Ensures:   later work runs after what was last recorded before this call.         [EVT-018]
   * Ensures:   a record made after this call changes nothing for it.                  [EVT-019]
   * Ensures:   any number of streams may wait, also the one it was recorded on.       [EVT-020]
   * Ensures:   an event of another device orders work in the same way.                [EVT-021]
   * Ordering:  enqueued, in the order of that stream.                                 [EVT-015]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_wait)(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                             tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Tell whether what `event` recorded has completed. Does not block.
   * Requires:  event != NULL; else INVALID (checked).                                 [EVT-022]
   * Ensures:   OK only if the recorded work is complete, visible to the host.         [EVT-023]
   * Ensures:   NOT_READY while the recorded work is not complete, without waiting for it. [EVT-024]
   * Ensures:   asked again and again, it becomes OK without any other call.           [EVT-025]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of earlier work; it never stays NOT_READY for ever. [ERR-004]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_query)(tbk_instance_t* self, tbk_event_t* event,
                              tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Wait for what `event` recorded.
   * Requires:  event != NULL; else INVALID (checked).                                 [EVT-022]
   * Ensures:   the recorded work is complete, with effects visible to the host.       [EVT-026]
   * Ordering:  host-synchronous.                                                      [STR-021]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    FAILED or DEVICE_LOST of recorded work, here or at a later synchronize. [ERR-007]
   * On error:  the work is over all the same; the call has not returned early.        [ERR-006]
   * Since:     0
   */
  tbk_status_t (*event_synchronize)(tbk_instance_t* self, tbk_event_t* event,
                                    tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give the time from `start` to `end` in milliseconds. Does not wait. May be NULL.
   * Requires:  both timing, recorded, of one device; else INVALID_STATE (checked).    [EVT-027]
   * Requires:  start, end and out_ms != NULL; else INVALID (checked).                 [EVT-028]
   * Ensures:   not negative where end is ordered after start.                         [EVT-029]
   * Ensures:   milliseconds, as the host's clock would measure them.                  [EVT-030]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    NOT_READY while either is not complete.                                [EVT-031]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*event_elapsed)(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                double* out_ms, tbk_error_t* error) TBK_MUST_CHECK;
} tbk_event_ops_t;

/* --------------------------------------------------------------------------- host callbacks -- */

typedef void (*tbk_callback_fn)(void* argument);

typedef struct tbk_callback_ops {
  size_t struct_size;

  /**
   * Enqueue a call of `function` on the host. It may block, and must not call this interface.
   * Requires:  stream and function != NULL; else INVALID (checked).                   [CBK-001]
   * Ensures:   runs exactly once, with `argument`, on any thread, also the caller's.  [CBK-002]
   * Ensures:   earlier work of the stream is complete and visible to it.              [CBK-003]
   * Ensures:   later work of the stream starts after it has returned.                 [CBK-004]
   * Ensures:   after DEVICE_LOST it may be left out.                                  [CBK-005]
   * Ordering:  enqueued, in the order of that stream.                                 [CBK-006]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps what `argument` points to until it has run.           [CBK-007]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*callback_enqueue)(tbk_instance_t* self, tbk_stream_t* stream,
                                   tbk_callback_fn function, void* argument,
                                   tbk_error_t* error) TBK_MUST_CHECK;
} tbk_callback_ops_t;

/* ----------------------------------------------------------------------- pinned host memory -- */

typedef struct tbk_pinned_ops {
  size_t struct_size;

  /**
   * Allocate host memory that `device` can copy from and to without staging.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  out_pointer != NULL; else INVALID (checked).                           [PIN-001]
   * Ensures:   the host can read and write every byte, and no live allocation shares one. [PIN-002]
   * Ensures:   a multiple of 64; size 0 gives NULL or what pinned_free accepts.       [PIN-003]
   * Ensures:   copies of every device of the instance may use it.                     [PIN-004]
   * Ordering:  host-synchronous.                                                      [PIN-005]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_pointer; give it back with pinned_free, once.     [PIN-006]
   * Errors:    OUT_OF_MEMORY when the host cannot give that much, for any size.       [PIN-007]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*pinned_alloc)(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                               void** out_pointer, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give pinned memory back; NULL does nothing.
   * Requires:  pointer came from pinned_alloc and no enqueued work uses it (undefined). [PIN-008]
   * Ensures:   its bytes can be allocated again.                                      [PIN-009]
   * Ordering:  host-synchronous.                                                      [PIN-005]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the memory.                                                      [PIN-010]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*pinned_free)(tbk_instance_t* self, void* pointer);
} tbk_pinned_ops_t;

/* -------------------------------------------------------------------------------- peer copy -- */

typedef struct tbk_peer_ops {
  size_t struct_size;

  /**
   * Tell whether `device` reaches memory of `peer` directly.
   * Requires:  0 <= device, peer < device count, out_can != NULL; else INVALID (checked). [PER-001]
   * Ensures:   *out_can is 0 or 1, and 0 where peer is device.                        [PER-002]
   * Ordering:  host only; opens no device.                                            [DEV-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*peer_can_access)(tbk_instance_t* self, int32_t device, int32_t peer,
                                  int32_t* out_can, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Copy from memory of one device to memory of another. `stream` is one of the source's device.
   * Requires:  the instance has got both devices open; else INVALID_STATE (checked).  [PER-003]
   * Requires:  offsets, size: multiples of both granularities; else INVALID (checked). [PER-004]
   * Ensures:   works whatever peer_can_access says, and where both are one device.    [PER-005]
   * Ensures:   the bytes arrive, and no byte outside the destination is written.      [PER-006]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID where the stream is not of the source's device (checked).      [PER-007]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*peer_copy)(tbk_instance_t* self, int32_t destination_device,
                            tbk_memory_t destination, uint64_t destination_offset,
                            int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                            uint64_t size_bytes, tbk_stream_t* stream,
                            tbk_error_t* error) TBK_MUST_CHECK;
} tbk_peer_ops_t;

/* ------------------------------------------------------------------- stream-ordered memory ---- */

typedef struct tbk_async_memory_ops {
  size_t struct_size;

  /**
   * Allocate memory that work of `stream` may use from this point on.
   * Requires:  stream and out_memory != NULL; else INVALID (checked).                 [SOM-001]
   * Ensures:   what memory_alloc ensures, for later work of the stream.               [SOM-002]
   * Ordering:  other streams may use it once they are ordered after this point.       [SOM-003]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_memory; give it back with async_free, once.       [SOM-004]
   * Errors:    OUT_OF_MEMORY when the device cannot give that much, for any size.     [MEM-009]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*async_alloc)(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                              tbk_memory_t* out_memory, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Give memory of async_alloc back once earlier work of `stream` is complete. 0 does nothing.
   * Requires:  stream != NULL; else INVALID (checked).                                [STR-014]
   * Ensures:   no other allocation gets its bytes before that work is complete.       [SOM-005]
   * Ordering:  enqueued; returns at once.                                             [SOM-006]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the memory.                                                      [SOM-007]
   * Errors:    none for memory of a lost device: it is accepted and forgotten.        [ERR-003]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*async_free)(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                             tbk_error_t* error) TBK_MUST_CHECK;
} tbk_async_memory_ops_t;

/* ---------------------------------------------------------------------------------- kernels -- */

/*
 * A kernel computes one operator, named as PyTorch names its overloads: "add.Tensor", "copy_".
 * `arguments` is the struct that <tbk/tbk_operators.h> declares for it, struct_size first, made of
 * the types of <tbk/tbk_arguments.h>. Outputs are allocated beforehand. An output may be an input
 * exactly, and never overlaps one in part.
 */
struct tbk_kernel {
  size_t struct_size;

  /**
   * Run the kernel on `device`.
   * Requires:  arguments->struct_size covers its version; else INVALID (checked).     [KRN-001]
   * Requires:  tensors lie inside their storage, on the device (undefined).           [KRN-002]
   * Ensures:   all elements of the outputs have their values; nothing else is written. [KRN-003]
   * Ensures:   inputs are unchanged, but where an output is that input.               [KRN-004]
   * Ensures:   any strides, rank 0, no elements: right, or refused.                   [KRN-005]
   * Ensures:   takes small contiguous FLOAT32 (conditions: BOOL) where it is declared.[KRN-023]
   * Ensures:   an output that is exactly an input gets the same values.               [KRN-006]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: arguments, and all they point to, may be reused when the call returns. [KRN-007]
   * Errors:    UNSUPPORTED with a reason, before any effect.                          [KRN-008]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*launch)(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                         const void* arguments, tbk_stream_t* stream,
                         tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Plan a launch for arguments of these shapes, strides, dtypes and numbers. May be NULL.
   * Requires:  arguments->struct_size covers its version; else INVALID (checked).     [KRN-001]
   * Ensures:   host only: reads no device memory, and memory handles may be 0.        [KRN-009]
   * Ensures:   *out_workspace_bytes is what launch_plan needs.                        [KRN-010]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns *out_plan; give it back with plan_destroy, once.       [KRN-011]
   * Errors:    UNSUPPORTED with a reason, before any effect.                          [KRN-008]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*prepare)(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                          const void* arguments, tbk_plan_t** out_plan,
                          uint64_t* out_workspace_bytes, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Run `plan` on arguments equal to those it was made for, but for handles and offsets.
   * Requires:  workspace has the bytes that prepare asked for (undefined).            [KRN-012]
   * Ensures:   the results of launch, each time, as often as wanted.                  [KRN-013]
   * Ensures:   UNSUPPORTED is not answered any more.                                  [KRN-014]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps the workspace until the work is complete.             [KRN-015]
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*launch_plan)(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                              const void* arguments, tbk_memory_t workspace,
                              uint64_t workspace_offset, tbk_stream_t* stream,
                              tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Destroy `plan`, also while work enqueued with it is running; NULL does nothing.
   * Requires:  no later call names it (undefined).                                    [KRN-016]
   * Ensures:   work enqueued before still runs to its end.                            [KRN-017]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: takes the plan.                                                        [KRN-018]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*plan_destroy)(tbk_instance_t* self, tbk_plan_t* plan);
};

typedef struct tbk_kernel_ops {
  size_t struct_size;

  /**
   * Find the kernel for operator `name`, with arguments of `version`.
   * Requires:  the instance has got the device open; else NULL (checked).             [KRN-019]
   * Ensures:   NULL for a name or a version that is not offered.                      [KRN-020]
   * Ensures:   the same kernel each time, valid until the device is closed.           [KRN-021]
   * Ordering:  host only.                                                             [STR-018]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: borrowed from the instance.                                            [KRN-022]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  const tbk_kernel_t* (*kernel_find)(tbk_instance_t* self, int32_t device, const char* name,
                                     uint32_t version);
} tbk_kernel_ops_t;

/* --------------------------------------------------------------------------- random numbers -- */

typedef struct tbk_random_ops {
  size_t struct_size;

  /**
   * Write `count` random 32-bit words. Word i is output (offset + i) % 4 of Philox4x32-10 with the
   * key (seed low, seed high) and the counter ((offset + i) / 4 as 64 bits low to high, 0, 0) where
   * the device declares TBK_DEVICE_PHILOX; elsewhere it is the vendor's own function of all three.
   * Requires:  the instance has got the device open; else INVALID_STATE (checked).    [DEV-021]
   * Requires:  generator != NULL, its offset a multiple of 4; else INVALID (checked). [RNG-001]
   * Requires:  `offset` of the destination is a multiple of 4 (undefined).            [RNG-002]
   * Ensures:   equal seed, offset and count give equal words, on every device and stream. [RNG-003]
   * Ensures:   another seed, or another offset, gives other words.                    [RNG-004]
   * Ensures:   each bit is 0 or 1 with equal chance.                                  [RNG-005]
   * Ensures:   the words are those of Philox4x32-10 where that is declared.           [RNG-006]
   * Ensures:   exactly `count` words are written; 0 does nothing.                     [RNG-007]
   * Ordering:  stream NULL: complete on return, ordered after nothing else.           [CPY-006]
   * Ordering:  with a stream: enqueued, in the order of that stream.                  [STR-001]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller keeps the generator's state and advances it.                [RNG-008]
   * Errors:    INVALID where the stream belongs to another device (checked).          [STR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*random_bits)(tbk_instance_t* self, int32_t device,
                              const tbk_generator_t* generator, tbk_memory_t memory,
                              uint64_t offset, uint64_t count, tbk_stream_t* stream,
                              tbk_error_t* error) TBK_MUST_CHECK;
} tbk_random_ops_t;

/* -------------------------------------------------------------------------- fault injection -- */

enum { TBK_FAULT_WORK_FAILS = 0, TBK_FAULT_DEVICE_LOST = 1 };

/* Offered so that what this file says about errors can be shown; of no use to a program. */
typedef struct tbk_fault_ops {
  size_t struct_size;

  /**
   * Enqueue work that fails, or that loses the device.
   * Requires:  stream != NULL and a known kind; else INVALID (checked).               [FLT-001]
   * Ensures:   after WORK_FAILS an error is reported, and the device stays usable.    [FLT-002]
   * Ensures:   after DEVICE_LOST every fallible call on that device answers DEVICE_LOST. [FLT-003]
   * Ensures:   other devices of the instance keep working.                            [FLT-004]
   * Ordering:  enqueued, in the order of that stream.                                 [FLT-005]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: none.
   * Errors:    INVALID as Requires says.                                              [ERR-002]
   * On error:  out parameters are not written and nothing else has changed.           [ERR-001]
   * Since:     0
   */
  tbk_status_t (*fault_enqueue)(tbk_instance_t* self, tbk_stream_t* stream, int32_t kind,
                                tbk_error_t* error) TBK_MUST_CHECK;
} tbk_fault_ops_t;

/* ------------------------------------------------------------------------------- the library -- */

enum { TBK_LOG_DEBUG = 0, TBK_LOG_INFO = 1, TBK_LOG_WARNING = 2, TBK_LOG_ERROR = 3 };

/* What the host offers. Lives until the instance is destroyed. */
typedef struct tbk_host {
  size_t struct_size;
  uint64_t abi_version;                                           /* TBK_ABI_VERSION of the host */
  void* context;                                                  /* handed back to `log` */
  void (*log)(void* context, int32_t level, const char* message); /* any thread; may be NULL */
  const char* options; /* "key=value,key=value", the backend's own keys; may be NULL */
} tbk_host_t;

/* What the backend offers. The first five members are never NULL or 0, but for `instance`. */
typedef struct tbk_backend {
  size_t struct_size;
  uint64_t abi_version; /* TBK_ABI_VERSION of the backend */
  const char* name;     /* what torch.device() will call it: [a-z][a-z_]{0,30} */
  const char* version;  /* of the backend, for people */
  const tbk_core_t* core;
  tbk_instance_t* instance; /* passed back as the first argument of every call; may be NULL */
  const tbk_stream_ops_t* stream;
  const tbk_event_ops_t* event;       /* needs stream */
  const tbk_callback_ops_t* callback; /* needs stream */
  const tbk_pinned_ops_t* pinned;
  const tbk_peer_ops_t* peer;
  const tbk_async_memory_ops_t* async_memory; /* needs stream */
  const tbk_kernel_ops_t* kernel;
  const tbk_random_ops_t* random;
  const tbk_fault_ops_t* fault; /* needs stream */
} tbk_backend_t;

/**
 * Create an instance of the backend: the one exported symbol, TBK_ENTRY_SYMBOL.
 * Requires:  host and out_backend != NULL; else INVALID (checked).                    [LIB-001]
 * Requires:  host->struct_size covers `options` or more; else INVALID (checked).      [LIB-002]
 * Requires:  host->abi_version is one that the backend knows; else UNSUPPORTED (checked). [LIB-003]
 * Requires:  every key of host->options is known to the backend; else INVALID (checked). [LIB-004]
 * Ensures:   the table has name, version, ABI version and ten core functions.         [LIB-005]
 * Ensures:   instances are independent, from first use to destruction.                [LIB-006]
 * Ensures:   nothing starts: no device is opened, no thread created, fork stays safe. [LIB-007]
 * Ensures:   host->log may be NULL, and so may host->options.                         [LIB-008]
 * Ordering:  host-synchronous, in less than a second.                                 [LIB-009]
 * Threads:   any thread, concurrently with every other call.                          [THR-001]
 * Ownership: the instance owns *out_backend; core->destroy ends both.                 [LIB-010]
 * Errors:    a failure puts its reason, terminated, into error unless that is NULL.   [ERR-008]
 * On error:  out parameters are not written and nothing else has changed.             [ERR-001]
 * Since:     0
 */
TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error);

typedef tbk_status_t (*tbk_backend_create_fn)(const tbk_host_t* host,
                                              const tbk_backend_t** out_backend,
                                              tbk_error_t* error);

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_H */
