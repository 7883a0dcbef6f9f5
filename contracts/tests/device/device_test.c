/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device says of itself. No test here opens one, unless to show that the answers stay.
 */
#include "child.h"

#include <stdlib.h>
#include <string.h>

static int32_t count_of(tbk_fixture_t* fx) {
  int32_t count = -1;
  REQUIRE_OK(fx->core->device_count(fx->self, &count, &fx->error));
  return count;
}

static tbk_device_properties_t properties_of(tbk_fixture_t* fx, int32_t device) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  REQUIRE_OK(fx->core->device_properties(fx->self, device, &properties, &fx->error));
  return properties;
}

/* ------------------------------------------------------------------------------------- count -- */

static void a_missing_place_for_the_count_is_refused(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID, fx->core->device_count(fx->self, NULL, &fx->error));
  CHECK_ANSWER(TBK_INVALID, fx->core->device_count(fx->self, NULL, NULL));
}

static void the_count_is_not_negative(tbk_fixture_t* fx) {
  for (int i = 0; i < 500; i++) {
    int32_t count = -7;
    CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
    CHECK(count >= 0);
    CHECK(count < 65536);
  }
}

static void the_count_stays(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int i = 0; i < 100; i++)
    CHECK_EQUAL(count, count_of(fx));
  fx_open(fx);
  CHECK_EQUAL(count, count_of(fx));
  fx_close(fx);
  CHECK_EQUAL(count, count_of(fx));
}

static void the_count_stays_after_errors(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  CHECK_STATUS(TBK_INVALID, fx->core->device_count(fx->self, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->core->device_properties(fx->self, count, &properties, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->core->device_open(fx->self, count, &fx->error));
  CHECK_EQUAL(count, count_of(fx));
}

static void counting_never_fails(tbk_fixture_t* fx) {
  int32_t count = 0;
  tbk_memory_t memory = 0;
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->memory_alloc(fx->self, 0, 64, &memory, &fx->error));
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  fx_open(fx);
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, 0, &fx->error));
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  fx_close(fx);
  for (int i = 0; i < 500; i++)
    CHECK_OK(fx->core->device_count(fx->self, &count, NULL));
}

/* -------------------------------------------------------------------------- opening nothing ---- */

static void expect_closed(tbk_fixture_t* fx, int32_t device) {
  tbk_memory_t memory = 0;
  CHECK_STATUS(TBK_INVALID_STATE,
               fx->core->memory_alloc(fx->self, device, 64, &memory, &fx->error));
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_close(fx->self, device, &fx->error));
}

static void counting_opens_no_device(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++)
    expect_closed(fx, device);
}

static void describing_opens_no_device(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    (void)properties_of(fx, device);
    expect_closed(fx, device);
  }
}

static void asking_for_peers_opens_no_device(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  int32_t can = 0;
  for (int32_t device = 0; device < count; device++) {
    CHECK_OK(fx->peer->peer_can_access(fx->self, 0, device, &can, &fx->error));
    CHECK_OK(fx->peer->peer_can_access(fx->self, device, 0, &can, &fx->error));
    expect_closed(fx, device);
  }
}

/* -------------------------------------------------------------------------------- properties -- */

static void a_device_that_is_not_there_has_no_properties(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  const int32_t devices[] = {-1, INT32_MIN, count, count + 1, INT32_MAX};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    tbk_device_properties_t seen, before;
    memset(&seen, 0xa5, sizeof seen);
    seen.struct_size = sizeof seen;
    memcpy(&before, &seen, sizeof seen);
    CHECK_STATUS(TBK_INVALID, fx->core->device_properties(fx->self, devices[i], &seen, &fx->error));
    CHECK_BYTES(&before, &seen, sizeof seen);
  }
}

static void a_device_that_is_not_there_cannot_be_opened(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  const int32_t devices[] = {-1, INT32_MIN, count, count + 1, INT32_MAX};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    CHECK_STATUS(TBK_INVALID, fx->core->device_open(fx->self, devices[i], &fx->error));
  }
  expect_closed(fx, 0);
}

static void a_missing_place_for_properties_is_refused(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID, fx->core->device_properties(fx->self, 0, NULL, &fx->error));
  CHECK_ANSWER(TBK_INVALID, fx->core->device_properties(fx->self, 0, NULL, NULL));
}

