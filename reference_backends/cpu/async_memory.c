/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * async_memory.c: allocation takes effect at once; giving back is work in the stream's order.
 */
#include "cpu.h"

typedef struct give_op {
  cpu_op_t op;
  vdev_arena_t* arena;
  tbk_memory_t memory;
} give_op_t;

static void give(cpu_op_t* op) {
  const give_op_t* work = (const give_op_t*)op;
  vdev_arena_give(work->arena, work->memory);
}

static tbk_status_t async_alloc(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                                tbk_memory_t* out_memory, tbk_error_t* error) {
  if (!stream || !out_memory) return cpu_fail(TBK_INVALID, error, "stream or out_memory is NULL");
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status != TBK_OK) return status;
  return cpu_memory_alloc(self, stream->device->index, size_bytes, out_memory, error);
}

static tbk_status_t async_free(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                               tbk_error_t* error) {
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK;
  if (status != TBK_OK || memory == 0) return status;
  give_op_t* work = cpu_op_new(sizeof *work, give);
  if (work) {
    work->op.always = true;
    work->arena = stream->device->arena;
    work->memory = memory;
  }
  return cpu_submit(self, stream, work, error);
}

const tbk_async_memory_ops_t cpu_async_memory_ops = {sizeof cpu_async_memory_ops, async_alloc,
                                                     async_free};
