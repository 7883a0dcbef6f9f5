/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * bench.h: a driver without an interface before it, as a program would call it that knows nothing else.
 */
#ifndef DRIVER_BENCH_H
#define DRIVER_BENCH_H

#include <emit/job.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bench_driver {
  const char* name; /* of the backend that stands on it */
  const char* api;

  /* Opens its first device, with the options of the backend; false with the reason. */
  bool (*open)(const char* options, char* reason, size_t reason_bytes);
  /* Takes two blocks of device memory of `size_bytes`, numbers 0 and 1, and gives back those before. */
  bool (*take)(size_t size_bytes);
  /* Copy to block 0, from block 0, and from block 0 to block 1; complete on return. */
  bool (*upload)(const void* from, size_t size_bytes);
  bool (*download)(void* to, size_t size_bytes);
  bool (*copy)(size_t size_bytes);
  /* Gets the kernel of a job that writes to block 0, compiled. */
  bool (*prepare)(const emit_job_t* job);
  /* Launches the job so many times; complete on return. */
  bool (*launch)(const emit_job_t* job, int times);
  void (*close)(void);
} bench_driver_t;

extern const bench_driver_t bench_cuda, bench_opencl;

/* Copies the value of KEY=VALUE in the options of a backend; false where there is none. */
bool bench_option(const char* options, const char* key, char* out, size_t out_bytes);

#endif /* DRIVER_BENCH_H */
