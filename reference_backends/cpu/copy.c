/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * copy.c: uploads, downloads, copies and fills.
 */
#include "cpu.h"

tbk_status_t cpu_submit_copy(void* to, const void* from, uint64_t size_bytes, tbk_stream_t* stream,
                             tbk_error_t* error) {
  if (!to || !from) return cpu_fail(TBK_INVALID, error, "a range outside of the memory, or NULL");
  return cpu_tell(vdev_submit_copy(cpu_lane(stream), to, from, size_bytes), error);
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
  return vdev_arena_at(cpu_arena(self, index), memory, offset, size_bytes);
}

tbk_status_t cpu_upload(tbk_instance_t* self, int32_t index, tbk_memory_t memory, uint64_t offset,
                        const void* source, uint64_t size_bytes, tbk_stream_t* stream,
                        tbk_error_t* error) {
  tbk_status_t status = enter(self, index, offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  char* to = at(self, index, memory, offset, size_bytes);
  return cpu_submit_copy(to, source, size_bytes, stream, error);
}

tbk_status_t cpu_download(tbk_instance_t* self, int32_t index, void* destination,
                          tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                          tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = enter(self, index, offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  const char* from = at(self, index, memory, offset, size_bytes);
  return cpu_submit_copy(destination, from, size_bytes, stream, error);
}

tbk_status_t cpu_copy(tbk_instance_t* self, int32_t index, tbk_memory_t destination,
                      uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                      uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status =
      enter(self, index, destination_offset | source_offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  char* to = at(self, index, destination, destination_offset, size_bytes);
  const char* from = at(self, index, source, source_offset, size_bytes);
  return cpu_submit_copy(to, from, size_bytes, stream, error);
}

tbk_status_t cpu_fill(tbk_instance_t* self, int32_t index, tbk_memory_t memory, uint64_t offset,
                      uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                      tbk_error_t* error) {
  tbk_status_t status = enter(self, index, offset, size_bytes, stream, error);
  if (status != TBK_OK || size_bytes == 0) return status;
  char* to = at(self, index, memory, offset, size_bytes);
  if (!to) return cpu_fail(TBK_INVALID, error, "a range outside of the memory");
  return cpu_tell(vdev_submit_fill(cpu_lane(stream), to, value, size_bytes), error);
}
