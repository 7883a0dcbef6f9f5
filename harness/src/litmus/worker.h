/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * worker.h: what a worker's process (worker.c) asks of its work (hunt.c).
 */
#ifndef TBK_HARNESS_LITMUS_WORKER_H
#define TBK_HARNESS_LITMUS_WORKER_H

#include "hunt.h"

/* What runs programs: a library in this process, or PyTorch in another one. */
typedef struct hunt_executor {
  void* self;
  void (*run)(void* self, const litmus_program_t* program, litmus_result_t* out_result,
              litmus_seen_t* out_seen);
  void (*close)(void* self);
} hunt_executor_t;

void hunt_work_range(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed,
                     const hunt_range_t* range);
void hunt_work_one(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed,
                   unsigned repeats, uint64_t until_ns);

#endif /* TBK_HARNESS_LITMUS_WORKER_H */
