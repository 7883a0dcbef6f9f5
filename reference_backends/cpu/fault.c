/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fault.c: work that fails, or that loses the device.
 */
#include "cpu.h"

typedef struct fault_op {
  cpu_op_t op;
  cpu_lane_t* lane;
  int32_t kind;
} fault_op_t;

static void happen(cpu_op_t* op) {
  const fault_op_t* fault = (const fault_op_t*)op;
  cpu_device_t* device = fault->lane->device;
  cpu_lock(device->instance);
  if (fault->kind == TBK_FAULT_DEVICE_LOST) {
    device->lost = true;
    cpu_wake_all(device->instance);
  } else {
    fault->lane->error = TBK_FAILED;
    device->failed = true;
  }
  cpu_unlock(device->instance);
}

static void drop(cpu_op_t* op) {
  cpu_lane_drop(((fault_op_t*)op)->lane);
}

static tbk_status_t fault_enqueue(tbk_instance_t* self, tbk_stream_t* stream, int32_t kind,
                                  tbk_error_t* error) {
  if (!stream || (kind != TBK_FAULT_WORK_FAILS && kind != TBK_FAULT_DEVICE_LOST))
    return cpu_fail(TBK_INVALID, error, "stream is NULL, or there is no fault %d", kind);
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status != TBK_OK) return status;
  fault_op_t* fault = cpu_op_new(sizeof *fault, happen);
  if (!fault) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for an operation");
  fault->op.drop = drop;
  fault->kind = kind;
  fault->lane = stream->lane;
  cpu_lock(self);
  fault->lane->refs++;
  cpu_enqueue(stream, &fault->op);
  cpu_unlock(self);
  return TBK_OK;
}

const tbk_fault_ops_t cpu_fault_ops = {sizeof cpu_fault_ops, fault_enqueue};
