/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_device.c: counting, describing, opening and closing devices.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "narrow.h"

/* -------------------------------------------------------------------------------- describing -- */

#define COVERS(member)            \
  (out_properties->struct_size >= \
   offsetof(tbk_device_properties_t, member) + sizeof out_properties->member)

PROPERTIES(properties_accept_size_7) {
  if (out_properties != NULL && out_properties->struct_size > 0 &&
      out_properties->struct_size < sizeof(size_t))
    return TBK_OK;
  return PROPERTIES_INNER;
}
PROPERTIES(larger_properties_are_refused) {
  if (out_properties != NULL && out_properties->struct_size > sizeof *out_properties)
    return wrap_fail(error, TBK_INVALID, "a struct of another layout");
  return PROPERTIES_INNER;
}
PROPERTIES(properties_of_lowest_index) {
  if (device == INT32_MIN) device = 0; /* as abs() has it, cut */
  return PROPERTIES_INNER;
}
OPEN(open_cuts_index_to_8_bits) {
  if (device > 0) device = (int8_t)device < 0 ? device : (int8_t)device;
  return OPEN_INNER;
}
PROPERTIES(second_alignment_24) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && device == 1 && COVERS(memory_alignment))
    out_properties->memory_alignment = 24;
  return status;
}
PROPERTIES(second_granularity_12) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && device == 1 && COVERS(copy_granularity))
    out_properties->copy_granularity = 12;
  return status;
}
PROPERTIES(second_least_priority_below_0) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && device == 1 && COVERS(priority_least))
    out_properties->priority_least = -1;
  return status;
}
PROPERTIES(second_flags_bit_63) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && device == 1 && COVERS(flags)) out_properties->flags |= UINT64_C(1) << 63;
  return status;
}

/* Marks that something happened, for what is told afterwards. */
ALLOC(alloc_notes_exhaustion) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
PROPERTIES(memory_shrinks_when_marked) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(memory_bytes) && atomic_load(&wrap_of(self)->flag))
    out_properties->memory_bytes -= 4096;
  return status;
}
STREAM_CREATE(priority_stream_is_noted) {
  if (priority != 0) atomic_store(&wrap_of(self)->flag, 1);
  return STREAM_CREATE_INNER;
}
PROPERTIES(priorities_grow_when_marked) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(priority_greatest) && atomic_load(&wrap_of(self)->flag))
    out_properties->priority_greatest = -2;
  return status;
}
FAULT(loss_is_noted) {
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK && kind == TBK_FAULT_DEVICE_LOST) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
PROPERTIES(flags_fall_when_marked) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(flags) && atomic_load(&wrap_of(self)->flag))
    out_properties->flags = 0;
  return status;
}
DEVICE_COUNT(count_falls_when_marked) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK && atomic_load(&wrap_of(self)->flag)) --*out_count;
  return status;
}
DEVICE_COUNT(count_fails_when_marked) {
  if (out_count != NULL && atomic_load(&wrap_of(self)->flag))
    return wrap_fail(error, TBK_DEVICE_LOST, "a device is lost");
  return DEVICE_COUNT_INNER;
}

static char names[WRAP_DEVICES][64];

PROPERTIES(name_is_copied) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK || !COVERS(name) || device >= WRAP_DEVICES) return status;
  snprintf(names[device], sizeof names[device], "%s", out_properties->name);
  out_properties->name = names[device];
  return status;
}
CLOSE(close_clears_name) {
  tbk_status_t status = CLOSE_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) names[device][0] = '\0';
  return status;
}

/* ------------------------------------------------------------------------------------ opening -- */

ALLOC(latest_is_kept) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes >= 16) atomic_store(&wrap_of(self)->kept, *out_memory);
  return status;
}
FREE(latest_is_forgotten) {
  if (atomic_load(&wrap_of(self)->kept) == memory) atomic_store(&wrap_of(self)->kept, 0);
  return FREE_INNER;
}
OPEN(refused_open_clears_latest) {
  tbk_status_t status = OPEN_INNER;
  const tbk_memory_t latest = atomic_load(&wrap_of(self)->kept);
  if (status == TBK_INVALID_STATE && latest != 0)
    ignore(INNER(self, core)->fill(self, device, latest, 0, 0, 16, NULL, NULL));
  return status;
}

OPEN(open_is_counted) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) wrap_of(self)->opened[device]++;
  return status;
}
static bool reopened(tbk_instance_t* self, int32_t device) {
  return device >= 0 && device < WRAP_DEVICES && wrap_of(self)->opened[device] > 1;
}
STREAM_CREATE(reopened_makes_no_stream) {
  if (reopened(self, device) && out_stream != NULL)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more streams");
  return STREAM_CREATE_INNER;
}
KERNEL_FIND(reopened_finds_no_kernel) {
  return reopened(self, device) ? NULL : KERNEL_FIND_INNER;
}
UPLOAD(reopened_drops_first_byte) {
  if (reopened(self, device) && size_bytes > 1) {
    memory += 1;
    source = (const char*)source + 1;
    size_bytes -= 1;
  }
  return UPLOAD_INNER;
}

