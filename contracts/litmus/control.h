/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * control.h: programs from which an edge was taken out, to show that a device that has lost it would
 * be found.
 */
#ifndef TBK_LITMUS_CONTROL_H
#define TBK_LITMUS_CONTROL_H

#include "model.h"

/*
 * Takes one edge of this kind out of a program that keeps its calls otherwise. False where there is none, or
 * where the program is not defined without it.
 */
bool litmus_control(litmus_program_t* out, const litmus_program_t* program, litmus_edge_t kind,
                    uint64_t* random);
/* Returns whether there can be a control for this kind at all; `out_why` says why not. */
bool litmus_has_control(litmus_edge_t kind, const char** out_why);
/* Returns the kind whose turn it is; each kind that tbk.h, or PyTorch, has comes as often. */
litmus_edge_t litmus_control_turn(bool torch, uint64_t turn);

#endif /* TBK_LITMUS_CONTROL_H */
