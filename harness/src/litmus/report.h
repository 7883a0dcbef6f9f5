/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * report.h: what was found, and how sure it is that there is nothing else, as JSON lines.
 */
#ifndef TBK_HARNESS_LITMUS_REPORT_H
#define TBK_HARNESS_LITMUS_REPORT_H

#include <stdio.h>

#include "processes.h"
#include "shrink.h"

/* How often the file of a finding showed it, of how many runs; 0 of 0: it was not tried. */
typedef struct alone {
  unsigned shown, runs;
} alone_t;

/* Rounds of a C file that shows it each time: what a device does at each so-manyth call is in one of them. */
enum { ALONE_ROUNDS = 12 };

/* One finding, shrunk and explained. */
typedef struct finding {
  uint64_t index; /* of the program that showed it first */
  bool is_control;
  shrunk_t shrunk;
  litmus_reason_t reason; /* of a wrong read */
  alone_t alone;
  bool uses_memory_first; /* its file leaves used memory behind before it allocates some */
  bool has_rounds;        /* its file in Python makes the calls several times */
  unsigned rounds;        /* of its C file */
} finding_t;

/* Explains a wrong read by the model. */
void finding_explain(finding_t* finding);

void report_header(FILE* file, const hunt_subject_t* subject);
void report_finding(FILE* file, const hunt_subject_t* subject, const finding_t* finding);
/* The same for a reader: what happened, the calls, and why it is wrong. */
void report_print(FILE* file, const finding_t* finding);
/* A line for each kind of edge that there is, with what a device must have for it. */
void report_kinds(FILE* file);
/* A line for each kind of edge that this device has; `each`: with what each process had. */
void report_edges(FILE* file, const hunt_shared_t* shared, const processes_t* processes,
                  const finding_t* finding, bool each);
/* A line of how sure processes of several runs are together; `programs`: of all of them. */
void report_sure(FILE* file, const sure_process_t* processes, size_t count, uint64_t programs);
/* Answers lines of "PROGRAMS TRIED SHOWN TRIED SHOWN ..." by report_sure, until the input ends.
   Returns false at one that is none. */
bool answer_sure(FILE* input, FILE* output);
/* In how many programs each ordered pair of kinds of edges is, of those that this device has. */
void report_coverage(FILE* file, const hunt_shared_t* shared);
void report_footer(FILE* file, const hunt_subject_t* subject, const hunt_shared_t* shared,
                   const processes_t* processes, double seconds, int exit_code, const char* reason);

/* Writes the finding as a C file that needs tbk_alone.h and tbk.h, and nothing of the suite. */
void reproduce(FILE* file, const hunt_subject_t* subject, const finding_t* finding);
/* The same as a few lines of Python that need PyTorch, and what brings the device. */
void reproduce_torch(FILE* file, const hunt_subject_t* subject, const litmus_offers_t* offers,
                     const finding_t* finding);

#endif /* TBK_HARNESS_LITMUS_REPORT_H */
