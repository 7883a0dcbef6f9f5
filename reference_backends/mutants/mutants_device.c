/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_device.c: counting and describing devices.
 */
#include <string.h>

#include "calls.h"

#define COVERS(member)            \
  (out_properties != NULL &&      \
   out_properties->struct_size >= \
       offsetof(tbk_device_properties_t, member) + sizeof out_properties->member)
/* The reference's answer with one member changed. */
#define PROPERTY_MUTANT(f, member, new_value)                                     \
  PROPERTIES(f) {                                                                 \
    tbk_status_t status = PROPERTIES_INNER;                                       \
    if (status == TBK_OK && COVERS(member)) out_properties->member = (new_value); \
    return status;                                                                \
  }

DEVICE_COUNT(count_accepts_null) {
  return out_count == NULL ? TBK_OK : DEVICE_COUNT_INNER;
}
DEVICE_COUNT(count_null_is_failure) {
  return out_count == NULL ? TBK_FAILED : DEVICE_COUNT_INNER;
}
DEVICE_COUNT(count_below_zero) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK) *out_count = -1;
  return status;
}
DEVICE_COUNT(late_count_is_below_zero) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK && atomic_fetch_add(&wrap_of(self)->calls, 1) >= 399) *out_count = -1;
  return status;
}
DEVICE_COUNT(late_count_fails) {
  if (atomic_fetch_add(&wrap_of(self)->calls, 1) >= 399) {
    return wrap_fail(error, TBK_FAILED, "counted often enough");
  }
  return DEVICE_COUNT_INNER;
}
DEVICE_COUNT(count_grows) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK) *out_count += (int32_t)atomic_fetch_add(&wrap_of(self)->calls, 1);
  return status;
}
DEVICE_COUNT(count_falls_after_open) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK && wrap_of(self)->opened[0] > 0) *out_count -= 1;
  return status;
}
/* A device that cannot be opened is gone. */
DEVICE_COUNT(count_falls_after_refusal) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK) *out_count -= atomic_load(&wrap_of(self)->flag);
  return status;
}
OPEN(open_notes_refusal) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_INVALID) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
OPEN(open_counted) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device]++;
  return status;
}
DEVICE_COUNT(count_opens_device) {
  tbk_status_t status = DEVICE_COUNT_INNER;
  if (status == TBK_OK) ignore(INNER(self, core)->device_open(self, 0, NULL));
  return status;
}
PROPERTIES(properties_open_device) {
  ignore(INNER(self, core)->device_open(self, device, NULL));
  return PROPERTIES_INNER;
}
DEVICE_COUNT(count_fails_before_open) {
  if (wrap_of(self)->opened[0] == 0) return wrap_fail(error, TBK_UNAVAILABLE, "open it first");
  return DEVICE_COUNT_INNER;
}

PROPERTIES(properties_of_negative_device) {
  if (device < 0) device = 0;
  return PROPERTIES_INNER;
}
PROPERTIES(properties_beyond_count) {
  int32_t count = 0;
  ignore(INNER(self, core)->device_count(self, &count, NULL));
  if (device >= count) device = count - 1;
  return PROPERTIES_INNER;
}
OPEN(open_beyond_count_is_failure) {
  tbk_status_t status = OPEN_INNER;
  return status == TBK_INVALID ? TBK_FAILED : status;
}
PROPERTIES(properties_accept_null) {
  return out_properties == NULL ? TBK_OK : PROPERTIES_INNER;
}
PROPERTIES(properties_accept_size_0) {
  if (out_properties != NULL && out_properties->struct_size < sizeof(size_t)) return TBK_OK;
  return PROPERTIES_INNER;
}
PROPERTIES(properties_write_it_all) {
  tbk_device_properties_t all = {.struct_size = sizeof all};
  if (out_properties == NULL || out_properties->struct_size < sizeof(size_t))
    return PROPERTIES_INNER;
  const size_t size = out_properties->struct_size;
  tbk_status_t status = INNER(self, core)->device_properties(self, device, &all, error);
  if (status != TBK_OK) return status;
  *out_properties = all;
  out_properties->struct_size = size;
  return status;
}
PROPERTIES(properties_write_one_member_more) {
  tbk_status_t status = PROPERTIES_INNER;
  const size_t name_end = offsetof(tbk_device_properties_t, flags);
  if (status == TBK_OK && out_properties->struct_size == name_end) out_properties->flags = 0x5a5a;
  return status;
}
PROPERTIES(properties_round_size_up) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK) {
    const size_t size = out_properties->struct_size;
    memset((char*)out_properties + size, 0, (8 - size % 8) % 8);
  }
  return status;
}
PROPERTIES(properties_differ_when_open) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(memory_bytes) && wrap_of(self)->opened[0] > 0)
    out_properties->memory_bytes /= 2;
  return status;
}
PROPERTIES(properties_of_second_differ_when_open) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && device == 1 && COVERS(max_rank) && wrap_of(self)->opened[1] > 0)
    out_properties->max_rank += 1;
  return status;
}
PROPERTIES(properties_differ_each_time) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(max_rank))
    out_properties->max_rank += (int32_t)(atomic_fetch_add(&wrap_of(self)->calls, 1) & 1);
  return status;
}

