/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_program.h: runs a case of the operators, launched or by a plan, and judges it.
 */
#ifndef TBK_CONTRACTS_KERNEL_PROGRAM_H
#define TBK_CONTRACTS_KERNEL_PROGRAM_H

#include "kernel_space.h"

/* Computes what the case says; a plan is launched on other operands as well. */
void kernel_run(tbk_fixture_t* fx, sweep_case_t* one, operator_id_t id);
/* Launches it once, with these values. */
void kernel_run_once(tbk_fixture_t* fx, sweep_case_t* one, operator_id_t id, values_t values);

#endif /* TBK_CONTRACTS_KERNEL_PROGRAM_H */
