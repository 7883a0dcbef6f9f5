/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shrinking_test.c: what is told of a finding, on devices that are simulated, in a time that is
 * simulated: how often it showed, how it ends, and what it needs. And what runs between its tries
 * is defined.
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "motif.h"
#include "shrink.h"
#include "worker.h"

static int faults;

static void check(bool holds, const char* what, const char* about, double seconds) {
  if (holds) return;
  printf("FAULT: %s: %s (%g s)\n", about, what, seconds);
  faults++;
}

/* -------------------------------------------------------------------------------- the device -- */

static uint64_t now_ns, random_state, enough_ns; /* no more runs of a process from then on */
static hunt_shared_t memory;
volatile int hunt_interrupted;

/* How one process ends; adds to `now_ns` how long it took. */
typedef litmus_outcome_t device_t(const hunt_subject_t* subject, const litmus_program_t* program,
                                  unsigned repeats);
static device_t* device;
enum { NOBODY = 0xEE, MOST_REPEATS = 200000 };
static uint32_t last_count;
static uint64_t last_bytes;
static unsigned runs[MOST_REPEATS + 1]; /* processes that ran such a program, by repeats */

uint64_t tbk_now_ns(void) {
  return now_ns;
}

hunt_shared_t* hunt_share(void) {
  memory.offers.granularity = 1;
  return &memory;
}

/* All that is wrong is what nobody wrote, in the first look. */
static litmus_result_t result_of(litmus_outcome_t outcome) {
  return (litmus_result_t){.outcome = outcome, .wrong = {.other = LITMUS_READS, .value = NOBODY}};
}

hunt_state_t hunt_one(const hunt_subject_t* subject, const litmus_program_t* program,
                      unsigned repeats, uint64_t until_ns, hunt_shared_t* shared) {
  enough_ns = until_ns;
  shared->runs = repeats;
  const litmus_outcome_t outcome = device(subject, program, repeats);
  if (last_count != program->count || last_bytes != program->size_bytes)
    memset(runs, 0, sizeof runs);
  last_count = program->count;
  last_bytes = program->size_bytes;
  runs[repeats]++;
  shared->result = result_of(outcome);
  return outcome == LITMUS_RIGHT ? HUNT_OVER : HUNT_FOUND;
}

static void pass(double seconds) {
  now_ns += (uint64_t)(seconds * 1e9);
}

static bool is_drawn(double chance) {
  return (double)(litmus_random(&random_state) >> 11) / 9007199254740992.0 < chance;
}

static shrunk_t shrink_program(device_t* on, const litmus_program_t* program,
                               litmus_outcome_t outcome, double seconds) {
  static shrunk_t out;
  const hunt_subject_t subject = {.call_timeout_s = 20};
  const litmus_result_t result = result_of(outcome);
  device = on;
  memset(runs, 0, sizeof runs);
  shrink(&subject, program, &result, seconds, &out);
  return out;
}

static shrunk_t shrink_on(device_t* on, double seconds) {
  litmus_program_t program = {.threads = 1, .parts = 1, .devices = 1, .size_bytes = 64, .count = 2};
  for (uint8_t i = 0; i < program.count; i++)
    program.calls[i] = (litmus_call_t){.op = LITMUS_DEVICE_SYNCHRONIZE, .id = i};
  return shrink_program(on, &program, LITMUS_CRASHED, seconds);
}

/* ----------------------------------------------------------------------------------- replays -- */

static litmus_outcome_t six_of_ten(const hunt_subject_t* subject, const litmus_program_t* program,
                                   unsigned repeats) {
  (void)subject;
  (void)program;
  pass(0.2);
  bool shown = false;
  for (unsigned i = 0; i < repeats && !shown; i++)
    shown = is_drawn(0.6);
  return shown ? LITMUS_CRASHED : LITMUS_RIGHT;
}

static void replays_that_were_made_are_told(void) {
  unsigned told = 0;
  for (unsigned round = 0; round < 200; round++) {
    const shrunk_t out = shrink_on(six_of_ten, 6);
    check(out.replays > 0, "none of its replays is told", "six of ten", 6);
    check(out.shown > 0, "it is told as one that was not seen again", "six of ten", 6);
    if (out.repeats != 4) continue; /* other numbers of them stand for two ways */
    told++;                         /* one more run may be why the program is the smallest */
    check(runs[4] - out.replays <= 1, "not all replays count", "six of ten", 6);
  }
  check(told > 20, "is seldom told so", "four tries", 6);
}

static litmus_outcome_t one_of_many(const hunt_subject_t* subject, const litmus_program_t* program,
                                    unsigned repeats) {
  (void)subject;
  (void)program;
  bool shown = false;
  for (unsigned i = 0; i < repeats && !shown && (i == 0 || now_ns < enough_ns); i++) {
    memory.runs = i + 1;
    pass(4e-5);
    shown = is_drawn(1e-4);
  }
  return shown ? LITMUS_CRASHED : LITMUS_RIGHT;
}

