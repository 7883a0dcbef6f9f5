/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shard.c: see shard.h.
 */
#include "shard.h"

#include "regular.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------------- old results --- */

static const char* text_of(const json_t* object, const char* key) {
  const char* text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static json_int_t time_of(const json_t* record, const char* key) {
  const json_int_t value = json_integer_value(json_object_get(record, key));
  const json_int_t most = INT64_MAX >> 20; /* a sum of a million of them is still a number */
  return value < 0 ? 0 : value > most ? most : value;
}

static void take_header(tbk_timings_t* timings, const json_t* header) {
  const json_int_t jobs = json_integer_value(json_object_get(header, "jobs"));
  if (timings->jobs == 0 && jobs > 0 && jobs <= 1024) timings->jobs = (uint32_t)jobs;
}

static void take(tbk_timings_t* timings, const json_t* record) {
  const char* id = text_of(record, "id");
  if (strcmp(text_of(record, "record"), "header") == 0) take_header(timings, record);
  if (strcmp(text_of(record, "record"), "test") != 0 || *id == '\0') return;
  const json_t* facts = json_object_get(record, "facts");
  const json_int_t programs = time_of(json_object_get(facts, "footer"), "milliseconds");
  json_int_t spent = time_of(record, "wall_ns");
  if (spent == 0) spent = time_of(record, "duration_ns");
  if (strcmp(text_of(record, "layer"), "litmus") == 0)
    timings->first_ns += (uint64_t)programs * UINT64_C(1000000);
  else
    (void)json_object_set_new(
        timings->wall_ns, id,
        json_integer(spent + json_integer_value(json_object_get(timings->wall_ns, id))));
}

bool tbk_timings_read(tbk_timings_t* out, const char* path, char* reason, size_t reason_size) {
  char* line = NULL;
  size_t capacity = 0;
  ssize_t length = 0;
  FILE* file = tbk_open_regular(path);
  *out = (tbk_timings_t){.wall_ns = json_object()};
  errno = file != NULL ? 0 : errno;
  while (file != NULL && (length = getline(&line, &capacity, file)) > 0) {
    json_t* record = json_loadb(line, (size_t)length, 0, NULL);
    take(out, record);
    json_decref(record);
  }
  const int error = file == NULL || ferror(file) ? errno : 0;
  free(line);
  if (file != NULL) (void)fclose(file);
  const bool found = json_object_size(out->wall_ns) > 0;
  if (!found)
    tbk_print(reason, reason_size, "%s",
              error == EBADF ? "not a regular file"
              : error != 0   ? strerror(error)
                             : "it holds no test");
  return found;
}

void tbk_timings_free(tbk_timings_t* timings) {
  json_decref(timings->wall_ns);
  *timings = (tbk_timings_t){0};
}

/* ----------------------------------------------------------------------------------- division --- */

typedef struct weighed {
  double cost;
  size_t at;
} weighed_t;

static double beside(const tbk_timings_t* timings) {
  return timings->jobs > 0 ? timings->jobs : 1;
}

/* The costliest first; of equal ones, in their order. */
static int compare(const void* one, const void* other) {
  const weighed_t *a = one, *b = other;
  if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
  return a->at < b->at ? -1 : 1;
}

static weighed_t* weigh(const tbk_sharded_t* of, size_t count, const tbk_timings_t* timings) {
  weighed_t* tests = calloc(count + 1, sizeof *tests);
  double sum = 0;
  size_t known = 0;
  if (tests == NULL) abort();
  for (size_t i = 0; i < count; i++) {
    const json_t* spent = json_object_get(timings->wall_ns, of[i].id);
    tests[i] = (weighed_t){spent != NULL ? (double)json_integer_value(spent) : -1, i};
    if (spent == NULL) continue;
    sum += tests[i].cost;
    known++;
  }
  const double mean = sum > 0 ? sum / (double)known : 1, least = mean / 1000;
  for (size_t i = 0; i < count; i++)
    tests[i].cost = (tests[i].cost < 0       ? mean
                     : tests[i].cost < least ? least
                                             : tests[i].cost) *
                    (of[i].alone ? beside(timings) : 1);
  qsort(tests, count, sizeof *tests, compare);
  return tests;
}

static uint32_t least_busy(const double* loads, uint32_t count) {
  uint32_t found = 0;
  for (uint32_t i = 1; i < count; i++)
    if (loads[i] < loads[found]) found = i;
  return found;
}

void tbk_shard_by_time(const tbk_sharded_t* of, size_t count, const tbk_timings_t* timings,
                       uint32_t shard_count, uint32_t* out_shards) {
  weighed_t* tests = weigh(of, count, timings);
  /* No more shards than tests get one, but for a first one that has enough to do. */
  const uint32_t used = shard_count <= count ? shard_count : (uint32_t)count + 1;
  double* loads = calloc((size_t)used + 1, sizeof *loads);
  if (loads == NULL) abort();
  loads[0] = (double)timings->first_ns * beside(timings);
  for (size_t i = 0; i < count; i++) {
    const uint32_t shard = least_busy(loads, used);
    loads[shard] += tests[i].cost;
    out_shards[tests[i].at] = shard;
  }
  free(loads);
  free(tests);
}
