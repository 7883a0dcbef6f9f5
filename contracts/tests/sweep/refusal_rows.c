/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "refusal_rows.h"

#include <limits.h>
#include <string.h>

/* X(what, parameter, wrong, number, status) */
#define REFUSAL_MAP(X)                                                  \
  X("below_0", device, A_NUMBER, -1, INVALID_OR_STATE)                  \
  X("count", device, PAST_COUNT, 0, INVALID_OR_STATE)                   \
  X("256", device, PAST_COUNT, 256, INVALID_OR_STATE)                   \
  X("65536", device, PAST_COUNT, 65536, INVALID_OR_STATE)               \
  X("least", device, A_NUMBER, INT32_MIN, INVALID_OR_STATE)             \
  X("most", device, A_NUMBER, INT32_MAX, INVALID_OR_STATE)              \
  X("below_0", peer, A_NUMBER, -1, TBK_INVALID)                         \
  X("count", peer, PAST_COUNT, 0, TBK_INVALID)                          \
  X("256", peer, PAST_COUNT, 256, TBK_INVALID)                          \
  X("below_0", destination_device, A_NUMBER, -1, INVALID_OR_STATE)      \
  X("256", destination_device, PAST_COUNT, 256, INVALID_OR_STATE)       \
  X("below_0", source_device, A_NUMBER, -1, INVALID_OR_STATE)           \
  X("256", source_device, PAST_COUNT, 256, INVALID_OR_STATE)            \
  X("NULL", stream, NO_OBJECT, 0, TBK_INVALID)                          \
  X("other", stream, OF_OTHER, 0, TBK_INVALID)                          \
  X("NULL", event, NO_OBJECT, 0, TBK_INVALID)                           \
  X("other", event, OF_OTHER, 0, TBK_INVALID)                           \
  X("NULL", start, NO_OBJECT, 0, TBK_INVALID)                           \
  X("NULL", end, NO_OBJECT, 0, TBK_INVALID)                             \
  X("other", start, OF_OTHER, 0, TBK_INVALID_STATE)                     \
  X("other", end, OF_OTHER, 0, TBK_INVALID_STATE)                       \
  X("unrecorded", start, UNRECORDED, 0, TBK_INVALID_STATE)              \
  X("unrecorded", end, UNRECORDED, 0, TBK_INVALID_STATE)                \
  X("untimed", start, UNTIMED, 0, TBK_INVALID_STATE)                    \
  X("untimed", end, UNTIMED, 0, TBK_INVALID_STATE)                      \
  X("1", kind, A_NUMBER, TBK_FAULT_DEVICE_LOST + 1, TBK_INVALID)        \
  X("256", kind, A_NUMBER, 256, TBK_INVALID)                            \
  X("65536", kind, A_NUMBER, 65536, TBK_INVALID)                        \
  X("least", kind, A_NUMBER, INT32_MIN, TBK_INVALID)                    \
  X("unknown", flags, A_NUMBER, TBK_EVENT_FLAGS_KNOWN + 1, TBK_INVALID) \
  X("256", flags, A_NUMBER, 256, TBK_INVALID)                           \
  X("65537", flags, A_NUMBER, 65537, TBK_INVALID)                       \
  X("highest", flags, A_NUMBER, 1LL << 31, TBK_INVALID)                 \
  X("NULL", function, NO_OBJECT, 0, TBK_INVALID)                        \
  X("NULL", generator, NO_OBJECT, 0, TBK_INVALID)                       \
  X("odd", generator_offset, A_NUMBER, 6, TBK_INVALID)                  \
  X("0", struct_size, A_NUMBER, 0, TBK_INVALID)                         \
  X("7", struct_size, A_NUMBER, 7, TBK_INVALID)                         \
  X("too_much", size_bytes, A_NUMBER, INT64_MAX, TBK_OUT_OF_MEMORY)     \
  X("odd", size_bytes, A_NUMBER, 0, TBK_INVALID)                        \
  X("odd", offset, A_NUMBER, 0, TBK_INVALID)                            \
  X("odd", destination_offset, A_NUMBER, 0, TBK_INVALID)                \
  X("odd", source_offset, A_NUMBER, 0, TBK_INVALID)

