/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * copy.c: uploads, downloads, copies and fills.
 */
#include "cpu.h"

typedef struct copy_op {
  cpu_op_t op;
  void* to;
  const void* from;
  uint64_t size_bytes;
} copy_op_t;

typedef struct fill_op {
  cpu_op_t op;
  void* to;
  uint64_t size_bytes;
  uint8_t value;
} fill_op_t;

static void run_copy(cpu_op_t* op) {
  const copy_op_t* copy = (const copy_op_t*)op;
  vdev_words_copy(copy->to, copy->from, copy->size_bytes);
}

static void run_fill(cpu_op_t* op) {
  const fill_op_t* fill = (const fill_op_t*)op;
  vdev_words_fill(fill->to, fill->value, fill->size_bytes);
}

tbk_status_t cpu_submit_copy(tbk_instance_t* self, void* to, const void* from, uint64_t size_bytes,
                             tbk_stream_t* stream, tbk_error_t* error) {
  if (!to || !from) return cpu_fail(TBK_INVALID, error, "a range outside of the memory, or NULL");
  copy_op_t* copy = cpu_op_new(sizeof *copy, run_copy);
  if (copy) {
    copy->to = to;
    copy->from = from;
    copy->size_bytes = size_bytes;
  }
  return cpu_submit(self, stream, copy, error);
}

/* `offsets` are or-ed together: all of them must be multiples of the granularity. */
static tbk_status_t enter(tbk_instance_t* self, int32_t index, uint64_t offsets,
                          uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = cpu_enter_stream(self, index, stream, error);
  if (status == TBK_OK && ((offsets | size_bytes) & (self->options.granularity - 1)))
    status = cpu_fail(TBK_INVALID, error, "offset or size is off the granularity of %llu",
                      (unsigned long long)self->options.granularity);
  return status;
}

static char* at(tbk_instance_t* self, int32_t index, tbk_memory_t memory, uint64_t offset,
                uint64_t size_bytes) {
  return vdev_arena_at(self->devices[index].arena, memory, offset, size_bytes);
}

tbk_status_t cpu_upload(tbk_instance_t* self, int32_t index, tbk_memory_t memory, uint64_t offset,
                        const void* source, uint64_t size_bytes, tbk_stream_t* stream,
                        tbk_error_t* error) {
  tbk_status_t status = enter(self, index, offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  char* to = at(self, index, memory, offset, size_bytes);
  return cpu_submit_copy(self, to, source, size_bytes, stream, error);
}

tbk_status_t cpu_download(tbk_instance_t* self, int32_t index, void* destination,
                          tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                          tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = enter(self, index, offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  const char* from = at(self, index, memory, offset, size_bytes);
  return cpu_submit_copy(self, destination, from, size_bytes, stream, error);
}

tbk_status_t cpu_copy(tbk_instance_t* self, int32_t index, tbk_memory_t destination,
                      uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                      uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status =
      enter(self, index, destination_offset | source_offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  char* to = at(self, index, destination, destination_offset, size_bytes);
  const char* from = at(self, index, source, source_offset, size_bytes);
  return cpu_submit_copy(self, to, from, size_bytes, stream, error);
}

tbk_status_t cpu_fill(tbk_instance_t* self, int32_t index, tbk_memory_t memory, uint64_t offset,
                      uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                      tbk_error_t* error) {
  tbk_status_t status = enter(self, index, offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  char* to = at(self, index, memory, offset, size_bytes);
  if (!to) return cpu_fail(TBK_INVALID, error, "a range outside of the memory");
  fill_op_t* fill = cpu_op_new(sizeof *fill, run_fill);
  if (fill) {
    fill->to = to;
    fill->size_bytes = size_bytes;
    fill->value = value;
  }
  return cpu_submit(self, stream, fill, error);
}
