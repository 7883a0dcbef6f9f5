/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * protocol.h: what a worker and the supervisor say to each other. This is the seam through which
 * other kinds of worker plug in: same supervisor, same deadlines, same verdicts.
 *
 * A worker is a process that runs tests with the backend inside. Its launcher (launcher.h) starts it in
 * a process group of its own, gives it the descriptors below, and reports how it ended. It waits for
 * one order, and then writes one JSON object a line. Each line begins with a newline, so that a
 * stray byte before it costs nothing, and with the key of the job (write_mark), so that no line that
 * another writes by accident is taken for one. What does not begin so is noise: it is counted, and a
 * test during which it came has failed. A child that the backend forked says nothing.
 *
 *   {"said":"end","n":K, ...}    test K of the job is over; the members are those of write_end
 *   {"said":"done","begun":N}    everything is given back; the process is about to exit
 *
 * and, in the jobs of preflight.h, "backend", "device", "opened", "gate", "health" and "error".
 * "only_should" in an "end" means that what did not hold is a *should*: the verdict is a warning.
 * "device_held" in an "end" or a "health" means that the exclusive device was refused as one that
 * another process has: what it says is no verdict, and the worker ends. It will be asked again (lease.c).
 * Before test K it stores K in its cell (cell.h), which costs no system call. Then it exits with
 * TBK_WORKER_EXIT: a status that neither exit(0) nor a crash gives by chance. A test has passed
 * only if its "end" came, with checks and no failures, and the worker ended in this way.
 *
 * The C worker (child.h) is a fork of its launcher and finds its job in memory. So is the PyTorch
 * worker (python/tbk_harness/torch_worker), in which a job is one pytest item or many. In its "end"
 * it may also say "facts", an object that goes into the record as it is; and its preflight says
 *
 *   {"said":"stage","name":WORD,"text":..}   what it does next, so that a death or a hang names it
 *   {"said":"probing","n":N,"word":WORD} and {"said":"probed","word":WORD,"held":B,"reason":..}
 *   {"said":"warm","ok":B}                   whether a forked child computes after its parent has
 *                                            imported what makes PyTorch know the device
 *
 * It says "done" and leaves at once, with _exit; but where it has run many tests (under a budget not
 * each time), or one that wants a fresh process, or the first of the plan, it ends as an interpreter
 * does, so that a device that crashes when Python is torn down is seen.
 */
#ifndef TBK_HARNESS_PROTOCOL_H
#define TBK_HARNESS_PROTOCOL_H

#include "contract.h"
#include "json_write.h"

#include <jansson.h>

enum {
  TBK_WORKER_EXIT = 86,
  TBK_WORKER_NO_REPORT =
      88, /* its report descriptor was closed, is another file by now, or may not be written */
  TBK_WORKER_NOT_BEGUN = 87, /* it could not be set up; nothing of the backend was touched */
  TBK_WORKER_LINE = 16384    /* the longest line that a worker may write */
};

enum { TBK_MARK_SIZE = 11 };
/* Writes what a line begins with; terminated. */
void tbk_protocol_mark(char out[TBK_MARK_SIZE + 1], uint32_t key);
/* Returns the object in a line, and its size in `*size`; NULL where the line lacks the mark. */
const char* tbk_protocol_unmark(const char* line, size_t* size, uint32_t key);

void tbk_protocol_write_end(tbk_json_t* json, uint32_t n, const tbk_case_report_t* report);
/* `begun`: how many tests of the job. */
void tbk_protocol_write_done(tbk_json_t* json, uint32_t begun);

typedef enum tbk_said {
  TBK_SAID_NONSENSE = 0,
  TBK_SAID_END,
  TBK_SAID_DONE,
  TBK_SAID_OTHER /* of a preflight job */
} tbk_said_t;

/*
 * Reads one line. For END fills `out_n` and `out_report`, and gives the facts, or NULL; for DONE
 * fills `out_n` with the number of tests begun; for OTHER gives the object. The caller releases what it is given.
 */
tbk_said_t tbk_protocol_read(const char* line, size_t size, uint32_t* out_n,
                             tbk_case_report_t* out_report, json_t** out_object);

const char* tbk_evidence_name(tbk_evidence_t evidence);
const char* tbk_gate_name(tbk_gate_kind_t gate);

#endif /* TBK_HARNESS_PROTOCOL_H */
