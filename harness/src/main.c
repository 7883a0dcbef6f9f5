/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-run: judges one accelerator backend by the contract tests.
 */
#include "child.h"
#include "clock.h"
#include "fork_server.h"
#include "preflight.h"
#include "resume.h"
#include "run.h"
#include "summary.h"
#include "text.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

static uint32_t job_count(const tbk_run_t* run) {
  uint32_t jobs = run->options->jobs != 0 ? run->options->jobs : cores();
  if (jobs > run->plan.item_count) jobs = (uint32_t)run->plan.item_count;
  return jobs > 0 ? jobs : 1;
}

static tbk_exit_t refuse_results(const tbk_run_t* run, int error) {
  const char* why = error == EWOULDBLOCK ? "another run is writing it" : strerror(error);
  tbk_complain("%s: results could not be written: %s", run->options->output, why);
  return TBK_EXIT_RESULTS;
}

/* Not PASS: there is no plan, and why. */
static tbk_exit_t prepare(tbk_run_t* run, char* reason, size_t reason_size) {
  tbk_source_t source = {0};
  tbk_exit_t exit_code = TBK_EXIT_PASS;
  if (run->options->torch) exit_code = tbk_fork_server_start(run->options, reason, reason_size);
  if (exit_code == TBK_EXIT_PASS)
    source = run->options->torch ? tbk_fork_server_tests() : tbk_plan_cases();
  tbk_plan_make(&run->plan, run->options, &source);
  run->ledger.planned = run->plan.item_count;
  run->recorded = calloc(run->plan.item_count + 1, 1);
  run->first = calloc(run->plan.test_count + 1, 1);
  if (run->recorded == NULL || run->first == NULL) abort();
  return exit_code;
}

/* A run that can't start still leaves a header and a footer that say why. */
static tbk_exit_t refuse(tbk_run_t* run, tbk_exit_t exit_code, const char* reason,
                         bool has_header) {
  tbk_footer_t footer = {&run->ledger, exit_code, NULL, reason, 0, run->options->tier};
  if (!has_header)
    tbk_record_header(&run->results, run->options, &run->plan, &run->facts, TBK_ISOLATION_FORK);
  tbk_record_footer(&run->results, &footer);
  tbk_complain("%s", reason);
  if (!tbk_results_close(&run->results)) return refuse_results(run, run->results.error);
  tbk_summary_print(run, exit_code, reason, 0);
  return exit_code;
}

static tbk_exit_t nothing_selected(tbk_run_t* run) {
  char reason[256];
  if (run->plan.unmatched != NULL && run->plan.other_tier)
    tbk_print(reason, sizeof reason,
              "nothing selected: what '%s' names is of the thorough tier; see --tier",
              run->plan.unmatched);
  else if (run->plan.unmatched != NULL)
    tbk_print(reason, sizeof reason, "nothing selected: '%s' names no test", run->plan.unmatched);
  else
    tbk_print(reason, sizeof reason, "nothing selected: shard %u of %u is empty",
              run->options->shard_index, run->options->shard_count);
  return refuse(run, TBK_EXIT_NOTHING, reason, false);
}

static bool is_capability(const tbk_options_t* options, const char* word) {
  const json_t* words = json_object_get(tbk_fork_server_suite(), "words");
  if (!options->torch) return tbk_needs_known(word) && word[0] != '!';
  for (size_t i = 0; i < json_array_size(words); i++)
    if (strcmp(json_string_value(json_array_get(words, i)), word) == 0) return true;
  return false;
}

static const char* unknown_requirement(const tbk_options_t* options) {
  for (size_t i = 0; i < options->require.count; i++)
    if (!is_capability(options, options->require.items[i])) return options->require.items[i];
  return NULL;
}

static void tell_in_flight(const tbk_run_t* run) {
  uint32_t items[16];
  size_t count = tbk_journal_read(run->options->output, items, 16);
  for (size_t i = 0; i < count; i++)
    if (items[i] < run->plan.item_count && !run->options->quiet)
      tbk_complain("%s was running when the last run ended; it runs again",
                   run->plan.tests[run->plan.items[items[i]].test].id);
}

/* Several tests in one process where opening the device costs more than a test does. */
static tbk_isolation_t choose_isolation(const tbk_run_t* run) {
  const uint64_t cheap_ns = UINT64_C(50000000);
  if (run->options->isolation != TBK_ISOLATION_AUTO) return run->options->isolation;
  return run->facts.open_ns > cheap_ns ? TBK_ISOLATION_BATCH : TBK_ISOLATION_FORK;
}

/* Not NULL: the device itself is a finding, whatever the tests say. */
static const char* fault_of_device(tbk_run_t* run) {
  if (run->lost) return run->held ? run->lease : run->health;
  if (run->lost_before[0] != '\0') /* it was found, however well it goes now */
    tbk_print(run->health, sizeof run->health, "%s", run->lost_before);
  return run->lost_before[0] != '\0' || !run->facts.sound ? run->health : NULL;
}

