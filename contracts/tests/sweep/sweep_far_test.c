/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of the place: transfers and operands that lie more than 2^31 and 2^32 bytes into an allocation. An
 * offset that is cut to fewer bits names a place near its beginning, which is looked at, too. What lies between is
 * touched by nobody, so that a device that gives memory page by page needs few pages.
 */
#include "dimensions.h"
#include "operation.h"
#include "range.h"

#include <string.h>

enum { UNITS = 3, BYTES = 4096 }; /* the place is no power of two; what moves there */

typedef enum what { UPLOAD, DOWNLOAD, COPY_TO, COPY_FROM, FILL } what_t;

SWEEP_DIMENSION(place_axis, "place", {"2^31", 31}, {"2^32", 32});
SWEEP_DIMENSION(stream_axis, "stream", {"NULL", 0}, {"one", 1});
SWEEP_DIMENSION(end_axis, "far", {"destination", COPY_TO}, {"source", COPY_FROM});

typedef struct far {
  tbk_memory_t memory;
  uint64_t place, near, size; /* bytes; `near` is what is left of `place` */
  uint8_t *there, *here;      /* what these should hold */
} far_t;

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const uint64_t place = UINT64_C(1) << sweep_get(one, &place_axis), slack = UINT64_C(64) << 20;
  if (sweep_get(one, &stream_axis) == 1 && fx->stream == NULL) return false;
  return room_total(&fx->properties) / 2 > place &&
         room_allocation(&fx->properties) > place + slack;
}

static void put(tbk_fixture_t* fx, tbk_memory_t memory, uint64_t at, const uint8_t* bytes,
                uint64_t size) {
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, at, bytes, size, NULL, &fx->error));
}

/* An allocation with known bytes at both places; false where the device has not got it. */
static bool far_make(tbk_fixture_t* fx, sweep_case_t* one, far_t* far, uint64_t size) {
  far->size = fx_round(fx, size);
  far->near = fx_round(fx, 64) * UNITS;
  far->place = (UINT64_C(1) << sweep_get(one, &place_axis)) + far->near;
  if (!sweep_alloc(fx, one, far->place + 2 * far->size, &far->memory)) return false;
  far->there = fx_bytes(fx, far->size);
  far->here = fx_bytes(fx, far->size);
  put(fx, far->memory, far->near, far->here, far->size);
  put(fx, far->memory, far->place, far->there, far->size);
  return true;
}

static void far_check(tbk_fixture_t* fx, const far_t* far) {
  uint8_t* seen = fx_zeros(fx, far->size);
  const uint64_t places[] = {far->place, far->near};
  const uint8_t* expected[] = {far->there, far->here};
  for (int i = 0; i < 2; ++i) {
    REQUIRE_OK(fx->core->download(fx->self, fx->device, seen, far->memory, places[i], far->size,
                                  NULL, &fx->error));
    if (!CHECK_BYTES(expected[i], seen, far->size)) return;
  }
}

/* --------------------------------------------------------------------------------- transfers ---- */

static tbk_status_t call(tbk_fixture_t* fx, const far_t* far, what_t what, const block_t* other,
                         tbk_stream_t* stream) {
  const tbk_core_t* core = fx->core;
  tbk_instance_t* self = fx->self;
  const int32_t device = fx->device;
  if (what == UPLOAD)
    return core->upload(self, device, far->memory, far->place, other->model, far->size, stream,
                        &fx->error);
  if (what == DOWNLOAD)
    return core->download(self, device, other->model, far->memory, far->place, far->size, stream,
                          &fx->error);
  if (what == COPY_TO)
    return core->copy(self, device, far->memory, far->place, other->memory, 0, far->size, stream,
                      &fx->error);
  if (what == COPY_FROM)
    return core->copy(self, device, other->memory, 0, far->memory, far->place, far->size, stream,
                      &fx->error);
  return core->fill(self, device, far->memory, far->place, other->model[0], far->size, stream,
                    &fx->error);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one, what_t what) {
  far_t far;
  block_t other;
  if (!far_make(fx, one, &far, BYTES)) return;
  block_make(fx, &other, BYTES);
  tbk_stream_t* stream = sweep_get(one, &stream_axis) == 1 ? fx_stream(fx) : NULL;
  if (!CHECK_OK(call(fx, &far, what, &other, stream))) return;
  range_settle(fx, stream);
  if (what == DOWNLOAD && !CHECK_BYTES(far.there, other.model, far.size)) return;
  if (what == UPLOAD || what == COPY_TO) memcpy(far.there, other.model, far.size);
  if (what == FILL) memset(far.there, other.model[0], far.size);
  if (what == COPY_FROM) memcpy(other.model, far.there, far.size);
  far_check(fx, &far);
  if (what != DOWNLOAD) BLOCK_CHECK(fx, &other);
}

