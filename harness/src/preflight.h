/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * preflight.h: before any test, a process of its own loads the library, opens the device and probes
 * it. A library that crashes or hangs in its constructor ends here, with one clear line.
 */
#ifndef TBK_HARNESS_PREFLIGHT_H
#define TBK_HARNESS_PREFLIGHT_H

#include "facts.h"
#include "loop.h"

/* Fills `facts`; facts->exit_code says whether tests can run. */
void tbk_preflight(tbk_loop_t* loop, const tbk_options_t* options, tbk_facts_t* facts);

/* The same for a device of PyTorch. Later launchers know what was found (fork_server.h). */
void tbk_preflight_torch(tbk_loop_t* loop, const tbk_options_t* options, tbk_facts_t* facts);

/* Returns whether the probes found a reason in `said`; "" and true where the device computes. */
bool tbk_health_of(const json_t* said, const tbk_outcome_t* outcome, char* out, size_t out_size);

/* Returns whether the probe found the device in another process's hands. */
bool tbk_health_is_held(const json_t* said);

#endif /* TBK_HARNESS_PREFLIGHT_H */
