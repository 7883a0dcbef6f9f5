/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * slot_parts.h: what slot.c and slot_report.c know of each other.
 */
#ifndef TBK_HARNESS_SLOT_PARTS_H
#define TBK_HARNESS_SLOT_PARTS_H

#include "slot.h"

void tbk_slot_begin_test(tbk_slot_t* slot, uint64_t now_ns, uint64_t limit_ns);
/* Gives what came of the test in flight to who started the job. */
void tbk_slot_hand_over(tbk_slot_t* slot, uint32_t position);
/* Reads what is there now. */
void tbk_slot_read_output(tbk_slot_t* slot);
void tbk_slot_read_report(tbk_slot_t* slot);

#endif /* TBK_HARNESS_SLOT_PARTS_H */
