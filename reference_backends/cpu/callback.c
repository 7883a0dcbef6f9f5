/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback.c: calls of the host's functions, on whichever thread runs the queue.
 */
#include "cpu.h"

typedef struct callback_op {
  cpu_op_t op;
  tbk_callback_fn function;
  void* argument;
} callback_op_t;

static void call(cpu_op_t* op) {
  callback_op_t* callback = (callback_op_t*)op;
  callback->function(callback->argument);
}

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  if (!function) return cpu_fail(TBK_INVALID, error, "function is NULL");
  tbk_status_t status = cpu_enter_lane(self, stream, error);
  if (status != TBK_OK) return status;
  callback_op_t* callback = cpu_op_new(sizeof *callback, call);
  if (callback) {
    callback->function = function;
    callback->argument = argument;
  }
  return cpu_submit(self, stream, callback, error);
}

const tbk_callback_ops_t cpu_callback_ops = {sizeof cpu_callback_ops, callback_enqueue};
