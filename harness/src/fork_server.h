/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fork_server.h: where the launchers of the PyTorch worker come from. The fork server is one Python process
 * (python -m tbk_harness.torch_worker serve) that has imported PyTorch and collected the contract
 * tests, which takes seconds, once. It touches no device. Each launcher is forked from it, which takes
 * milliseconds, and becomes a child of the supervisor.
 *
 * They speak over a socket that keeps messages apart (SOCK_SEQPACKET), one JSON object each:
 *
 *   from the fork server, unasked, when it has collected:
 *     {"said":"test","id":..,"suite":..,"clause":..,"needs":..,"level":..,"area":..,"profile":..,
 *      "text":..,"fresh":B,"alone":B,"slow":B,
 *      "thorough":B}                           one for each test, in the order of their numbers
 *     {"said":"suite","digest":..,"spec":..,"clauses":N,"torch":VERSION,"words":[..],
 *      "declared":{WORD:B}}                    the last one; "declared" where --facts gives a file
 *     {"said":"error","exit":CODE,"reason":..} instead of these
 *   to the fork server, each with one answer:
 *     {"do":"launcher","at":BYTES} and the five descriptors of tbk_launcher_ends_t
 *                                              {"said":"launcher","pid":N}
 *     {"do":"know","held":{WORD:B},"warm":B} and a file with the number of the test of each item,
 *                                              uint32_t
 *                                              {"said":"known"}; "warm": it imports the modules that
 *                                              make PyTorch know the device, for all later launchers
 */
#ifndef TBK_HARNESS_FORK_SERVER_H
#define TBK_HARNESS_FORK_SERVER_H

#include "plan.h"
#include "slot.h"

#include <jansson.h>

/* Starts it, once, and reads what it lists. Not PASS: why not, in one line. */
tbk_exit_t tbk_fork_server_start(const tbk_options_t* options, char* reason, size_t reason_size);

tbk_source_t tbk_fork_server_tests(void);

/* Returns what it said of the suite; NULL before it has. */
const json_t* tbk_fork_server_suite(void);

/* Tells it what launchers that are made from now on shall know. Any of it may be NULL. */
void tbk_fork_server_tell(const tbk_run_plan_t* plan, const json_t* held, bool warm);

/* Ends it. */
void tbk_fork_server_stop(void);

extern const tbk_launchers_t tbk_fork_server_launchers;

#endif /* TBK_HARNESS_FORK_SERVER_H */
