/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * core.h: the mandatory functions: devices, memory and copies.
 */
#ifndef TBK_CORE_H
#define TBK_CORE_H

#include <tbk/device.h>

#ifdef __cplusplus
extern "C" {
#endif

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
   * Ensures:   copy_granularity is a power of two, at most 4096, and divides the alignment. [DEV-013]
   * Ensures:   priority_greatest <= 0 <= priority_least.                              [DEV-014]
   * Ensures:   flags has no bit that this header does not name.                       [DEV-015]
   * Ensures:   max_allocation_bytes is 0, or at least 4 MiB.                          [DEV-027]
   * Ensures:   TBK_DEVICE_SIMULATED of all devices or of none.                        [DEV-028]
   * Ensures:   driver is NULL, or 1 to 1023 bytes that live as long as the instance.  [DEV-029]
   * Ordering:  host only; opens no device.                                            [DEV-004]
   * Threads:   any thread, concurrently with every other call.                        [THR-001]
   * Ownership: the caller owns the struct; the instance owns name and driver.         [DEV-016]
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
   * Ensures:   at least 32 allocations of 64 KiB can exist on a device at a time.     [MEM-023]
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

#ifdef __cplusplus
}
#endif

#endif /* TBK_CORE_H */
