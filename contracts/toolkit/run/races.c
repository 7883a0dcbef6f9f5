/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ThreadSanitizer calls __tsan_on_report for each report, with locks of its own held. So what a
 * report says is only copied there, and told after the test, when its symbols can be looked up.
 */
#include "races.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "resources.h"

enum { ACCESSES = 2, FRAMES = 12, PLACE = 160 };

/* The runtime's own interface, as its sanitizer/tsan_interface.h has it; looked up, as it may be absent. */
typedef int (*report_data_fn)(void* report, const char** kind, int* count, int* stacks,
                              int* accesses, int* locations, int* mutexes, int* threads,
                              int* unique_threads, void** trace, unsigned long trace_size);
typedef int (*report_access_fn)(void* report, unsigned long index, int* thread, void** address,
                                int* size, int* write, int* atomic, void** trace,
                                unsigned long trace_size);
typedef void (*symbolize_fn)(void* pc, const char* format, char* out, size_t out_size);

static report_data_fn report_data;
static report_access_fn report_access;

static atomic_uint reports;
static struct {
  char kind[48];
  int writes[ACCESSES];
  void* frames[ACCESSES][FRAMES];
} first;

#if defined(__SANITIZE_THREAD__)
#define UNWATCHED __attribute__((no_sanitize_thread))
#else
#define UNWATCHED
#endif

__attribute__((visibility("default"))) void __tsan_on_report(void* report);

UNWATCHED void __tsan_on_report(void* report) {
  const char* kind = NULL;
  void *trace[1], *address;
  int unused[7], thread, size, atomic;
  if (atomic_fetch_add(&reports, 1) != 0 || report_data == NULL || report_access == NULL) return;
  report_data(report, &kind, &unused[0], &unused[1], &unused[2], &unused[3], &unused[4], &unused[5],
              &unused[6], trace, 1);
  for (size_t i = 0; kind != NULL && kind[i] != '\0' && i + 1 < sizeof first.kind; i++)
    first.kind[i] = kind[i];
  for (unsigned long i = 0; i < ACCESSES && i < (unsigned long)unused[2]; i++)
    report_access(report, i, &thread, &address, &size, &first.writes[i], &atomic, first.frames[i],
                  FRAMES);
}

bool tbk_races_are_watched(void) {
  return dlsym(RTLD_DEFAULT, "__tsan_get_report_data") != NULL;
}

void tbk_races_begin(void) {
  if (report_data == NULL) {
    *(void**)&report_data = dlsym(RTLD_DEFAULT, "__tsan_get_report_data");
    *(void**)&report_access = dlsym(RTLD_DEFAULT, "__tsan_get_report_mop");
  }
  memset(&first, 0, sizeof first);
  atomic_store(&reports, 0);
}

/* The function, file and line, of the innermost frame outside of this program and of the runtime. */
static void place_of(void* const frames[FRAMES], char out[PLACE]) {
  symbolize_fn symbolize;
  Dl_info own, info;
  *(void**)&symbolize = dlsym(RTLD_DEFAULT, "__sanitizer_symbolize_pc");
  snprintf(out, PLACE, "an unknown place");
  if (symbolize == NULL || dladdr((void*)(uintptr_t)tbk_races_check, &own) == 0) return;
  for (size_t i = 0; i < FRAMES && frames[i] != NULL; i++) {
    if (dladdr(frames[i], &info) == 0 || info.dli_fbase == own.dli_fbase) continue;
    const char* name = info.dli_fname != NULL ? strrchr(info.dli_fname, '/') : NULL;
    if (name != NULL && strstr(name, "tsan") != NULL) continue;
    symbolize(frames[i], "%f (%S)", out, PLACE);
    return;
  }
}

void tbk_races_check(void) {
  char places[ACCESSES][PLACE];
  const unsigned count = atomic_load(&reports);
  if (count == 0) return;
  TBK_CHECKS("THR-001");
  for (int i = 0; i < ACCESSES; i++)
    place_of(first.frames[i], places[i]);
  tbk_record_failure(TBK_HERE("ThreadSanitizer"), "threads touch shared data one after the other",
                     "%s: a %s in %s, a %s in %s; %u report%s", first.kind,
                     first.writes[0] ? "write" : "read", places[0],
                     first.writes[1] ? "write" : "read", places[1], count, count == 1 ? "" : "s");
}