#define ROW(what, parameter, wrong, number, status) \
  {#parameter ":" what, #parameter, SPOIL_##parameter, wrong, number, status},
#define OUT_ROW(parameter) ROW("NULL", parameter, NO_OBJECT, 0, TBK_INVALID)
static const refusal_t refusals[] = {REFUSAL_MAP(ROW) TBK_OUT_REFUSED(OUT_ROW)};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

/* The rows are the values of the axis; filled before the first use. */
static sweep_value_t refusal_values[REFUSALS];
const sweep_dimension_t refusal_axis = {"wrong", refusal_values, REFUSALS};
SWEEP_SHARED_DIMENSION(refusal_bytes, "bytes", {"ordinary", 0}, {"zero", 1});
SWEEP_SHARED_DIMENSION(refusal_times, "times", {"1", 1}, {"3", 3}, {"40", 40});
SWEEP_SHARED_DIMENSION(refusal_some, "times", {"8", 8});
SWEEP_SHARED_DIMENSION(refusal_many, "times", {"200", 200});

uint64_t refusal_count(const sweep_case_t* one) {
  const int64_t times = sweep_get(one, &refusal_times) + sweep_get(one, &refusal_some) +
                        sweep_get(one, &refusal_many);
  return times > 0 ? (uint64_t)times : 1;
}

void refusal_name_all(void) {
  for (size_t i = 0; i < REFUSALS; i++)
    refusal_values[i] = (sweep_value_t){refusals[i].name, (int64_t)i};
}

const refusal_t* refusal_of(const sweep_case_t* one) {
  return &refusals[sweep_get(one, &refusal_axis)];
}

/* --------------------------------------------------------------------------- who refuses it --- */

bool refusal_is_of(const call_row_t* row, const char* table) {
  return strcmp(row->table, table) == 0;
}

static bool is_function(const call_row_t* row, const char* function) {
  return strcmp(row->function, function) == 0;
}

/* Returns false where the header calls a wrong device undefined, or says nothing of it. */
static bool checks_device(const call_row_t* row) {
  return call_is(row, "needs_open") || call_is(row, "opens") || call_is(row, "asks_of_devices");
}

static bool checks_owner(const tbk_fixture_t* fx, const call_row_t* row) {
  bool crosses = (fx->properties.flags & TBK_DEVICE_CROSS_DEVICE_WAIT) != 0;
  if (refusal_is_of(row, "event"))
    return is_function(row, "event_record") || (!crosses && is_function(row, "event_wait"));
  return is_function(row, "peer_copy") ||
         ((refusal_is_of(row, "core") || refusal_is_of(row, "random")) && call_has(row, "device"));
}

static bool has_argument(const call_row_t* row, const refusal_t* refusal) {
  if (refusal->spoil == SPOIL_generator_offset) return call_has(row, "generator");
  if (refusal->spoil != SPOIL_struct_size) return call_has(row, refusal->parameter);
  return call_has(row, "out_properties") || is_function(row, "launch") ||
         is_function(row, "prepare");
}

/* Off the granularity. */
static bool is_odd(const refusal_t* refusal) {
  return strstr(refusal->name, ":odd") != NULL && refusal->spoil != SPOIL_generator_offset;
}

bool refusal_concerns(const tbk_fixture_t* fx, const every_call_t* on, const call_row_t* row,
                      const refusal_t* refusal) {
  const bool sizes = refusal->spoil == SPOIL_size_bytes;
  /* Nothing to do: which comes first is said of copies between devices alone. */
  if (on->bytes == 0 && !refusal_is_of(row, "peer") &&
      (is_odd(refusal) || refusal->wrong == OF_OTHER))
    return false;
  if (!row->fallible || !has_argument(row, refusal) || !row->offered(fx, on)) return false;
  if (refusal->spoil == SPOIL_device) return checks_device(row);
  if (refusal->wrong == OF_OTHER && refusal->expected == TBK_INVALID) return checks_owner(fx, row);
  if (refusal->spoil == SPOIL_stream) return !call_is(row, "null_stream");
  if (sizes && refusal->expected == TBK_OUT_OF_MEMORY)
    return call_has(row, "out_memory") || call_has(row, "out_pointer");
  if (is_odd(refusal))
    return (refusal_is_of(row, "core") || refusal_is_of(row, "peer")) &&
           strstr(row->parameters, "offset") != NULL;
  return true;
}

bool refusal_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const refusal_t* refusal = refusal_of(one);
  bool events =
      refusal->spoil == SPOIL_start || refusal->spoil == SPOIL_end || refusal->spoil == SPOIL_event;
  if (is_odd(refusal) && fx->properties.copy_granularity == 1) return false;
  /* Eight streams are promised. */
  if (sweep_get(one, &sweep_stream) == SWEEP_STREAM_SIXTH &&
      sweep_get(one, &sweep_state) == SWEEP_BUSY)
    return false;
  if (events && fx->event == NULL) return false;
  if (refusal->wrong == PAST_COUNT && refusal->number != 0 && fx->device_count > refusal->number)
    return false;
  if (refusal->wrong == OF_OTHER && (fx->device_count < 2 || fx->stream == NULL)) return false;
  return scene_fits(fx, one);
}