static void what_is_rare_is_seen_again(void) {
  const double seconds = 60;
  const shrunk_t out = shrink_on(one_of_many, seconds);
  check(out.program.count == 0, "is not made smaller", "one of ten thousand", seconds);
  check(out.shown == 20 && out.replays == 20, "is not seen each time", "one of ten thousand",
        seconds);
}

/* A device so slow that the runs of a try never come to their end has time for the others. */
static litmus_outcome_t slow_and_rare(const hunt_subject_t* subject,
                                      const litmus_program_t* program, unsigned repeats) {
  (void)subject;
  (void)program;
  for (unsigned i = 0; i < repeats && (i == 0 || now_ns < enough_ns); i++) {
    memory.runs = i + 1;
    pass(0.2);
  }
  return LITMUS_RIGHT;
}

static void no_try_takes_the_time_of_all_others(void) {
  const uint64_t began_ns = now_ns;
  const shrunk_t out = shrink_on(slow_and_rare, 60);
  check(out.shown == 0, "is told as one that was seen again", "a slow device", 60);
  check(now_ns - began_ns < UINT64_C(61000000000), "takes longer than it may", "a slow device", 60);
}

static litmus_outcome_t some_processes(const hunt_subject_t* subject,
                                       const litmus_program_t* program, unsigned repeats) {
  (void)subject;
  (void)program;
  (void)repeats;
  pass(0.01);
  return is_drawn(0.1) ? LITMUS_CRASHED : LITMUS_RIGHT;
}

static void one_miss_does_not_say_that_threads_are_needed(void) {
  litmus_program_t program = {.threads = 2, .parts = 1, .devices = 1, .size_bytes = 64, .count = 1};
  program.calls[0] = (litmus_call_t){.op = LITMUS_DEVICE_SYNCHRONIZE, .thread = 1};
  for (unsigned round = 0; round < 200; round++) {
    const shrunk_t out = shrink_program(some_processes, &program, LITMUS_CRASHED, 60);
    check(!out.needs_threads, "is said to need threads", "some processes", 60);
  }
}

/* Each tenth process shows it, so that one of sixteen does. */
static litmus_outcome_t each_tenth(const hunt_subject_t* subject, const litmus_program_t* program,
                                   unsigned repeats) {
  static unsigned processes;
  (void)subject;
  (void)program;
  (void)repeats;
  pass(0.02);
  return ++processes % 10 == 0 ? LITMUS_CRASHED : LITMUS_RIGHT;
}

static void a_try_that_the_clock_cut_off_is_none(void) {
  unsigned seen = 0;
  for (double seconds = 4; seconds < 12; seconds += 0.1) {
    const shrunk_t out = shrink_on(each_tenth, seconds);
    if (out.processes == 1) continue;
    seen++;
    check(out.shown == out.replays, "a try counts that did not end", "each tenth process", seconds);
  }
  check(seen > 20, "takes no way of several processes", "each tenth process", 0);
}

/* ----------------------------------------------------------------------------------- endings -- */

static litmus_outcome_t slow(const hunt_subject_t* subject, const litmus_program_t* program,
                             unsigned repeats) {
  (void)program;
  (void)repeats;
  const bool in_time = subject->call_timeout_s / 2 > 4;
  pass(in_time ? 4 : subject->call_timeout_s / 2);
  return in_time ? LITMUS_CRASHED : LITMUS_STUCK;
}

static litmus_outcome_t stuck(const hunt_subject_t* subject, const litmus_program_t* program,
                              unsigned repeats) {
  (void)program;
  (void)repeats;
  pass(subject->call_timeout_s / 2);
  return LITMUS_STUCK;
}

static litmus_outcome_t refuses(const hunt_subject_t* subject, const litmus_program_t* program,
                                unsigned repeats) {
  (void)subject;
  (void)program;
  (void)repeats;
  pass(0.01);
  return LITMUS_REFUSED;
}

/* What runs out of the time of an attempt alone ends in no other way. */
static void an_ending_of_the_clock_needs_the_user_s_own_time(void) {
  for (double seconds = 20; seconds < 60; seconds += 10) {
    shrunk_t out = shrink_on(slow, seconds);
    check(out.result.outcome == LITMUS_CRASHED, "ends as it did not", "a slow device", seconds);
    check(out.shown == out.replays && out.shown > 0, "is not seen again", "a slow device", seconds);
    out = shrink_on(stuck, 3 * seconds);
    check(out.result.outcome == LITMUS_STUCK, "is not told", "what is stuck", 3 * seconds);
    check(out.shown > 0, "is not seen again", "what is stuck", 3 * seconds);
    out = shrink_on(refuses, seconds);
    check(out.result.outcome == LITMUS_REFUSED, "is not told", "a refusal", seconds);
  }
}

/* ---------------------------------------------------------------------------------- mistakes -- */

