/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child.h: the C worker. A fork of the launcher that loads the library, runs what it is told, reports
 * on a descriptor of its own and exits with TBK_WORKER_EXIT.
 */
#ifndef TBK_HARNESS_CHILD_H
#define TBK_HARNESS_CHILD_H

#include "plan.h"
#include "slot.h"

/* Once, before the first launcher is started; what the workers inherit. */
bool tbk_child_prepare(const tbk_options_t* options, const tbk_run_plan_t* plan);

extern const tbk_launchers_t tbk_child_launchers;

#endif /* TBK_HARNESS_CHILD_H */
