/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * peer.c: copies between devices. All devices are of one host, so each reaches the others.
 */
#include "cpu.h"

static tbk_status_t peer_can_access(tbk_instance_t* self, int32_t device, int32_t peer,
                                    int32_t* out_can, tbk_error_t* error) {
  if (!cpu_device(self, device) || !cpu_device(self, peer) || !out_can)
    return cpu_fail(TBK_INVALID, error, "no such device, or out_can is NULL");
  *out_can = device != peer;
  return TBK_OK;
}

static tbk_status_t peer_copy(tbk_instance_t* self, int32_t destination_device,
                              tbk_memory_t destination, uint64_t destination_offset,
                              int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                              uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, destination_device, error);
  if (status == TBK_OK) status = cpu_enter_stream(self, source_device, stream, error);
  if (status != TBK_OK) return status;
  if ((destination_offset | source_offset | size_bytes) & (self->options.granularity - 1))
    return cpu_fail(TBK_INVALID, error, "offset or size is off the granularity");
  if (size_bytes == 0) return TBK_OK;
  char* to = vdev_arena_at(cpu_arena(self, destination_device), destination, destination_offset,
                           size_bytes);
  const char* from =
      vdev_arena_at(cpu_arena(self, source_device), source, source_offset, size_bytes);
  return cpu_submit_copy(to, from, size_bytes, stream, error);
}

const tbk_peer_ops_t cpu_peer_ops = {sizeof cpu_peer_ops, peer_can_access, peer_copy};
