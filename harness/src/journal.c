/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * journal.c: see journal.h. A store into a shared file mapping survives kill -9 of all processes;
 * only a power cut may lose it, and then the test simply runs again.
 */
#include "journal.h"

#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "TBKFLY1";

_Static_assert(sizeof(tbk_flight_t) <= TBK_PAGE_SIZE, "a job fits in a page");
_Static_assert(sizeof(tbk_cell_t) <= TBK_PAGE_SIZE, "a cell fits in a page");

static char* path_for(const char* results) {
  char* path = NULL;
  if (asprintf(&path, "%s.inflight", results) < 0) abort();
  return path;
}

uint64_t tbk_journal_cell_at(uint32_t slot) {
  return (2 * (uint64_t)slot + 1) * TBK_PAGE_SIZE;
}

static void* page(int fd, uint64_t at) {
  void* memory = mmap(NULL, TBK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
  if (memory == MAP_FAILED) return NULL;
  (void)madvise(memory, TBK_PAGE_SIZE, MADV_DONTFORK);
  return memory;
}

static bool map_all(tbk_journal_t* journal, int fd) {
  for (uint32_t slot = 0; slot < journal->slot_count; slot++) {
    journal->flights[slot] = page(fd, tbk_journal_cell_at(slot) - TBK_PAGE_SIZE);
    journal->cells[slot] = page(fd, tbk_journal_cell_at(slot));
    if (journal->flights[slot] == NULL || journal->cells[slot] == NULL) return false;
    memcpy(journal->flights[slot]->magic, magic, sizeof magic);
    journal->flights[slot]->count = 0;
  }
  return true;
}

static int open_file(tbk_journal_t* journal, const char* results) {
  if (results == NULL) return memfd_create("tbk-journal", MFD_CLOEXEC);
  journal->path = path_for(results);
  return open(journal->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

bool tbk_journal_open(tbk_journal_t* journal, const char* results, uint32_t slot_count) {
  *journal = (tbk_journal_t){.slot_count = slot_count};
  journal->flights = calloc(slot_count, sizeof *journal->flights);
  journal->cells = calloc(slot_count, sizeof *journal->cells);
  if (journal->flights == NULL || journal->cells == NULL) abort();
  journal->file = open_file(journal, results);
  if (journal->file < 0) return false;
  /* Blocks are reserved now: a store into a hole of a full disk would be a SIGBUS later. */
  int error = posix_fallocate(journal->file, 0, 2 * (off_t)slot_count * TBK_PAGE_SIZE);
  if (error == 0 && map_all(journal, journal->file)) return true;
  if (journal->path != NULL) (void)unlink(journal->path);
  (void)close(journal->file);
  if (error != 0) errno = error;
  return false;
}

void tbk_journal_start(tbk_journal_t* journal, uint32_t slot, const tbk_order_t* order) {
  tbk_flight_t* flight = journal->flights[slot];
  for (uint32_t i = 0; i < order->count; i++)
    flight->items[i] = order->items[i];
  journal->cells[slot]->phase = 0;
  journal->cells[slot]->position = 0;
  journal->cells[slot]->stack[0] = '\0';
  __atomic_store_n(&flight->count, order->count, __ATOMIC_RELEASE);
}

void tbk_journal_end(tbk_journal_t* journal, uint32_t slot) {
  journal->flights[slot]->count = 0;
}

void tbk_journal_share(const tbk_journal_t* journal, uint32_t slot) {
  for (uint32_t i = 0; i < journal->slot_count; i++)
    (void)madvise(journal->cells[i], TBK_PAGE_SIZE, i == slot ? MADV_DOFORK : MADV_DONTFORK);
}

void tbk_journal_remove(tbk_journal_t* journal) {
  if (journal->path != NULL) (void)unlink(journal->path);
}

size_t tbk_journal_read(const char* results, uint32_t* out_items, size_t capacity) {
  char* path = path_for(results);
  FILE* file = tbk_open_regular(path);
  union {
    tbk_flight_t flight;
    tbk_cell_t cell;
    char bytes[TBK_PAGE_SIZE];
  } job, cell;
  size_t count = 0;
  while (file != NULL && count < capacity && fread(&job, sizeof job, 1, file) == 1 &&
         fread(&cell, sizeof cell, 1, file) == 1) {
    uint32_t at = (uint32_t)cell.cell.position;
    if (memcmp(job.flight.magic, magic, sizeof magic) == 0 && job.flight.count <= TBK_JOB_MAX &&
        at < job.flight.count)
      out_items[count++] = job.flight.items[at];
  }
  if (file != NULL) (void)fclose(file);
  free(path);
  return count;
}
