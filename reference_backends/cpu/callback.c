/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback.c: calls of the host's functions, on whichever thread runs the queue.
 */
#include "cpu.h"

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  (void)self;
  if (!function) return cpu_fail(TBK_INVALID, error, "function is NULL");
  tbk_status_t status = cpu_enter_lane(stream, error);
  if (status != TBK_OK) return status;
  return cpu_tell(vdev_submit_call(stream->lane, function, argument), error);
}

const tbk_callback_ops_t cpu_callback_ops = {sizeof cpu_callback_ops, callback_enqueue};
