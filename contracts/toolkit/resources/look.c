/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "look.h"

#include "resources.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NEAR_UNITS = 3, PAD_BYTES = 192 };

static const char reads_wrongly[] = "CPY-009", writes_wrongly[] = "CPY-004",
                  keeps_wrongly[] = "MEM-006", writes_late[] = "CPY-006";

/* Memory of the device that is looked at, and what it should hold. */
typedef struct look {
  tbk_fixture_t* fx;
  const uint8_t* expected;
  tbk_memory_t memory;
  uint64_t size, at; /* the first wrong byte */
  uint8_t *seen, *other;
} look_t;

static const uint8_t one_mask = 0xff, another_mask = 0x3c;

static uint8_t unlike(uint8_t byte, uint8_t mask) {
  const unsigned changed = (unsigned)byte ^ mask;
  return (uint8_t)changed;
}

/* Reads into a buffer whose bytes differ from all that is expected by `mask`. */
static bool read_over(const look_t* it, uint8_t* out, uint8_t mask) {
  tbk_error_t error;
  for (uint64_t i = 0; i < it->size; i++)
    out[i] = unlike(it->expected[i], mask);
  return it->fx->core->download(it->fx->self, it->fx->device, out, it->memory, 0, it->size, NULL,
                                &error) == TBK_OK;
}

/* Returns whether the wrong byte is the one that was in the buffer before, whatever that was. */
static bool is_left_as_it_was(const look_t* it) {
  const uint8_t byte = it->expected[it->at];
  return it->seen[it->at] == unlike(byte, one_mask) &&
         it->other[it->at] == unlike(byte, another_mask);
}

/* Returns whether the byte is right where a range around it is read, and no more. */
static bool is_right_by_itself(const look_t* it) {
  const uint64_t unit = fx_round(it->fx, 1), middle = it->at / unit * unit;
  const uint64_t from = middle > NEAR_UNITS * unit ? middle - NEAR_UNITS * unit : 0;
  const uint64_t behind = middle + (NEAR_UNITS + 1) * unit;
  const uint64_t size = (behind < it->size ? behind : it->size) - from;
  tbk_error_t error;
  if (size == it->size) return false;
  it->other[it->at - from] = unlike(it->expected[it->at], one_mask);
  return it->fx->core->download(it->fx->self, it->fx->device, it->other, it->memory, from, size,
                                NULL, &error) == TBK_OK &&
         it->other[it->at - from] == it->expected[it->at];
}

/* Other, larger memory, into whose middle the same bytes are brought. */
typedef struct elsewhere {
  tbk_memory_t memory;
  uint64_t pad, total, at;
  uint8_t* seen;
} elsewhere_t;

static bool read_elsewhere(const look_t* it, elsewhere_t* other, uint8_t before) {
  tbk_error_t error;
  other->seen[other->at] = before;
  return it->fx->core->download(it->fx->self, it->fx->device, other->seen, other->memory, 0,
                                other->total, NULL, &error) == TBK_OK;
}

/* Returns whether what a fill has written there is read as something else, too. */
static bool is_read_wrongly_after_a_fill(const look_t* it, elsewhere_t* other) {
  tbk_fixture_t* fx = it->fx;
  tbk_error_t error;
  const uint8_t byte = unlike(other->seen[other->at], another_mask);
  if (!TBK_HAS(fx->core, tbk_core_t, fill)) return false;
  return fx->core->fill(fx->self, fx->device, other->memory, 0, byte, other->total, NULL, &error) ==
             TBK_OK &&
         read_elsewhere(it, other, byte) && other->seen[other->at] != byte;
}

static const char* clause_elsewhere(const look_t* it, elsewhere_t* other) {
  tbk_fixture_t* fx = it->fx;
  tbk_error_t error;
  const uint8_t expected = it->expected[it->at];
  if (fx->core->upload(fx->self, fx->device, other->memory, other->pad, it->expected, it->size,
                       NULL, &error) != TBK_OK ||
      !read_elsewhere(it, other, expected) || other->seen[other->at] == expected)
    return NULL;
  return is_read_wrongly_after_a_fill(it, other) ? reads_wrongly : writes_wrongly;
}

/*
 * The same byte of the transfer may be wrong again in the middle of other memory: then the fault goes
 * with the transfer, and not with the memory. Returns the clause of the one that it lies in, or NULL.
 */
