/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shared_launcher.c: the launcher as a library, libtbk_launcher.so, for a worker that is no C program. The
 * caller is a process of the fork server (fork_server.h) that has become a child of the supervisor.
 */
#include "shared_launcher.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Of the cell, Python writes what stands before the trace, which is the C layer's. */
__attribute__((visibility("default"))) uint64_t tbk_launcher_layout(void) {
  return sizeof(tbk_launcher_job_t) << 32 | offsetof(tbk_launcher_job_t, items) << 16 |
         offsetof(tbk_cell_t, trace);
}

static void* map(int file, uint64_t at) {
  void* memory = mmap(NULL, TBK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
  if (memory == MAP_FAILED) _Exit(EXIT_FAILURE); /* the supervisor meets a dead launcher */
  return memory;
}

__attribute__((visibility("default"))) const tbk_launcher_job_t* tbk_launcher_serve(
    const tbk_launcher_files_t* files, const tbk_worker_t* worker) {
  static tbk_launcher_job_t job;
  const tbk_launcher_t launcher = {.control = files->control,
                                   .report = files->report,
                                   .output = files->output,
                                   .page = map(files->page, 0),
                                   .cell = map(files->cells, files->at),
                                   .worker = worker};
  const tbk_order_t* order = tbk_launcher_run(&launcher);
  job = (tbk_launcher_job_t){.kind = order->kind,
                             .argument = order->argument,
                             .watch_health = order->watch_health,
                             .key = order->key,
                             .count = order->count,
                             .items = order->items,
                             .cell = launcher.cell};
  return &job;
}
