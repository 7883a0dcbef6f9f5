/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program_parameter.h: the one opcode that stands in reductions alone, for the row that is made of it.
 */
#ifndef TBK_MUTANTS_PROGRAM_PARAMETER_H
#define TBK_MUTANTS_PROGRAM_PARAMETER_H

#include "calls.h"

/* launch of tbk::reduce, whose combine takes its second state for the first. */
TBK_RETURNS_launch launch_other_parameter TBK_PARAMETERS_launch;

#endif /* TBK_MUTANTS_PROGRAM_PARAMETER_H */