static tbk_exit_t conclude(tbk_run_t* run, uint64_t started_ns) {
  tbk_exit_t exit_code = tbk_ledger_exit(&run->ledger);
  const char* reason = fault_of_device(run);
  if (reason != NULL && (exit_code == TBK_EXIT_PASS || exit_code == TBK_EXIT_NOTHING))
    exit_code = TBK_EXIT_FINDINGS;
  else if (exit_code == TBK_EXIT_NOTHING)
    reason =
        run->ledger.counts[TBK_VERDICT_LEFT_OUT] > 0
            ? "nothing was executed: the budget was over"
            : "nothing was executed: the library declares nothing that the selected tests need";
  if (tbk_loop_interrupted() != 0) {
    exit_code = TBK_EXIT_INTERRUPTED;
    reason = "interrupted; --resume goes on";
  }
  tbk_footer_t footer = {
      &run->ledger, exit_code, run->health, reason, tbk_now_ns() - started_ns, run->options->tier};
  tbk_record_footer(&run->results, &footer);
  if (!tbk_results_close(&run->results)) return refuse_results(run, run->results.error);
  if (exit_code != TBK_EXIT_INTERRUPTED) tbk_journal_remove(&run->journal);
  tbk_summary_print(run, exit_code, reason, footer.duration_ns);
  return exit_code;
}

static tbk_exit_t run_tests(tbk_run_t* run, bool has_header) {
  const uint64_t started_ns = tbk_now_ns();
  if (run->options->torch)
    tbk_preflight_torch(&run->loop, run->options, &run->facts);
  else
    tbk_preflight(&run->loop, run->options, &run->facts);
  if (run->facts.exit_code != TBK_EXIT_PASS) {
    tbk_loop_stop(&run->loop);
    tbk_journal_remove(&run->journal);
    return refuse(run, run->facts.exit_code, run->facts.reason, has_header);
  }
  if (run->facts.exclusive) run->loop.jobs = 1;
  run->isolation = choose_isolation(run);
  if (!has_header)
    tbk_record_header(&run->results, run->options, &run->plan, &run->facts, run->isolation);
  tbk_supervise(run);
  tbk_loop_stop(&run->loop);
  return conclude(run, started_ns);
}

static tbk_exit_t start(tbk_run_t* run, bool has_header) {
  const uint32_t jobs = job_count(run);
  if (!tbk_journal_open(&run->journal, run->results.regular ? run->options->output : NULL,
                        tbk_loop_slots(jobs)))
    return refuse_results(run, errno);
  const tbk_launchers_t* launchers = &tbk_child_launchers;
  if (run->options->torch) {
    launchers = &tbk_fork_server_launchers;
    tbk_fork_server_tell(&run->plan, NULL, false);
  } else if (!tbk_child_prepare(run->options, &run->plan)) {
    return refuse(run, TBK_EXIT_SUITE, "the tests could not be registered", has_header);
  }
  if (!tbk_loop_start(&run->loop, &run->journal, jobs, launchers))
    return refuse(run, TBK_EXIT_SUITE, "no process could be started", has_header);
  return run_tests(run, has_header);
}

static tbk_exit_t resume(tbk_run_t* run) {
  tbk_resume_t resume;
  tbk_resume_read(&resume, run->options->output, run->options, &run->plan, run->recorded,
                  run->first, &run->ledger);
  if (resume.reason[0] != '\0') {
    tbk_complain("%s: cannot resume: %s; without --resume it begins anew", run->options->output,
                 resume.reason);
    return TBK_EXIT_USAGE;
  }
  if (resume.complete) {
    tbk_summary_print(run, resume.exit_code, "was complete already", 0);
    return resume.exit_code;
  }
  tell_in_flight(run);
  tbk_print(run->lost_before, sizeof run->lost_before, "%s", resume.lost);
  bool goes_on = tbk_results_continue(&run->results, resume.lines, resume.size, resume.scattered);
  free(resume.lines);
  if (!goes_on) return refuse_results(run, errno);
  return start(run, resume.has_header);
}

int main(int argc, char** argv) {
  static tbk_options_t options;
  static tbk_run_t run = {.options = &options};
  char reason[1024] = "";
  run.started_ns = tbk_now_ns();
  tbk_options_parse(&options, argc, argv);
  tbk_exit_t exit_code = prepare(&run, reason, sizeof reason);
  const char* unknown = exit_code == TBK_EXIT_PASS ? unknown_requirement(&options) : NULL;
  if (unknown != NULL) {
    tbk_complain("--require: '%s' is no capability", unknown);
    return TBK_EXIT_USAGE;
  }
  if (options.list && exit_code != TBK_EXIT_PASS) {
    tbk_complain("%s", reason);
    return exit_code;
  }
  if (options.list && run.plan.unmatched == NULL && run.plan.test_count > 0) {
    tbk_plan_print(&run.plan);
    return TBK_EXIT_PASS;
  }
  if (!tbk_results_open(&run.results, options.output, options.resume && exit_code == TBK_EXIT_PASS))
    return refuse_results(&run, errno);
  if (exit_code != TBK_EXIT_PASS) return refuse(&run, exit_code, reason, false);
  if (run.plan.unmatched != NULL || run.plan.test_count == 0) return nothing_selected(&run);
  return options.resume && run.results.regular ? resume(&run) : start(&run, false);
}
