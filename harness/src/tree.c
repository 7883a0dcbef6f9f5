/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tree.c: see tree.h. The kernel lists the children of each thread (CONFIG_PROC_CHILDREN).
 */
#include "tree.h"
#include "text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct pids {
  pid_t* items;
  size_t count, capacity;
  const pid_t* skip;
  size_t skip_count;
} pids_t;

static ssize_t read_file(const char* path, char* out, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t got = read(fd, out, size - 1);
  (void)close(fd);
  out[got > 0 ? got : 0] = '\0';
  return got;
}

static bool is_skipped(const pids_t* pids, pid_t pid) {
  for (size_t i = 0; i < pids->skip_count; i++)
    if (pids->skip[i] == pid) return true;
  return false;
}

static void add_children_of_thread(pids_t* pids, pid_t pid, const char* thread) {
  static char text[65536];
  char path[96];
  tbk_print(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, thread);
  if (read_file(path, text, sizeof text) <= 0) return;
  char* at = text;
  while (pids->count < pids->capacity) {
    char* end = NULL;
    long child = strtol(at, &end, 10);
    if (end == at) return;
    at = end;
    if (child > 0 && !is_skipped(pids, (pid_t)child)) pids->items[pids->count++] = (pid_t)child;
  }
}

static void add_children(pids_t* pids, pid_t pid) {
  char path[64];
  tbk_print(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR* threads = opendir(path);
  if (threads == NULL) return;
  for (struct dirent* entry; (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.') add_children_of_thread(pids, pid, entry->d_name);
  (void)closedir(threads);
}

size_t tbk_tree(pid_t root, const pid_t* skip, size_t skip_count, pid_t* out_pids,
                size_t capacity) {
  pids_t pids = {out_pids, 0, capacity, skip, skip_count};
  add_children(&pids, root);
  for (size_t i = 0; i < pids.count; i++) /* it grows meanwhile */
    add_children(&pids, pids.items[i]);
  return pids.count;
}

bool tbk_tree_is_told(void) {
  char path[64];
  tbk_print(path, sizeof path, "/proc/self/task/%d/children", (int)gettid());
  return access(path, R_OK) == 0;
}

bool tbk_resident_is_told(void) {
  return access("/proc/self/statm", R_OK) == 0;
}

bool tbk_is_stopped(pid_t pid) {
  char path[64], text[512];
  tbk_print(path, sizeof path, "/proc/%d/stat", (int)pid);
  if (read_file(path, text, sizeof text) <= 0) return false;
  const char* after_name = strrchr(text, ')'); /* the name may hold anything, brackets too */
  if (after_name == NULL || after_name[1] == '\0') return false;
  return after_name[2] == 'T' || after_name[2] == 't';
}

uint64_t tbk_resident(pid_t pid) {
  char path[64], text[128];
  unsigned long long pages = 0;
  if (pid <= 0) return 0;
  tbk_print(path, sizeof path, "/proc/%d/statm", (int)pid);
  if (read_file(path, text, sizeof text) <= 0 || sscanf(text, "%*u %llu", &pages) != 1) return 0;
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t tbk_resident_share(pid_t pid) {
  char path[64], text[4096];
  unsigned long long kib = 0;
  tbk_print(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
  if (read_file(path, text, sizeof text) <= 0) return tbk_resident(pid);
  const char* line = strstr(text, "\nPss:");
  if (line == NULL || sscanf(line, "\nPss: %llu", &kib) != 1) return tbk_resident(pid);
  return kib * 1024;
}

static void add_thread_time(tbk_processor_time_t* sum, pid_t pid, const char* thread) {
  char path[96], text[96];
  unsigned long long used = 0, waited = 0;
  tbk_print(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)pid, thread);
  if (read_file(path, text, sizeof text) <= 0) return;
  if (sscanf(text, "%llu %llu", &used, &waited) != 2) return;
  sum->used_ns += used;
  sum->waited_ns += waited;
}

tbk_processor_time_t tbk_processor_time(const pid_t* pids, size_t count) {
  tbk_processor_time_t sum = {0, 0};
  for (size_t i = 0; i < count; i++) {
    char path[64];
    tbk_print(path, sizeof path, "/proc/%d/task", (int)pids[i]);
    DIR* threads = opendir(path);
    if (threads == NULL) continue;
    for (struct dirent* entry; (entry = readdir(threads)) != NULL;)
      if (entry->d_name[0] != '.') add_thread_time(&sum, pids[i], entry->d_name);
    (void)closedir(threads);
  }
  return sum;
}
