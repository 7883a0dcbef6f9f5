/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child_preflight.h: what the C worker says of a backend and its device before tests run, and between them.
 */
#ifndef TBK_HARNESS_CHILD_PREFLIGHT_H
#define TBK_HARNESS_CHILD_PREFLIGHT_H

#include "contract.h"

/*
 * Makes the instance of the library that `session` has open, opens device 0, and says what they are and
 * can do. Leaves out what `skip` names (preflight.h). Ends the process where there is nothing to go on with.
 */
void tbk_child_preflight(tbk_session_t* session, uint32_t skip, uint64_t open_timeout_ns);

/* Says whether the device still computes, and returns that. */
bool tbk_child_say_health(tbk_session_t* session);

#endif /* TBK_HARNESS_CHILD_PREFLIGHT_H */
