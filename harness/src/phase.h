/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * phase.h: which part of a run has begun, for whoever shows its progress. It is no part of the
 * results.
 */
#ifndef TBK_HARNESS_PHASE_H
#define TBK_HARNESS_PHASE_H

#include "options.h"

#define TBK_PHASE_START "start"         /* starting the workers, and finding the tests */
#define TBK_PHASE_PREFLIGHT "preflight" /* opening the device, and asking what it has */
#define TBK_PHASE_TESTS "tests"

/* Adds a line to the file of --phases, if there is one. One that can't be written is nobody's loss. */
void tbk_phase_tell(const tbk_options_t* options, const char* phase);

#endif /* TBK_HARNESS_PHASE_H */
