/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * trace_content.h: what a launch of a generic kernel asks it to compute, so that a run tells what of it the failing
 * tests asked: the opcodes of its programs, and flags. Opcodes of kernels that reduce and scan are things of their own:
 * a backend computes them by other code.
 */
#ifndef TBK_CONTRACTS_TRACE_CONTENT_H
#define TBK_CONTRACTS_TRACE_CONTENT_H

#include <stddef.h>

/* Returns "opcode:NAME" or "flag:NAME" of row `row` of what can be asked; NULL beyond the last. */
const char* tbk_content_name(size_t row);
/* In whose program an opcode is; flags are plain. */
typedef enum tbk_content_place {
  TBK_CONTENT_PLAIN,
  TBK_CONTENT_REDUCTION,
  TBK_CONTENT_SCAN
} tbk_content_place_t;
typedef void (*tbk_content_note_t)(size_t row, tbk_content_place_t place);
/* Calls `note` with the row of each opcode and flag in arguments of generic kernel `kernel`; of a program that is
 * malformed it calls nothing. */
void tbk_content_of(const char* kernel, const void* arguments, tbk_content_note_t note);

#endif /* TBK_CONTRACTS_TRACE_CONTENT_H */