static void run_upload(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, UPLOAD);
}

static void run_download(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, DOWNLOAD);
}

static void run_copy(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, (what_t)sweep_get(one, &end_axis));
}

static void run_fill(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, FILL);
}

static void an_upload_beyond_32_bits_arrives(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&place_axis, &stream_axis}, fits, run_upload, 2};
  sweep_run(fx, &space);
}

static void a_download_from_beyond_32_bits_arrives(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&place_axis, &stream_axis}, fits, run_download, 2};
  sweep_run(fx, &space);
}

static void a_copy_beyond_32_bits_arrives(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&place_axis, &stream_axis, &end_axis}, fits, run_copy, 3};
  sweep_run(fx, &space);
}

static void a_fill_beyond_32_bits_arrives(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&place_axis, &stream_axis}, fits, run_fill, 2};
  sweep_run(fx, &space);
}

/* ---------------------------------------------------------------------------------- operands ---- */

/* From here on an operand lies at the far place. */
static void move_there(tbk_tensor_t* operand, const far_t* far, const tensor_t* tensor) {
  operand->memory = far->memory;
  operand->storage_bytes = far->place + far->size;
  operand->offset = (int64_t)(far->place / tensor->type->size);
}

static void put_there(tbk_fixture_t* fx, far_t* far, const uint8_t* bytes, uint64_t size) {
  memcpy(far->there, bytes, size);
  put(fx, far->memory, far->place, far->there, far->size);
}

static uint64_t bytes_of(const tensor_t* tensor) {
  return (uint64_t)tensor->count * tensor->type->size;
}

static bool reads_from_there(tbk_fixture_t* fx, far_t* far, operator_id_t id, int input) {
  operation_t operation;
  operation_make_plain(fx, &operation, id);
  const tensor_t* tensor = &operation.inputs[input];
  put_there(fx, far, tensor->model, bytes_of(tensor));
  move_there(&operation.wire->inputs[input], far, tensor);
  return OPERATION_RUN(fx, &operation);
}

static bool writes_there(tbk_fixture_t* fx, far_t* far, operator_id_t id) {
  operation_t operation;
  operation_make_plain(fx, &operation, id);
  put_there(fx, far, operation.poison, bytes_of(&operation.output));
  move_there(&operation.wire->output, far, &operation.output);
  const tbk_status_t status = operation_launch(fx, &operation, NULL);
  if (status != TBK_UNSUPPORTED && CHECK_OK(status))
    memcpy(far->there, operation.output.model, bytes_of(&operation.output));
  far_check(fx, far);
  return status == TBK_OK;
}

/* Shows nothing where no operator is offered, or each refuses. */
static void run_operator(tbk_fixture_t* fx, sweep_case_t* one) {
  far_t far;
  operation_t operation;
  bool shown = false;
  if (!far_make(fx, one, &far, BYTES)) return;
  for (int id = 0; id < OPERATORS; ++id) {
    if (operation_find(fx, (operator_id_t)id) == NULL) continue;
    operation_make_plain(fx, &operation, (operator_id_t)id);
    for (int input = 0; input < operation.input_count; ++input)
      shown = reads_from_there(fx, &far, (operator_id_t)id, input) || shown;
    shown = writes_there(fx, &far, (operator_id_t)id) || shown;
  }
  one->left_out = !shown;
}

static void operands_beyond_32_bits_are_reached(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&place_axis}, fits, run_operator, 1};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("CPY-004", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE, an_upload_beyond_32_bits_arrives),
    TBK_CASE("CPY-009", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             a_download_from_beyond_32_bits_arrives),
    TBK_CASE("CPY-015", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE, a_copy_beyond_32_bits_arrives),
    TBK_CASE("CPY-018", "fill", TBK_CASE_THOROUGH | TBK_CASE_ALONE, a_fill_beyond_32_bits_arrives),
    TBK_CASE("KRN-112", "kernel", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             operands_beyond_32_bits_are_reached),
};
TBK_SUITE(sweep_far);
