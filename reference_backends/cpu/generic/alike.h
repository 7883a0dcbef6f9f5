/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * alike.h: states of a reduction that are the same in every lane, such as how many elements were combined: what
 * combine makes of them alone is computed for one lane, and filled into the others where they are asked for.
 */
#ifndef TBK_CPU_ALIKE_H
#define TBK_CPU_ALIKE_H

#include "frame.h"

/*
 * Sets `alike` of the code of a reduction, and `lanes` of the steps of its combine: a state is alike if the map makes
 * the same of every element, combine its next of such states alone, and nothing else of it in every lane.
 */
void alike_find(kernel_code_t* code);
/* Runs combine on lanes in which those states are the same, on each side: of these the first step of lanes is there,
 * and comes out. */
void alike_run(const frame_t* combine, const tile_t* tile);

#endif /* TBK_CPU_ALIKE_H */
