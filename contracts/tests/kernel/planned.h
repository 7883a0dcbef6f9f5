/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * planned.h: an operation with a plan and the workspace that it asked for.
 */
#ifndef TBK_CONTRACTS_PLANNED_H
#define TBK_CONTRACTS_PLANNED_H

#include "operation.h"
#include "range.h"

typedef struct planned {
  operation_t operation;
  tbk_plan_t* plan;
  uint64_t workspace_bytes;
  tbk_memory_t workspace;
  uint64_t workspace_offset;
  block_t block; /* the workspace with room around it */
  tbk_stream_t* stream;
  uint8_t* first; /* what input 0, or the output, gets before the launch */
  tensor_t* written;
} planned_t;

/* Calls `prepare`, `launch_plan` and `plan_destroy` of the operation's kernel. */
tbk_status_t planned_prepare(tbk_fixture_t* fx, planned_t* it);
tbk_status_t planned_launch(tbk_fixture_t* fx, planned_t* it, tbk_stream_t* stream);
void planned_destroy(tbk_fixture_t* fx, planned_t* it);

/* Makes one larger than the plain operation, so that a workspace is worth having. */
void planned_operation(tbk_fixture_t* fx, operation_t* operation, operator_id_t id);
/* Makes exactly the workspace that was asked for, in the middle of a block whose ends are looked at. */
void planned_workspace(tbk_fixture_t* fx, planned_t* it);
/* The same so many bytes behind the beginning of the block, or a few more, where there is room. */
void planned_workspace_at(tbk_fixture_t* fx, planned_t* it, uint64_t offset);
/* Makes the operation, its plan and its workspace. */
planned_t* planned_make(tbk_fixture_t* fx, operator_id_t id);
/* Checks what lies around the workspace. */
void planned_check_workspace(tbk_fixture_t* fx, planned_t* it);

/* Tells whether the operator's kernel makes plans. */
bool planned_offered(tbk_fixture_t* fx, operator_id_t id);
/* Tries `prepare`, which may refuse any operands, on those of planned_operation. */
bool planned_accepted(tbk_fixture_t* fx, operator_id_t id);
/* Returns the first operator that can be prepared, or OPERATORS, which is said. */
operator_id_t planned_first(tbk_fixture_t* fx);
/* Calls `function` for each operator that can be prepared. */
void planned_for_each(tbk_fixture_t* fx, operation_fn function);

#endif /* TBK_CONTRACTS_PLANNED_H */
