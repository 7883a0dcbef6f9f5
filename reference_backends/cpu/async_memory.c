/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * async_memory.c: allocation takes effect at once; giving back is work in the stream's order.
 */
#include "cpu.h"

typedef struct give_work {
  vdev_work_t work;
  vdev_arena_t* arena;
  tbk_memory_t memory;
} give_work_t;

static void give(vdev_work_t* work) {
  const give_work_t* this = (const give_work_t*)work;
  vdev_arena_give(this->arena, this->memory);
}

static tbk_status_t async_alloc(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                                tbk_memory_t* out_memory, tbk_error_t* error) {
  if (!stream || !out_memory) return cpu_fail(TBK_INVALID, error, "stream or out_memory is NULL");
  tbk_status_t status = cpu_enter_lane(stream, error);
  if (status != TBK_OK) return status;
  const int32_t index = vdev_device_index(vdev_stream_device(stream->lane));
  return cpu_memory_alloc(self, index, size_bytes, out_memory, error);
}

static tbk_status_t async_free(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                               tbk_error_t* error) {
  (void)self;
  tbk_status_t status = cpu_enter_lane(stream, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK;
  if (status != TBK_OK || memory == 0) return status;
  give_work_t* work = vdev_work_new(sizeof *work, give);
  if (work) {
    work->work.always = true;
    work->arena = vdev_device_arena(vdev_stream_device(stream->lane));
    work->memory = memory;
  }
  return cpu_tell(vdev_submit(stream->lane, work), error);
}

const tbk_async_memory_ops_t cpu_async_memory_ops = {sizeof cpu_async_memory_ops, async_alloc,
                                                     async_free};
