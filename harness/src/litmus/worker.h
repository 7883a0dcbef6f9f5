/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * worker.h: what a worker's process (worker.c) asks of its work (hunt.c).
 */
#ifndef TBK_HARNESS_LITMUS_WORKER_H
#define TBK_HARNESS_LITMUS_WORKER_H

#include "hunt.h"

void hunt_work_range(litmus_runner_t* runner, hunt_shared_t* shared, uint64_t seed,
                     const hunt_range_t* range);
void hunt_work_one(litmus_runner_t* runner, hunt_shared_t* shared, uint64_t seed, unsigned repeats);

#endif /* TBK_HARNESS_LITMUS_WORKER_H */
