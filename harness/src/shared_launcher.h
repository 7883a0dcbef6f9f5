/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shared_launcher.h: see shared_launcher.c. tbk_harness/torch_worker/launcher.py declares the same.
 */
#ifndef TBK_HARNESS_SHARED_LAUNCHER_H
#define TBK_HARNESS_SHARED_LAUNCHER_H

#include "launcher.h"

typedef struct tbk_launcher_files {
  int32_t control, report, output;
  int32_t page;  /* a file with the page */
  int32_t cells; /* a file with the cell, */
  int32_t zero;
  uint64_t at; /* in bytes from its beginning */
} tbk_launcher_files_t;

/* The order of a worker, without what is of the C layer alone, and the cell that it writes. */
typedef struct tbk_launcher_job {
  int32_t kind;
  uint32_t argument;
  int32_t watch_health;
  uint32_t key;
  uint32_t count;
  int32_t zero;
  const uint32_t* items;
  tbk_cell_t* cell;
} tbk_launcher_job_t;

/* To compare with what the caller believes of the structures. */
uint64_t tbk_launcher_layout(void);

/* Closes all descriptors but those of a launcher. Returns in a worker only, with its job. */
const tbk_launcher_job_t* tbk_launcher_serve(const tbk_launcher_files_t* files,
                                             const tbk_worker_t* worker);

#endif /* TBK_HARNESS_SHARED_LAUNCHER_H */