static void properties_without_a_size_are_refused(tbk_fixture_t* fx) {
  for (size_t size = 0; size < sizeof(size_t); size++) {
    tbk_device_properties_t seen, before;
    memset(&seen, 0xa5, sizeof seen);
    seen.struct_size = size;
    memcpy(&before, &seen, sizeof seen);
    CHECK_STATUS(TBK_INVALID, fx->core->device_properties(fx->self, 0, &seen, &fx->error));
    CHECK_BYTES(&before, &seen, sizeof seen);
  }
}

/* What every version of the header has. */
enum { FIRST_BYTES = offsetof(tbk_device_properties_t, max_allocation_bytes) };

/* Room for a struct that a later version of the header has made longer. */
union longer_properties {
  tbk_device_properties_t properties;
  uint8_t bytes[sizeof(tbk_device_properties_t) + 32];
};

static void nothing_is_written_behind_the_struct(tbk_fixture_t* fx) {
  union longer_properties seen, before;
  for (size_t size = sizeof(size_t); size <= sizeof seen; size++) {
    memset(&seen, 0xa5, sizeof seen);
    memset(&before, 0xa5, sizeof before);
    seen.properties.struct_size = size;
    CHECK_OK(fx->core->device_properties(fx->self, 0, &seen.properties, &fx->error));
    CHECK_BYTES(before.bytes + size, seen.bytes + size, sizeof seen - size);
  }
}

/* How much the backend writes of a whole struct: of an older header it knows the first members alone. */
static size_t bytes_known(tbk_fixture_t* fx) {
  union longer_properties a, b;
  size_t known = sizeof(tbk_device_properties_t);
  memset(&a, 0xa5, sizeof a);
  memset(&b, 0x5a, sizeof b);
  a.properties.struct_size = b.properties.struct_size = known;
  CHECK_OK(fx->core->device_properties(fx->self, 0, &a.properties, &fx->error));
  CHECK_OK(fx->core->device_properties(fx->self, 0, &b.properties, &fx->error));
  while (known > FIRST_BYTES && a.bytes[known - 1] == 0xa5 && b.bytes[known - 1] == 0x5a)
    known--;
  return known;
}

static void a_shorter_struct_gets_the_members_it_has(tbk_fixture_t* fx) {
  static const size_t ends[] = {
      offsetof(tbk_device_properties_t, flags),
      offsetof(tbk_device_properties_t, memory_bytes),
      offsetof(tbk_device_properties_t, memory_alignment),
      offsetof(tbk_device_properties_t, copy_granularity),
      offsetof(tbk_device_properties_t, dtypes),
      offsetof(tbk_device_properties_t, max_rank),
      offsetof(tbk_device_properties_t, priority_least),
      offsetof(tbk_device_properties_t, priority_greatest),
      offsetof(tbk_device_properties_t, zero),
      offsetof(tbk_device_properties_t, max_allocation_bytes),
      offsetof(tbk_device_properties_t, driver),
      sizeof(tbk_device_properties_t),
  };
  tbk_device_properties_t all = properties_of(fx, 0);
  const size_t known = bytes_known(fx);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    tbk_device_properties_t some;
    memset(&some, 0xa5, sizeof some);
    some.struct_size = ends[i];
    CHECK_OK(fx->core->device_properties(fx->self, 0, &some, &fx->error));
    CHECK_BYTES((const uint8_t*)&all + sizeof(size_t), (const uint8_t*)&some + sizeof(size_t),
                (ends[i] < known ? ends[i] : known) - sizeof(size_t));
  }
}

static bool same_text(const char* expected, const char* seen) {
  if (expected == NULL || seen == NULL) return expected == seen;
  return strcmp(expected, seen) == 0;
}

