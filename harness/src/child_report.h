/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child_report.h: what the C worker says on its descriptor, a line at a time (protocol.h). One worker is
 * in a process, and one thread of it speaks.
 */
#ifndef TBK_HARNESS_CHILD_REPORT_H
#define TBK_HARNESS_CHILD_REPORT_H

#include "json_write.h"

/* Takes `descriptor` for what is said from now on, in lines that are marked with the job's `key`. */
void tbk_child_report_open(int descriptor, uint32_t key);
/* Notes how many tests have begun, which the last line says. */
void tbk_child_report_count(uint32_t begun);

/* Begins a line that holds nothing yet; returns where its object is written. */
tbk_json_t* tbk_child_report_begin_line(void);
/* Writes it out. Ends the process where the descriptor is the worker's no more, or the line too long. */
void tbk_child_report_send_line(void);

/* Begins {"said": what; returns where its other members are written. */
tbk_json_t* tbk_child_report_begin(const char* what);
/* Closes that object and writes it out. */
void tbk_child_report_send(void);

/* Says that everything is given back, and the process about to exit. */
void tbk_child_report_done(void);
/* Says what cannot be done, and at which stage; ends the process as a worker does. */
_Noreturn void tbk_child_report_error(const char* stage, const char* reason);

#endif /* TBK_HARNESS_CHILD_REPORT_H */