static bool has_mistake(const litmus_program_t* program) {
  for (uint32_t i = 0; i < program->count; i++)
    if (program->calls[i].op == LITMUS_MISTAKE) return true;
  return false;
}

static litmus_outcome_t needs_repeats(const hunt_subject_t* subject,
                                      const litmus_program_t* program, unsigned repeats) {
  (void)subject;
  (void)program;
  pass(0.5);
  return repeats > 1 ? LITMUS_CRASHED : LITMUS_RIGHT;
}

static litmus_outcome_t needs_mistake(const hunt_subject_t* subject,
                                      const litmus_program_t* program, unsigned repeats) {
  (void)subject;
  (void)repeats;
  pass(0.02);
  return has_mistake(program) ? LITMUS_CRASHED : LITMUS_RIGHT;
}

static void only_what_needs_a_mistake_has_one(void) {
  shrunk_t out = shrink_on(needs_repeats, 1.2);
  check(!has_mistake(&out.program), "is told with a mistake", "what needs none", 1.2);
  out = shrink_on(needs_mistake, 6);
  check(has_mistake(&out.program), "is told without one", "what needs a mistake", 6);
  check(out.shown == 20, "is not seen each time", "what needs a mistake", 6);
}

/* ----------------------------------------------------------------------------- the beginning -- */

static bool downloads(const litmus_program_t* program) {
  for (uint32_t i = 0; i < program->count; i++)
    if (program->calls[i].op == LITMUS_DOWNLOAD) return true;
  return false;
}

static litmus_outcome_t late_upload(const hunt_subject_t* subject, const litmus_program_t* program,
                                    unsigned repeats) {
  (void)subject;
  (void)repeats;
  pass(0.02);
  const bool waits = program->calls[0].op == LITMUS_DEVICE_SYNCHRONIZE;
  return downloads(program) && !waits ? LITMUS_WRONG : LITMUS_RIGHT;
}

static litmus_outcome_t bad_download(const hunt_subject_t* subject, const litmus_program_t* program,
                                     unsigned repeats) {
  (void)subject;
  (void)repeats;
  pass(0.02);
  return downloads(program) ? LITMUS_WRONG : LITMUS_RIGHT;
}

static void only_what_a_wait_mends_is_late(void) {
  const litmus_program_t program = {.threads = 1,
                                    .parts = 1,
                                    .devices = 1,
                                    .size_bytes = 64,
                                    .count = 1,
                                    .calls = {{.op = LITMUS_DOWNLOAD}}};
  shrunk_t out = shrink_program(late_upload, &program, LITMUS_WRONG, 6);
  check(out.shown == 20 && out.begins_late, "is not called late", "a late upload", 6);
  out = shrink_program(bad_download, &program, LITMUS_WRONG, 6);
  check(out.shown == 20 && !out.begins_late, "is called late", "a bad download", 6);
}

/* ----------------------------------------------------------------------------------- between -- */

static unsigned between, undefined;

static void look(void* self, const litmus_program_t* program, litmus_result_t* result,
                 litmus_seen_t* seen) {
  static litmus_model_t model;
  const hunt_shared_t* shared = self;
  *result = (litmus_result_t){.outcome = LITMUS_NO_ROOM};
  memset(seen, 0, sizeof *seen);
  if (!shared->is_between) return;
  between++;
  undefined += !litmus_model_build(&model, program, 0, 0, 0) || has_mistake(program);
}

static void what_runs_between_is_defined(void) {
  static hunt_shared_t shared;
  hunt_executor_t executor = {&shared, look, NULL};
  shared.offers = (litmus_offers_t){.devices = 2,
                                    .granularity = 1,
                                    .most_bytes = 4096,
                                    .fill = true,
                                    .kernel = true,
                                    .pinned = true,
                                    .callback = true,
                                    .peer = true,
                                    .async_memory = true,
                                    .cross_device_wait = true,
                                    .threads = LITMUS_THREADS,
                                    .threads_in = 1,
                                    .parts_in = 8,
                                    .races = true};
  shared.program = (litmus_program_t){.devices = 1, .size_bytes = 1, .threads = 1};
  enum { TRIES = 20000 };
  hunt_work_one(&executor, &shared, 1, TRIES, UINT64_MAX);
  check(between > TRIES / 2, "few programs run", "between tries", 0);
  check(undefined == 0, "a program is not defined, or has a mistake", "between tries", 0);
}

int main(void) {
  what_is_rare_is_seen_again();
  no_try_takes_the_time_of_all_others();
  replays_that_were_made_are_told();
  one_miss_does_not_say_that_threads_are_needed();
  a_try_that_the_clock_cut_off_is_none();
  an_ending_of_the_clock_needs_the_user_s_own_time();
  only_what_needs_a_mistake_has_one();
  only_what_a_wait_mends_is_late();
  what_runs_between_is_defined();
  printf("%d faults\n", faults);
  return faults == 0 ? 0 : 1;
}
