/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fault.c: work that fails, or that loses the device.
 */
#include "cpu.h"

static tbk_status_t fault_enqueue(tbk_instance_t* self, tbk_stream_t* stream, int32_t kind,
                                  tbk_error_t* error) {
  (void)self;
  if (!stream || (kind != TBK_FAULT_WORK_FAILS && kind != TBK_FAULT_DEVICE_LOST))
    return cpu_fail(TBK_INVALID, error, "stream is NULL, or there is no fault %d", kind);
  tbk_status_t status = cpu_enter_lane(stream, error);
  if (status != TBK_OK) return status;
  int what = kind == TBK_FAULT_DEVICE_LOST ? VDEV_FAULT_LOSS : VDEV_FAULT_ONCE;
  return cpu_tell(vdev_submit_fault(stream->lane, what, TBK_FAILED), error);
}

const tbk_fault_ops_t cpu_fault_ops = {sizeof cpu_fault_ops, fault_enqueue};