static const char long_name[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
    "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012"
    "3";
PROPERTY_MUTANT(name_empty, name, "")
PROPERTY_MUTANT(name_null, name, NULL)
PROPERTY_MUTANT(name_of_282_bytes, name, long_name)

/* One buffer for all names: the next call overwrites what the last one gave. */
PROPERTIES(name_overwritten) {
  static char buffer[32];
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK || !COVERS(name)) return status;
  strcpy(buffer, "acme device 0");
  buffer[12] = (char)('0' + device % 10);
  out_properties->name = buffer;
  return status;
}
PROPERTY_MUTANT(driver_empty, driver, "")
static char long_driver[1025];
PROPERTIES(driver_of_1024_bytes) {
  memset(long_driver, 'd', sizeof long_driver - 1);
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(driver)) out_properties->driver = long_driver;
  return status;
}
/* One buffer for all of them, too. */
PROPERTIES(driver_overwritten) {
  static char buffer[32];
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK || !COVERS(driver)) return status;
  strcpy(buffer, "the driver of device 0");
  buffer[21] = (char)('0' + device % 10);
  out_properties->driver = buffer;
  return status;
}
/* What the driver says is asked for anew, and differs once it is in use. */
PROPERTIES(driver_known_when_open) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && COVERS(driver))
    out_properties->driver = wrap_of(self)->opened[0] > 0 ? "version 2" : "version unknown";
  return status;
}
PROPERTY_MUTANT(alignment_8, memory_alignment, 8)
PROPERTY_MUTANT(alignment_48, memory_alignment, 48)
PROPERTY_MUTANT(alignment_0, memory_alignment, 0)
PROPERTY_MUTANT(granularity_0, copy_granularity, 0)
PROPERTY_MUTANT(granularity_3, copy_granularity, 3)
PROPERTY_MUTANT(granularity_above_alignment, copy_granularity, out_properties->memory_alignment * 2)
PROPERTY_MUTANT(granularity_8192, copy_granularity, 8192)
PROPERTY_MUTANT(priorities_swapped, priority_least, -3)
PROPERTY_MUTANT(greatest_priority_positive, priority_greatest, 2)
PROPERTY_MUTANT(flags_unknown_bit, flags, out_properties->flags | (UINT64_C(1) << 40))
PROPERTY_MUTANT(flags_next_bit, flags, out_properties->flags | (TBK_DEVICE_FLAGS_KNOWN + 1))
PROPERTY_MUTANT(the_second_device_is_simulated, flags,
                out_properties->flags | (device > 0 ? TBK_DEVICE_SIMULATED : 0))
PROPERTY_MUTANT(the_first_device_is_simulated, flags,
                out_properties->flags | (device == 0 ? TBK_DEVICE_SIMULATED : 0))
PROPERTY_MUTANT(largest_allocation_is_a_page, max_allocation_bytes, 4096)
PROPERTY_MUTANT(largest_allocation_one_byte_short, max_allocation_bytes, (4 << 20) - 1)

#define WITH_OPENS(name, clause, operation, narrow, note, ...)           \
  {                                                                      \
    name, clause, MUTANT, operation, narrow, note,                       \
        {__VA_ARGS__, PATCH(core.device_open, open_counted)}, 0, 0, 0, 0 \
  }

