/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-bench-litmus: how many litmus programs a second and core, and what the interface itself takes.
 *
 *   tbk-bench-litmus LIB [OPTIONS]
 *
 * Programs are drawn, run and judged as tbk-litmus does it, in rounds that alternate with a raw loop:
 * fills, records, waits and downloads on streams and events that stay, twenty-four calls and then one
 * that waits for all. Times are processor time, medians of the rounds. Prints one JSON object:
 *
 *   programs_per_second     as they are drawn, about thirty-one calls each
 *   programs24_per_second   the same calls, in programs of twenty-four
 *   raw24_per_second        of the raw loop
 *   interface24_per_second  of programs of twenty-four, if nothing took time but the library's side of
 *                           their calls, and of those by which they make what they name, look at it
 *                           and give it back: there is no more to be had on this library
 *   interface_share         of the time of a program
 *   ratio                   how many times as long as the raw loop a program of twenty-four takes
 *   generate_ns, run_ns, judge_ns   of one program
 *   interface_ns            of run_ns: the same programs on a library that does nothing take the rest
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "execute.h"
#include "nothing.h"

enum { ROUNDS = 9, BATCH = 16, PROGRAMS = 10000, CALLS = 24, CELL_BYTES = 64 };

static uint64_t used_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values) {
  qsort(values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
}

static void must(tbk_status_t status, const char* what) {
  if (status == TBK_OK) return;
  (void)fprintf(stderr, "%s fails: %s\n", what, tbk_status_name(status));
  exit(EXIT_FAILURE);
}

/* ------------------------------------------------------------------------------------ raw loop -- */

typedef struct raw {
  tbk_stream_t* streams[LITMUS_STREAMS];
  tbk_event_t* events[LITMUS_STREAMS];
  tbk_memory_t cells[LITMUS_STREAMS];
  uint8_t slots[LITMUS_STREAMS][CELL_BYTES];
} raw_t;

static void make_raw(litmus_runner_t* r, raw_t* raw) {
  for (int i = 0; i < LITMUS_STREAMS; i++) {
    must(r->stream->stream_create(r->self, 0, 0, &raw->streams[i], NULL), "stream_create");
    must(r->event->event_create(r->self, 0, 0, &raw->events[i], NULL), "event_create");
    must(r->core->memory_alloc(r->self, 0, CELL_BYTES, &raw->cells[i], NULL), "memory_alloc");
  }
}

static void free_raw(litmus_runner_t* r, raw_t* raw) {
  for (int i = 0; i < LITMUS_STREAMS; i++) {
    r->stream->stream_destroy(r->self, raw->streams[i]);
    r->event->event_destroy(r->self, raw->events[i]);
    must(r->core->memory_free(r->self, 0, raw->cells[i], NULL), "memory_free");
  }
}

/* Four calls for each of six. */
static void run_raw(litmus_runner_t* r, raw_t* raw) {
  for (int i = 0; i < CALLS / 4; i++) {
    const int a = i % LITMUS_STREAMS, b = (i + 1) % LITMUS_STREAMS;
    must(r->core->fill(r->self, 0, raw->cells[a], 0, 1, CELL_BYTES, raw->streams[a], NULL), "fill");
    must(r->event->event_record(r->self, raw->events[a], raw->streams[a], NULL), "event_record");
    must(r->event->event_wait(r->self, raw->streams[b], raw->events[a], NULL), "event_wait");
    must(r->core->download(r->self, 0, raw->slots[a], raw->cells[a], 0, CELL_BYTES, raw->streams[b],
                           NULL),
         "download");
  }
  must(r->stream->device_synchronize(r->self, 0, NULL), "device_synchronize");
}

static double time_raw(litmus_runner_t* r) {
  raw_t raw;
  make_raw(r, &raw);
  const uint64_t from = used_ns();
  for (int i = 0; i < PROGRAMS; i++)
    run_raw(r, &raw);
  const uint64_t until = used_ns();
  free_raw(r, &raw);
  return (double)(until - from) / PROGRAMS;
}

/* ------------------------------------------------------------------------------------ programs -- */

/* Of one program, in nanoseconds; and of one call. */
enum { GENERATE, NOTHING, RUN, RUN_AND_JUDGE, WHOLE, OF_24, RAW, INTERFACE, RATIO, FIGURES };

typedef struct batch {
  litmus_program_t programs[BATCH];
  litmus_model_t models[BATCH];
  uint64_t calls;
} batch_t;

static uint64_t generate_all(batch_t* batch, const litmus_offers_t* offers, uint64_t first) {
  const uint64_t from = used_ns();
  for (uint64_t i = 0; i < BATCH; i++)
    litmus_generate(&batch->programs[i], offers, 1, first + i, &batch->models[i]);
  const uint64_t until = used_ns();
  for (int i = 0; i < BATCH; i++)
    batch->calls += batch->programs[i].count;
  return until - from;
}

static uint64_t run_all(litmus_runner_t* r, batch_t* batch, bool judges) {
  litmus_result_t result;
  litmus_seen_t seen;
  const uint64_t from = used_ns();
  for (int i = 0; i < BATCH; i++) {
    litmus_run(r, &batch->programs[i], &result, &seen);
    if (judges) litmus_result_judge(&batch->programs[i], &seen, &result, &batch->models[i], true);
    if (result.outcome == LITMUS_RIGHT || result.outcome == LITMUS_NO_ROOM) continue;
    (void)fprintf(stderr, "the device is broken: no figures\n");
    exit(EXIT_FAILURE);
  }
  return used_ns() - from;
}

static uint64_t run_on_nothing(litmus_runner_t* r, batch_t* batch) {
  bench_library_t library;
  bench_take_out(r, &library);
  const uint64_t spent = run_all(r, batch, false);
  bench_put_back(r, &library);
  return spent;
}

static void time_programs(litmus_runner_t* r, const litmus_offers_t* offers, uint64_t first,
                          double* out) {
  static batch_t batch;
  uint64_t spent[WHOLE] = {0};
  batch.calls = 0;
  for (uint64_t i = 0; i < PROGRAMS; i += BATCH) {
    spent[GENERATE] += generate_all(&batch, offers, first + i);
    spent[NOTHING] += run_on_nothing(r, &batch);
    spent[RUN] += run_all(r, &batch, false);
    spent[RUN_AND_JUDGE] += run_all(r, &batch, true);
  }
  for (int part = 0; part < WHOLE; part++)
    out[part] = (double)spent[part] / PROGRAMS;
  out[WHOLE] = out[GENERATE] + out[RUN_AND_JUDGE];
  out[OF_24] = out[WHOLE] * PROGRAMS * CALLS / (double)batch.calls;
  out[INTERFACE] = out[RUN] - out[NOTHING];
}

int main(int argc, char** argv) {
  litmus_progress_t progress = {.patience_ns = UINT64_C(10000000000)};
  litmus_offers_t offers;
  char reason[512];
  int load, status;
  double seen[FIGURES][ROUNDS], of_round[FIGURES];
  if (argc < 2) return (void)fprintf(stderr, "usage: %s LIB [OPTIONS]\n", argv[0]), 2;
  litmus_runner_t* r = litmus_runner_open(argv[1], argc > 2 ? argv[2] : NULL, &progress, reason,
                                          sizeof reason, &load, &status);
  if (r == NULL) return (void)fprintf(stderr, "%s\n", reason), EXIT_FAILURE;
  if (!litmus_runner_offers(r, &offers) || !offers.fill)
    return (void)fprintf(stderr, "the library lacks streams, events or fills\n"), EXIT_FAILURE;
  for (int round = 0; round < ROUNDS; round++) {
    of_round[RAW] = time_raw(r);
    time_programs(r, &offers, (uint64_t)round * PROGRAMS, of_round);
    of_round[RATIO] = of_round[OF_24] / of_round[RAW];
    for (int figure = 0; figure < FIGURES; figure++)
      seen[figure][round] = of_round[figure];
  }
  printf("{\"programs_per_second\":%.0f,\"programs24_per_second\":%.0f,\"raw24_per_second\":%.0f,",
         1e9 / median(seen[WHOLE]), 1e9 / median(seen[OF_24]), 1e9 / median(seen[RAW]));
  const double interface = median(seen[INTERFACE]), whole = median(seen[WHOLE]);
  printf("\"interface24_per_second\":%.0f,\"interface_share\":%.2f,",
         1e9 / (interface * median(seen[OF_24]) / whole), interface / whole);
  printf("\"ratio\":%.2f,\"generate_ns\":%.0f,\"run_ns\":%.0f,\"judge_ns\":%.0f,",
         median(seen[RATIO]), median(seen[GENERATE]), median(seen[RUN]),
         median(seen[RUN_AND_JUDGE]) - median(seen[RUN]));
  printf("\"interface_ns\":%.0f}\n", interface);
  litmus_runner_close(r);
  return 0;
}
