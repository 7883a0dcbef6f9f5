/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * selftest.h: the suites of the virtual device's own tests, and what they share.
 */
#ifndef VDEV_SELFTEST_H
#define VDEV_SELFTEST_H

#include <CUnit/CUnit.h>

#include "vdev/event.h"

extern CU_TestInfo vdev_words_tests[];
extern CU_TestInfo vdev_arena_tests[];
extern CU_TestInfo vdev_config_tests[];
extern CU_TestInfo vdev_machine_tests[];
extern CU_TestInfo vdev_stream_tests[];
extern CU_TestInfo vdev_event_tests[];
extern CU_TestInfo vdev_fault_tests[];
extern CU_TestInfo vdev_thread_tests[];

/* The ways in which a machine may run its work, ended by NULL: what is true of one is true of all. */
extern const char* const vdev_ways[];

/* Returns a machine of these options with all of its devices open. */
vdev_machine_t* vdev_start(const char* options);

vdev_stream_t* vdev_stream_of(vdev_machine_t* machine, int32_t device);

/* Work that blocks until it is let go. A gate that was not opened would hang, so a test opens it. */
typedef struct vdev_gate {
  int entered, open; /* atomic */
} vdev_gate_t;
void vdev_gate_submit(vdev_gate_t* gate, vdev_stream_t* stream);
/* Waits until it is the gate's turn. */
void vdev_gate_reach(vdev_gate_t* gate, vdev_stream_t* stream);
void vdev_gate_open(vdev_gate_t* gate);

#endif /* VDEV_SELFTEST_H */