extern const mutant_t mutants_device[];
const mutant_t mutants_device[] = {
    ROW(count_accepts_null, "DEV-001", RETURN, BROAD, core.device_count, "OK for NULL"),
    ROW(count_null_is_failure, "DEV-001", RETURN, BROAD, core.device_count, "FAILED for NULL"),
    ROW(count_below_zero, "DEV-002", VALUE, BROAD, core.device_count, "-1 devices"),
    ROW(late_count_is_below_zero, "DEV-002", VALUE, NARROW, core.device_count,
        "-1 devices from the 400th call on"),
    ROW(count_grows, "DEV-003", STATE, BROAD, core.device_count, "one more at each call"),
    WITH_OPENS("count_falls_after_open", "DEV-003", STATE, NARROW, "an open device is not counted",
               PATCH(core.device_count, count_falls_after_open)),
    {"count_falls_after_refusal",
     "DEV-003",
     MUTANT,
     STATE,
     NARROW,
     "one less after an attempt to open a device that is not there",
     {PATCH(core.device_count, count_falls_after_refusal),
      PATCH(core.device_open, open_notes_refusal)},
     0,
     0,
     0,
     0},
    ROW(count_opens_device, "DEV-004", STATE, BROAD, core.device_count, "opens device 0"),
    ROW(properties_open_device, "DEV-004", STATE, BROAD, core.device_properties, "opens it"),
    WITH_OPENS("count_fails_before_open", "DEV-005", RETURN, BROAD, "UNAVAILABLE until opened",
               PATCH(core.device_count, count_fails_before_open)),
    ROW(late_count_fails, "DEV-005", RETURN, NARROW, core.device_count,
        "FAILED from the 400th call on"),
    ROW(properties_of_negative_device, "DEV-006", RETURN, NARROW, core.device_properties,
        "-1 is device 0"),
    ROW(properties_beyond_count, "DEV-006", RETURN, BROAD, core.device_properties,
        "a device above the count is the last one"),
    ROW(open_beyond_count_is_failure, "DEV-006", RETURN, BROAD, core.device_open,
        "FAILED for a device that is not there"),
    ROW(properties_accept_null, "DEV-007", RETURN, BROAD, core.device_properties, "OK for NULL"),
    ROW(properties_accept_size_0, "DEV-008", ABI, BROAD, core.device_properties,
        "OK for a struct without room for its own size"),
    ROW(properties_write_it_all, "DEV-009", EXTENT, BROAD, core.device_properties,
        "writes beyond struct_size"),
    ROW(properties_write_one_member_more, "DEV-009", EXTENT, NARROW, core.device_properties,
        "one member too many where the struct ends after name"),
    ROW(properties_round_size_up, "DEV-009", EXTENT, NARROW, core.device_properties,
        "0 up to the next multiple of 8"),
    WITH_OPENS("properties_differ_when_open", "DEV-010", STATE, BROAD, "less memory once open",
               PATCH(core.device_properties, properties_differ_when_open)),
    ROW(properties_differ_each_time, "DEV-010", DETERMINISM, BROAD, core.device_properties,
        "max_rank changes at every second call"),
    WITH_OPENS("properties_of_second_differ_when_open", "DEV-010", STATE, NARROW,
               "device 1 has another max_rank once open",
               PATCH(core.device_properties, properties_of_second_differ_when_open)),
    ROW(name_empty, "DEV-011", VALUE, BROAD, core.device_properties, "an empty name"),
    ROW(name_null, "DEV-011", VALUE, BROAD, core.device_properties, "no name"),
    ROW(name_of_282_bytes, "DEV-011", EXTENT, NARROW, core.device_properties, "282 bytes"),
    ROW(name_overwritten, "DEV-011", LIFETIME, NARROW, core.device_properties,
        "the name of the last device that was asked for"),
    ROW(driver_empty, "DEV-029", VALUE, BROAD, core.device_properties, "an empty text"),
    ROW(driver_of_1024_bytes, "DEV-029", EXTENT, NARROW, core.device_properties, "1024 bytes"),
    ROW(driver_overwritten, "DEV-029", LIFETIME, NARROW, core.device_properties,
        "that of the last device that was asked for"),
    WITH_OPENS("driver_known_when_open", "DEV-010", STATE, NARROW,
               "what drives it is told once it is open",
               PATCH(core.device_properties, driver_known_when_open)),
    ROW(alignment_8, "DEV-012", VALUE, NARROW, core.device_properties, "alignment 8"),
    ROW(alignment_48, "DEV-012", VALUE, BROAD, core.device_properties, "no power of two"),
    ROW(alignment_0, "DEV-012", VALUE, BROAD, core.device_properties, "alignment 0"),
    ROW(granularity_0, "DEV-013", VALUE, BROAD, core.device_properties, "granularity 0"),
    ROW(granularity_3, "DEV-013", VALUE, BROAD, core.device_properties, "granularity 3"),
    ROW(granularity_above_alignment, "DEV-013", VALUE, NARROW, core.device_properties,
        "twice the alignment"),
    {"granularity_8192",
     "DEV-013",
     MUTANT,
     VALUE,
     NARROW,
     "twice as much as is allowed",
     {PATCH(core.device_properties, granularity_8192)},
     0,
     "alignment=8192",
     0,
     0},
    ROW(priorities_swapped, "DEV-014", VALUE, BROAD, core.device_properties, "least is -3"),
    ROW(greatest_priority_positive, "DEV-014", VALUE, BROAD, core.device_properties, "greatest 2"),
    ROW(flags_unknown_bit, "DEV-015", ABI, BROAD, core.device_properties, "bit 40"),
    ROW(flags_next_bit, "DEV-015", ABI, NARROW, core.device_properties, "the first free bit"),
    ROW(the_second_device_is_simulated, "DEV-028", VALUE, BROAD, core.device_properties,
        "all but the first say so"),
    ROW(the_first_device_is_simulated, "DEV-028", VALUE, NARROW, core.device_properties,
        "the first alone says so"),
    ROW(largest_allocation_is_a_page, "DEV-027", VALUE, BROAD, core.device_properties, "4096"),
    ROW(largest_allocation_one_byte_short, "DEV-027", VALUE, NARROW, core.device_properties,
        "a byte less than 4 MiB"),
    {0}};
