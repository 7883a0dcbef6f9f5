/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "planned.h"

#include <string.h>

tbk_status_t planned_prepare(tbk_fixture_t* fx, planned_t* it) {
  operation_t* operation = &it->operation;
  return operation->kernel->prepare(fx->self, fx->device, operation->kernel,
                                    &operation->wire->arguments, &it->plan, &it->workspace_bytes,
                                    &fx->error);
}

tbk_status_t planned_launch(tbk_fixture_t* fx, planned_t* it, tbk_stream_t* stream) {
  return it->operation.kernel->launch_plan(fx->self, fx->device, it->plan,
                                           &it->operation.wire->arguments, it->workspace,
                                           it->workspace_offset, stream, &fx->error);
}

void planned_destroy(tbk_fixture_t* fx, planned_t* it) {
  it->operation.kernel->plan_destroy(fx->self, it->plan);
}

void planned_operation(tbk_fixture_t* fx, operation_t* operation, operator_id_t id) {
  static const int64_t sizes[2] = {9, 31};
  static const int64_t product[3] = {6, 17, 5};
  form_t form = {.id = id, .dtype = operation_dtype(fx), .sizes = sizes, .keepdim = true};
  form.rank = fx->properties.max_rank < 2 ? 1 : 2;
  form.reduced = form.rank == 2 ? 2 : 0;
  if (id == OPERATOR_MM) form.sizes = product;
  operation_make(fx, operation, &form);
}

bool planned_offered(tbk_fixture_t* fx, operator_id_t id) {
  return operation_has_plans(operation_find(fx, id));
}

bool planned_accepted(tbk_fixture_t* fx, operator_id_t id) {
  if (!planned_offered(fx, id)) return false;
  size_t mark = room_mark(fx);
  planned_t it = {0};
  memset(&fx->error, 0, sizeof fx->error);
  planned_operation(fx, &it.operation, id);
  tbk_status_t status = planned_prepare(fx, &it);
  if (status == TBK_OK) planned_destroy(fx, &it);
  CHECK_SAID(status == TBK_OK || status == TBK_UNSUPPORTED, "OK, or UNSUPPORTED",
             "%s from prepare: %s", tbk_status_name(status), fx->error.message);
  CHECK_SAID(status == TBK_OK || fx->error.message[0] != '\0', "a reason with UNSUPPORTED", "%s",
             "none");
  room_release(fx, mark);
  return status == TBK_OK;
}

static bool any_is_offered(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    if (planned_offered(fx, (operator_id_t)id)) return true;
  return false;
}

operator_id_t planned_first(tbk_fixture_t* fx) {
  operator_id_t id = OPERATOR_FILL;
  while (id < OPERATORS && !planned_accepted(fx, id))
    id = (operator_id_t)(id + 1);
  if (id == OPERATORS)
    fx_evidence(fx, TBK_NOT_SHOWN,
                any_is_offered(fx) ? "prepare refuses the operands of this test, as it may"
                                   : "none of the operators that the suite computes makes plans");
  return id;
}

void planned_for_each(tbk_fixture_t* fx, operation_fn function) {
  for (int id = planned_first(fx); id < OPERATORS; ++id) {
    size_t mark = room_mark(fx);
    if (planned_accepted(fx, (operator_id_t)id)) function(fx, (operator_id_t)id);
    room_release(fx, mark);
  }
}

void planned_workspace_at(tbk_fixture_t* fx, planned_t* it, uint64_t offset) {
  it->workspace = 0;
  it->workspace_offset = 0;
  if (it->workspace_bytes == 0) return;
  const uint64_t alignment = fx->properties.memory_alignment;
  offset = (offset + alignment - 1) / alignment * alignment;
  if (!room_fits(fx, offset + it->workspace_bytes + alignment)) {
    fx_note_once(fx, "a workspace far behind the beginning of its block does not fit the device");
    offset = alignment;
  }
  block_make(fx, &it->block, offset + it->workspace_bytes + alignment);
  it->workspace = it->block.memory;
  it->workspace_offset = offset;
}

void planned_workspace(tbk_fixture_t* fx, planned_t* it) {
  planned_workspace_at(fx, it, 1);
}

void planned_check_workspace(tbk_fixture_t* fx, planned_t* it) {
  if (it->workspace_bytes == 0) return;
  uint8_t* seen = fx_zeros(fx, it->block.size);
  uint64_t end = it->workspace_offset + it->workspace_bytes;
  fx_download(fx, seen, it->block.memory, it->block.size);
  CHECK_BYTES(it->block.model, seen, it->workspace_offset);
  CHECK_BYTES(it->block.model + end, seen + end, it->block.size - end);
}

planned_t* planned_make(tbk_fixture_t* fx, operator_id_t id) {
  planned_t* it = (planned_t*)(void*)fx_zeros(fx, sizeof *it);
  planned_operation(fx, &it->operation, id);
  REQUIRE_OK(planned_prepare(fx, it));
  REQUIRE(it->plan != NULL);
  planned_workspace(fx, it);
  return it;
}