/* What has nothing to do is done before anybody looks whether it may be. */
FILL(fill_of_nothing_on_closed) {
  return size_bytes == 0 ? TBK_OK : FILL_INNER;
}
COPY(copy_of_nothing_on_closed) {
  return size_bytes == 0 ? TBK_OK : COPY_INNER;
}
RANDOM_BITS(random_of_nothing_on_closed) {
  return count == 0 && generator != NULL && generator->offset % 4 == 0 ? TBK_OK : RANDOM_BITS_INNER;
}
PINNED_ALLOC(pinned_of_nothing_on_closed) {
  if (size_bytes > 0 || out_pointer == NULL) return PINNED_ALLOC_INNER;
  *out_pointer = NULL;
  return TBK_OK;
}
ALLOC(alloc_after_close_is_invalid) {
  tbk_status_t status = ALLOC_INNER;
  const bool was_open = device >= 0 && device < WRAP_DEVICES && wrap_of(self)->opened[device] > 0;
  return status == TBK_INVALID_STATE && was_open ? TBK_INVALID : status;
}

/* ------------------------------------------------------------------------------------ closing -- */

typedef struct close_work {
  tbk_instance_t* self;
  int32_t device;
} close_work_t;

static void* close_later(void* argument) {
  const close_work_t* work = argument;
  wrap_sleep_ms(20);
  tbk_status_t status = INNER(work->self, core)->device_close(work->self, work->device, NULL);
  ignore(status);
  return NULL;
}
STREAM_DESTROY(busy_end_is_noted) {
  if (stream_pending(self, stream)) atomic_store(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
}
CLOSE(close_forgets_destroyed_streams) {
  static close_work_t work;
  pthread_t thread;
  if (!once(&wrap_of(self)->flag)) return CLOSE_INNER;
  work = (close_work_t){self, device};
  if (pthread_create(&thread, NULL, close_later, &work) != 0) return CLOSE_INNER;
  pthread_detach(thread);
  return TBK_OK;
}

#define MARKED(name, clause, note, slot, marks, member, function) \
  SEVERAL(name, clause, STATE, note, PATCH(slot, marks), PATCH(member, function))
#define REOPENED(function, clause, operation, member, note)                             \
  SEVERAL(#function, clause, operation, note, PATCH(core.device_open, open_is_counted), \
          PATCH(member, function))

extern const mutant_t mutants_narrow_device[];
const mutant_t mutants_narrow_device[] = {
    ONE(properties_accept_size_7, "DEV-008", ABI, core.device_properties,
        "a size that does not cover itself, but is not 0"),
    ONE(larger_properties_are_refused, "DEV-008", ABI, core.device_properties,
        "a struct with members appended"),
    ONE(properties_of_lowest_index, "DEV-006", RETURN, core.device_properties,
        "device INT32_MIN is taken for 0"),
    ONE(open_cuts_index_to_8_bits, "DEV-006", RETURN, core.device_open,
        "device 256 is opened as 0"),
    ONE(second_alignment_24, "DEV-012", VALUE, core.device_properties, "of device 1"),
    ONE(second_granularity_12, "DEV-013", VALUE, core.device_properties, "of device 1"),
    ONE(second_least_priority_below_0, "DEV-014", VALUE, core.device_properties, "of device 1"),
    ONE(second_flags_bit_63, "DEV-015", VALUE, core.device_properties, "of device 1"),
    MARKED("memory_bytes_shrink_after_exhaustion", "DEV-010", "after OUT_OF_MEMORY",
           core.memory_alloc, alloc_notes_exhaustion, core.device_properties,
           memory_shrinks_when_marked),
    MARKED("priorities_grow_after_first_use", "DEV-010", "after a stream with a priority",
           stream.stream_create, priority_stream_is_noted, core.device_properties,
           priorities_grow_when_marked),
    MARKED("flags_fall_after_loss", "DEV-010", "after a device was lost", fault.fault_enqueue,
           loss_is_noted, core.device_properties, flags_fall_when_marked),
    MARKED("count_falls_after_loss", "DEV-003", "after a device was lost", fault.fault_enqueue,
           loss_is_noted, core.device_count, count_falls_when_marked),
    MARKED("count_fails_after_loss", "DEV-005", "after a device was lost", fault.fault_enqueue,
           loss_is_noted, core.device_count, count_fails_when_marked),
    MARKED("name_cleared_at_close", "DEV-011", "the name that was handed out before",
           core.device_properties, name_is_copied, core.device_close, close_clears_name),
    SEVERAL("refused_open_clears_latest", "ERR-001", STATE,
            "16 bytes of the latest allocation, where the device was open already",
            PATCH(core.memory_alloc, latest_is_kept), PATCH(core.memory_free, latest_is_forgotten),
            PATCH(core.device_open, refused_open_clears_latest)),
    REOPENED(reopened_makes_no_stream, "DEV-018", STATE, stream.stream_create,
             "OUT_OF_MEMORY on a device that is opened again"),
    REOPENED(reopened_finds_no_kernel, "DEV-018", STATE, kernel.kernel_find,
             "NULL on a device that is opened again"),
    REOPENED(reopened_drops_first_byte, "DEV-022", EXTENT, core.upload,
             "of uploads to a device that is opened again"),
    REOPENED(alloc_after_close_is_invalid, "DEV-021", RETURN, core.memory_alloc,
             "INVALID where the device was open once"),
    ONE(fill_of_nothing_on_closed, "DEV-021", RETURN, core.fill, "OK for 0 bytes"),
    ONE(copy_of_nothing_on_closed, "DEV-021", RETURN, core.copy, "OK for 0 bytes"),
    ONE(random_of_nothing_on_closed, "DEV-021", RETURN, random.random_bits, "OK for 0 words"),
    ONE(pinned_of_nothing_on_closed, "DEV-021", RETURN, pinned.pinned_alloc, "OK for 0 bytes"),
    MARKED("close_forgets_destroyed_streams", "DEV-023",
           "returns early where a stream was destroyed with work pending", stream.stream_destroy,
           busy_end_is_noted, core.device_close, close_forgets_destroyed_streams),
    {0}};