static const char* clause_of_transfer(const look_t* it) {
  tbk_fixture_t* fx = it->fx;
  tbk_error_t error;
  elsewhere_t other = {.pad = fx_round(fx, PAD_BYTES)};
  other.total = it->size + 2 * other.pad;
  other.at = other.pad + it->at;
  if (fx->core->memory_alloc(fx->self, fx->device, other.total, &other.memory, &error) != TBK_OK)
    return NULL;
  other.seen = calloc(1, other.total + TBK_GUARD_BYTES);
  if (other.seen == NULL) abort();
  const char* clause = clause_elsewhere(it, &other);
  free(other.seen);
  (void)!fx->core->memory_free(fx->self, fx->device, other.memory, &error);
  return clause;
}

/* Returns whether the byte is wrong again when nothing was done but to write and to read it. */
static bool is_wrong_when_written_again(const look_t* it) {
  tbk_fixture_t* fx = it->fx;
  tbk_error_t error;
  return fx->core->upload(fx->self, fx->device, it->memory, 0, it->expected, it->size, NULL,
                          &error) == TBK_OK &&
         read_over(it, it->other, another_mask) && it->other[it->at] != it->expected[it->at];
}

static const char* clause_of_look(look_t* it) {
  if (!read_over(it, it->seen, one_mask) || !read_over(it, it->other, another_mask)) return NULL;
  while (it->at < it->size && it->seen[it->at] == it->expected[it->at])
    it->at++;
  if (it->at == it->size) return NULL;
  if (is_left_as_it_was(it) || is_right_by_itself(it)) return reads_wrongly;
  const char* clause = clause_of_transfer(it);
  if (clause == reads_wrongly || !is_wrong_when_written_again(it)) return clause;
  if (look_later(it->fx, it->expected, it->memory, it->size)) return writes_late;
  return clause != NULL ? clause : keeps_wrongly;
}

const char* look_again(tbk_fixture_t* fx, const uint8_t* expected, tbk_memory_t memory,
                       uint64_t size_bytes) {
  if (tbk_checks_failed()) return NULL; /* of a test the first failure counts */
  uint8_t* buffers = malloc(2 * (size_bytes + TBK_GUARD_BYTES)); /* a backend may overrun */
  if (buffers == NULL) abort();
  look_t it = {.fx = fx,
               .expected = expected,
               .memory = memory,
               .size = size_bytes,
               .seen = buffers,
               .other = buffers + size_bytes + TBK_GUARD_BYTES};
  tbk_trace_pause(true);
  const char* clause = clause_of_look(&it);
  tbk_trace_pause(false);
  free(buffers);
  return clause;
}

static void wait_a_moment(void) {
  const struct timespec moment = {0, 20000000};
  (void)nanosleep(&moment, NULL);
}

/* Compares memory with some bytes when all is done; false where it can't be read. */
static bool compare_later(tbk_fixture_t* fx, const uint8_t* bytes, tbk_memory_t memory,
                          uint64_t size_bytes, bool* out_same) {
  tbk_error_t error;
  if (tbk_checks_failed()) return false;
  look_t it = {.fx = fx, .expected = bytes, .memory = memory, .size = size_bytes};
  uint8_t* seen = malloc(size_bytes + TBK_GUARD_BYTES);
  if (seen == NULL) abort();
  tbk_trace_pause(true);
  wait_a_moment();
  bool is_read =
      fx->stream == NULL || fx->stream->device_synchronize(fx->self, fx->device, &error) == TBK_OK;
  is_read = is_read && read_over(&it, seen, one_mask);
  *out_same = is_read && memcmp(bytes, seen, size_bytes) == 0;
  tbk_trace_pause(false);
  free(seen);
  return is_read;
}

bool look_later(tbk_fixture_t* fx, const uint8_t* expected, tbk_memory_t memory,
                uint64_t size_bytes) {
  bool same = false;
  return compare_later(fx, expected, memory, size_bytes, &same) && same;
}

bool look_changes(tbk_fixture_t* fx, const uint8_t* seen, tbk_memory_t memory,
                  uint64_t size_bytes) {
  bool same = true;
  return compare_later(fx, seen, memory, size_bytes, &same) && !same;
}

bool look_count_later(const atomic_int* count, int expected) {
  if (tbk_checks_failed()) return false;
  wait_a_moment();
  return atomic_load(count) == expected;
}
