/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * torch.h: programs that PyTorch runs, in a process of Python's. One server imports PyTorch and forks
 * a child for each job (torch_worker/litmus_server.py); a worker sends it programs, one after the
 * other, and finds what was seen in memory that both share.
 */
#ifndef TBK_HARNESS_LITMUS_TORCH_H
#define TBK_HARNESS_LITMUS_TORCH_H

#include "worker.h"

/* Starts the server, once; false where there is no process to be had. */
bool torch_serve(const hunt_subject_t* subject);
/* Returns its process; 0: there is none. */
pid_t torch_server(void);
void torch_end(void);

/* In a worker: has a child forked and waits until it knows the device. On false the state is set. */
bool torch_open(const hunt_subject_t* subject, hunt_shared_t* shared,
                hunt_executor_t* out_executor);
/* In the parent, behind each worker: ends its child, however the worker ended. */
void torch_settle(hunt_shared_t* shared);

#endif /* TBK_HARNESS_LITMUS_TORCH_H */