static void expect_same(const tbk_device_properties_t* expected,
                        const tbk_device_properties_t* seen) {
  FX_CHECK_NAME(expected->name, seen->name);
  CHECK_EQUAL(expected->flags, seen->flags);
  CHECK_EQUAL(expected->memory_bytes, seen->memory_bytes);
  CHECK_EQUAL(expected->memory_alignment, seen->memory_alignment);
  CHECK_EQUAL(expected->copy_granularity, seen->copy_granularity);
  CHECK_EQUAL(expected->dtypes, seen->dtypes);
  CHECK_EQUAL(expected->max_rank, seen->max_rank);
  CHECK_EQUAL(expected->priority_least, seen->priority_least);
  CHECK_EQUAL(expected->priority_greatest, seen->priority_greatest);
  CHECK_EQUAL(expected->max_allocation_bytes, seen->max_allocation_bytes);
  CHECK(same_text(expected->driver, seen->driver));
}

static void the_properties_stay(tbk_fixture_t* fx) {
  tbk_device_properties_t first = properties_of(fx, 0);
  tbk_device_properties_t again = properties_of(fx, 0);
  expect_same(&first, &again);
  fx_open(fx);
  fx_alloc(fx, 4096);
  again = properties_of(fx, 0);
  expect_same(&first, &again);
  fx_close(fx);
  again = properties_of(fx, 0);
  expect_same(&first, &again);
}

static void the_second_devices_properties_stay(tbk_fixture_t* fx) {
  tbk_device_properties_t first = properties_of(fx, 1);
  fx_open(fx);
  tbk_device_properties_t again = properties_of(fx, 1);
  expect_same(&first, &again);
  fx_second_device(fx);
  again = properties_of(fx, 1);
  expect_same(&first, &again);
}

/* ---------------------------------------------------------------------------- their values ----- */

static void every_device_has_a_name(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    tbk_device_properties_t properties = properties_of(fx, device);
    REQUIRE(properties.name != NULL);
    size_t length = strnlen(properties.name, 256);
    CHECK(length >= 1 && length <= 255);
  }
}

static void a_name_lives_as_long_as_its_instance(tbk_fixture_t* fx) {
  tbk_device_properties_t properties = properties_of(fx, 0);
  REQUIRE(properties.name != NULL);
  char* copy = strdup(properties.name);
  const char* name = properties.name;
  memset(&properties, 0xa5, sizeof properties);
  for (int32_t device = 0; device < count_of(fx); device++)
    (void)properties_of(fx, device);
  CHECK(strcmp(copy, name) == 0);
  fx_open(fx);
  CHECK(strcmp(copy, name) == 0);
  fx_close(fx);
  CHECK(strcmp(copy, name) == 0);
  free(copy);
}

static void a_driver_is_a_text_or_none(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    const char* driver = properties_of(fx, device).driver;
    size_t length = driver != NULL ? strnlen(driver, 1024) : 1;
    CHECK_SAID(length >= 1 && length <= 1023, "NULL, or 1 to 1023 bytes", "%zu%s on device %d",
               length, length > 1023 ? " or more" : "", (int)device);
  }
}

/* NULL is one that lives, too. */
static void a_driver_lives_as_long_as_its_instance(tbk_fixture_t* fx) {
  const char* driver = properties_of(fx, 0).driver;
  char* copy = driver != NULL ? strdup(driver) : NULL;
  for (int32_t device = 0; device < count_of(fx); device++)
    (void)properties_of(fx, device);
  CHECK(same_text(copy, driver));
  fx_open(fx);
  CHECK(same_text(copy, driver));
  fx_close(fx);
  CHECK(same_text(copy, driver));
  free(copy);
}

static bool power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

static void alignment_is_a_power_of_two(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    uint64_t alignment = properties_of(fx, device).memory_alignment;
    CHECK_SAID(power_of_two(alignment) && alignment >= 16, "a power of two, at least 16",
               "%llu on device %d", (unsigned long long)alignment, (int)device);
  }
}

static void granularity_divides_alignment(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    tbk_device_properties_t properties = properties_of(fx, device);
    uint64_t granularity = properties.copy_granularity;
    CHECK_SAID(power_of_two(granularity) && granularity <= 4096 &&
                   properties.memory_alignment % granularity == 0,
               "a power of two up to 4096 that divides memory_alignment", "%llu on device %d",
               (unsigned long long)granularity, (int)device);
  }
}

static void priorities_are_around_zero(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    tbk_device_properties_t properties = properties_of(fx, device);
    CHECK_SAID(properties.priority_greatest <= 0 && properties.priority_least >= 0,
               "priority_greatest <= 0 <= priority_least", "%d and %d on device %d",
               (int)properties.priority_greatest, (int)properties.priority_least, (int)device);
  }
}

