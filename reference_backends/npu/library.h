/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * library.h: the libraries of the driver and of its operators, opened once per process.
 */
#ifndef TBK_NPU_LIBRARY_H
#define TBK_NPU_LIBRARY_H

#include <driver/entry.h>

#include "acl.h"

/* Which libraries are meant: "driver=PATH,operators=PATH". */
extern driver_choice_t npu_choice;

/*
 * Opens the driver and initialises it, once per process; NULL where there is no usable driver. Not
 * called before somebody counts devices: an initialised driver does not survive a fork.
 */
const acl_runtime_t* npu_acl(void);

/* Returns the operators, opened with the driver; NULL where there are none. Some may be missing. */
const acl_operators_t* npu_nn(void);

/* Return why there is no driver, and why there are no operators; empty where there are. */
const char* npu_acl_reason(void);
const char* npu_nn_reason(void);

/* Whether a library that was opened carries the marker of a simulated one. */
bool npu_is_simulated(void);

/* Writes which driver and operators there are; only where there is a driver. describe.c */
void npu_describe_libraries(char* text, size_t size);

/* Whether this is a child that was forked from a process after it opened the driver. */
bool npu_is_forked(void);

/* Counts the devices that are open in this process: at its end the driver is left only where none is. */
void npu_count_open(int change);

#endif /* TBK_NPU_LIBRARY_H */
