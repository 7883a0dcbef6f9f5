/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * oracle.h: inputs for operations, and their results as the host computes them.
 */
#ifndef TBK_CONTRACTS_ORACLE_H
#define TBK_CONTRACTS_ORACLE_H

#include "operation.h"

/* Sets all elements of input `index`. */
void oracle_inputs(tbk_fixture_t* fx, operation_t* operation, int index);
/* The number that fill_ writes, or alpha. */
void oracle_scalar(tbk_fixture_t* fx, operation_t* operation);
/* Returns the scalar as the element type sees it. */
number_t oracle_converted(const number_type_t* type, const tbk_scalar_t* scalar);
/* Computes the result into the model of the output. */
void oracle_compute(operation_t* operation);

#endif /* TBK_CONTRACTS_ORACLE_H */