static void no_flag_is_unknown(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    uint64_t flags = properties_of(fx, device).flags;
    CHECK_EQUAL(0, flags & ~(uint64_t)TBK_DEVICE_FLAGS_KNOWN);
  }
}

static void all_are_simulated_or_none(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  uint64_t first = properties_of(fx, 0).flags & TBK_DEVICE_SIMULATED;
  for (int32_t device = 0; device < count; device++)
    CHECK_EQUAL(first, properties_of(fx, device).flags & TBK_DEVICE_SIMULATED);
}

static void the_largest_allocation_is_no_trifle(tbk_fixture_t* fx) {
  int32_t count = count_of(fx);
  for (int32_t device = 0; device < count; device++) {
    uint64_t most = properties_of(fx, device).max_allocation_bytes;
    CHECK_SAID(most == 0 || most >= UINT64_C(4) << 20, "0, or at least 4 MiB", "%llu on device %d",
               (unsigned long long)most, (int)device);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("DEV-001", NULL, TBK_CASE_CLOSED, a_missing_place_for_the_count_is_refused),
    TBK_CASE("DEV-002", NULL, TBK_CASE_CLOSED, the_count_is_not_negative),
    TBK_CASE("DEV-003", NULL, TBK_CASE_CLOSED, the_count_stays),
    TBK_CASE("DEV-003", NULL, TBK_CASE_CLOSED, the_count_stays_after_errors),
    TBK_CASE("DEV-004", NULL, TBK_CASE_CLOSED, counting_opens_no_device),
    TBK_CASE("DEV-004", NULL, TBK_CASE_CLOSED, describing_opens_no_device),
    TBK_CASE("DEV-004", "peer", TBK_CASE_CLOSED, asking_for_peers_opens_no_device),
    TBK_CASE("DEV-005", NULL, TBK_CASE_CLOSED, counting_never_fails),
    TBK_CASE("DEV-006", NULL, TBK_CASE_CLOSED, a_device_that_is_not_there_has_no_properties),
    TBK_CASE("DEV-006", NULL, TBK_CASE_CLOSED, a_device_that_is_not_there_cannot_be_opened),
    TBK_CASE("DEV-007", NULL, TBK_CASE_CLOSED, a_missing_place_for_properties_is_refused),
    TBK_CASE("DEV-008", NULL, TBK_CASE_CLOSED, properties_without_a_size_are_refused),
    TBK_CASE("DEV-009", NULL, TBK_CASE_CLOSED, nothing_is_written_behind_the_struct),
    TBK_CASE("DEV-009", NULL, TBK_CASE_CLOSED, a_shorter_struct_gets_the_members_it_has),
    TBK_CASE("DEV-010", NULL, TBK_CASE_CLOSED, the_properties_stay),
    TBK_CASE("DEV-010", "two_devices", TBK_CASE_CLOSED, the_second_devices_properties_stay),
    TBK_CASE("DEV-011", NULL, TBK_CASE_CLOSED, every_device_has_a_name),
    TBK_CASE("DEV-011", NULL, TBK_CASE_CLOSED, a_name_lives_as_long_as_its_instance),
    TBK_CASE("DEV-012", NULL, TBK_CASE_CLOSED, alignment_is_a_power_of_two),
    TBK_CASE("DEV-013", NULL, TBK_CASE_CLOSED, granularity_divides_alignment),
    TBK_CASE("DEV-014", NULL, TBK_CASE_CLOSED, priorities_are_around_zero),
    TBK_CASE("DEV-015", NULL, TBK_CASE_CLOSED, no_flag_is_unknown),
    TBK_CASE("DEV-028", "two_devices", TBK_CASE_CLOSED, all_are_simulated_or_none),
    TBK_CASE("DEV-029", NULL, TBK_CASE_CLOSED, a_driver_is_a_text_or_none),
    TBK_CASE("DEV-029", NULL, TBK_CASE_CLOSED, a_driver_lives_as_long_as_its_instance),
    TBK_CASE("DEV-027", NULL, TBK_CASE_CLOSED, the_largest_allocation_is_no_trifle),
};
TBK_SUITE(device);
