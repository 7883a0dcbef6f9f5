/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk-run: judges one accelerator backend by the contract tests.
 */
#include "clock.h"
#include "enough.h"
#include "phase.h"
#include "resume.h"
#include "run.h"
#include "standard_files.h"
#include "summary.h"
#include "text.h"
#include "tree.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_IN_C = 4 };

static uint32_t cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* Tests in C wait a good part of their time, behind gates and for what shall not come: a few more than cores. */
static uint32_t job_count(const tbk_run_t* run) {
  const uint32_t usual = cores() + (run->options->torch ? 0 : MORE_IN_C);
  uint32_t jobs = run->options->jobs != 0 ? run->options->jobs : usual;
  if (jobs > run->recorder.plan.item_count) jobs = (uint32_t)run->recorder.plan.item_count;
  return jobs > 0 ? jobs : 1;
}

static tbk_exit_t refuse_results(const tbk_run_t* run, int error) {
  const char* why = error == EWOULDBLOCK ? "another run is writing it"
                    : error == ESTALE    ? "somebody has removed, replaced or changed it meanwhile"
                    : error == ETIMEDOUT ? "nobody reads it"
                                         : strerror(error);
  tbk_complain("%s: results could not be written: %s", run->options->output, why);
  return TBK_EXIT_RESULTS;
}

/* Not PASS: there is no plan, and why. */
static tbk_exit_t prepare(tbk_run_t* run, char* reason, size_t reason_size) {
  tbk_source_t source = {0};
  tbk_phase_tell(run->options, TBK_PHASE_START);
  tbk_exit_t exit_code = run->kind->start(run->options, reason, reason_size);
  if (exit_code == TBK_EXIT_PASS) source = run->kind->tests();
  tbk_recorder_plan(&run->recorder, &source);
  return exit_code;
}

/* The parts know each other by these pointers alone. */
static void connect(tbk_run_t* run, const tbk_options_t* options) {
  run->options = options;
  run->kind = tbk_kind_of(options);
  run->recorder.options = options;
  run->recorder.facts = &run->facts;
  run->pace = (tbk_pace_t){options, &run->facts, tbk_now_ns(), false, 0};
  run->health = (tbk_health_t){.pace = &run->pace, .loop = &run->loop};
  run->rechecks = (tbk_rechecks_t){
      .recorder = &run->recorder, .pace = &run->pace, .health = &run->health, .loop = &run->loop};
}

/* A run that can't start still leaves a header and a footer that say why. */
static tbk_exit_t refuse(tbk_run_t* run, tbk_exit_t exit_code, const char* reason,
                         bool has_header) {
  tbk_footer_t footer = {
      &run->recorder.ledger,           exit_code, NULL, reason, 0, run->options->tier,
      tbk_facts_simulated(&run->facts)};
  if (!has_header)
    tbk_record_header(&run->recorder.results, run->options, &run->recorder.plan, &run->facts,
                      TBK_ISOLATION_FORK);
  tbk_record_footer(&run->recorder.results, &footer);
  tbk_complain("%s", reason);
  if (!tbk_results_close(&run->recorder.results))
    return refuse_results(run, run->recorder.results.error);
  tbk_summary_print(run, exit_code, reason, 0);
  return exit_code;
}

static tbk_exit_t nothing_selected(tbk_run_t* run) {
  char reason[256];
  if (run->recorder.plan.unmatched != NULL && run->recorder.plan.other_tier)
    tbk_print(reason, sizeof reason,
              "nothing selected: what '%s' names is of the thorough tier; see --tier",
              run->recorder.plan.unmatched);
  else if (run->recorder.plan.unmatched != NULL)
    tbk_print(reason, sizeof reason, "nothing selected: '%s' names no test",
              run->recorder.plan.unmatched);
  else
    tbk_print(reason, sizeof reason, "nothing selected: shard %u of %u is empty",
              run->options->shard_index, run->options->shard_count);
  return refuse(run, TBK_EXIT_NOTHING, reason, false);
}

static const char* unknown_requirement(const tbk_options_t* options) {
  for (size_t i = 0; i < options->require.count; i++)
    if (!tbk_kind_of(options)->is_capability(options->require.items[i]))
      return options->require.items[i];
  return NULL;
}

static void tell_in_flight(const tbk_run_t* run) {
  uint32_t items[16];
  size_t count = tbk_journal_read(run->options->output, items, 16);
  for (size_t i = 0; i < count; i++)
    if (items[i] < run->recorder.plan.item_count && !run->options->quiet)
      tbk_complain("%s was running when the last run ended; it runs again",
                   run->recorder.plan.tests[run->recorder.plan.items[items[i]].test].id);
}

/* Several tests in one process where opening the device costs more than a test does. */
static tbk_isolation_t choose_isolation(const tbk_run_t* run) {
  const uint64_t cheap_ns = UINT64_C(50000000);
  if (run->options->isolation != TBK_ISOLATION_AUTO) return run->options->isolation;
  return run->facts.open_ns > cheap_ns ? TBK_ISOLATION_BATCH : TBK_ISOLATION_FORK;
}

/* Not NULL: the device itself is a finding, whatever the tests say. */
static const char* fault_of_device(tbk_run_t* run) {
  if (run->health.lost) return run->health.held ? run->health.lease : run->health.state;
  if (run->health.lost_before[0] != '\0') /* it was found, however well it goes now */
    tbk_print(run->health.state, sizeof run->health.state, "%s", run->health.lost_before);
  return run->health.lost_before[0] != '\0' || !run->facts.sound ? run->health.state : NULL;
}

/* Why the run itself, or some test of it, can't be believed; NULL where all of it can. */
static const char* fault_of_suite(const tbk_run_t* run) {
  static char text[640];
  const tbk_ledger_t* ledger = &run->recorder.ledger;
  unsigned long long recorded = tbk_ledger_recorded(ledger), planned = ledger->planned;
  unsigned long long errors = ledger->counts[TBK_VERDICT_SUITE_ERROR];
  if (recorded == planned && errors == 0) return NULL;
  if (recorded != planned)
    tbk_print(text, sizeof text, "%llu of %llu tests have a record", recorded, planned);
  else
    tbk_print(text, sizeof text, "%llu test%s ended in a suite error%s%s", errors,
              errors == 1 ? "" : "s", run->recorder.fault[0] != '\0' ? ", first " : "",
              run->recorder.fault);
  return text;
}

static const char* interruption(const tbk_run_t* run) {
  static char text[160];
  const char* name = sigabbrev_np(tbk_loop_interrupted());
  tbk_print(text, sizeof text, "interrupted by SIG%s after %llu of %llu tests; --resume goes on",
            name != NULL ? name : "?",
            (unsigned long long)tbk_ledger_recorded(&run->recorder.ledger),
            (unsigned long long)run->recorder.ledger.planned);
  return text;
}

static const char* why_nothing(const tbk_run_t* run, uint64_t ready_ns) {
  static char text[160];
  if (run->recorder.ledger.counts[TBK_VERDICT_LEFT_OUT] == 0)
    return "nothing was executed: the library declares nothing that the selected tests need";
  tbk_print(text, sizeof text,
            "nothing was executed: the budget was over when all was started, which took %.0f s",
            (double)(ready_ns - run->pace.started_ns) / 1e9);
  return text;
}

static tbk_exit_t conclude(tbk_run_t* run, uint64_t started_ns, uint64_t ready_ns) {
  tbk_exit_t exit_code = tbk_ledger_exit(&run->recorder.ledger);
  const char* reason = fault_of_device(run);
  if (reason != NULL && (exit_code == TBK_EXIT_PASS || exit_code == TBK_EXIT_NOTHING))
    exit_code = TBK_EXIT_FINDINGS;
  else if (exit_code == TBK_EXIT_NOTHING)
    reason = why_nothing(run, ready_ns);
  const char* fault = fault_of_suite(run); /* told beside findings too, which it does not hide */
  if (fault != NULL && (reason == NULL || exit_code == TBK_EXIT_SUITE)) reason = fault;
  if (tbk_loop_interrupted() != 0) {
    exit_code = TBK_EXIT_INTERRUPTED;
    reason = interruption(run);
  }
  tbk_footer_t footer = {&run->recorder.ledger,
                         exit_code,
                         run->health.state,
                         reason,
                         tbk_now_ns() - started_ns,
                         run->options->tier,
                         tbk_facts_simulated(&run->facts)};
  tbk_record_footer(&run->recorder.results, &footer);
  if (!tbk_results_close(&run->recorder.results))
    return refuse_results(run, run->recorder.results.error);
  if (exit_code != TBK_EXIT_INTERRUPTED) tbk_journal_remove(&run->journal);
  if (exit_code > TBK_EXIT_SUITE) tbk_complain("%s", reason);
  if (fault != NULL && exit_code <= TBK_EXIT_SUITE) tbk_complain("%s", fault);
  tbk_summary_print(run, exit_code, reason, footer.duration_ns);
  return exit_code;
}

static tbk_exit_t run_tests(tbk_run_t* run, bool has_header) {
  const uint64_t started_ns = tbk_now_ns();
  tbk_phase_tell(run->options, TBK_PHASE_PREFLIGHT);
  run->kind->preflight(&run->loop, run->options, &run->facts);
  if (run->facts.exit_code != TBK_EXIT_PASS) {
    tbk_loop_stop(&run->loop);
    tbk_journal_remove(&run->journal);
    return refuse(run, run->facts.exit_code, run->facts.reason, has_header);
  }
  if (run->facts.exclusive) run->loop.jobs = 1;
  run->facts.jobs = run->loop.jobs;
  run->isolation = choose_isolation(run);
  if (!has_header)
    tbk_record_header(&run->recorder.results, run->options, &run->recorder.plan, &run->facts,
                      run->isolation);
  const uint64_t ready_ns = tbk_now_ns();
  tbk_phase_tell(run->options, TBK_PHASE_TESTS);
  tbk_supervise(run);
  tbk_loop_stop(&run->loop);
  return conclude(run, started_ns, ready_ns);
}

static const char* no_process(void) {
  static char text[160];
  tbk_print(text, sizeof text, "no process could be started: %s", strerror(errno));
  return text;
}

static tbk_exit_t start(tbk_run_t* run, bool has_header) {
  const uint32_t jobs = job_count(run);
  static char lack[160];
  if (tbk_limits_lack(lack, sizeof lack)) return refuse(run, TBK_EXIT_SUITE, lack, has_header);
  if (!tbk_tree_is_told() && !run->options->quiet)
    tbk_complain("the kernel lists no children here: what leaves a test's process group lives on");
  if (!tbk_journal_open(&run->journal, run->recorder.results.regular ? run->options->output : NULL,
                        tbk_loop_slots(jobs)))
    return refuse_results(run, errno);
  if (!run->kind->prepare(run->options, &run->recorder.plan))
    return refuse(run, TBK_EXIT_SUITE, "the tests could not be registered", has_header);
  if (!tbk_loop_start(&run->loop, &run->journal, jobs, run->kind->launchers))
    return refuse(run, TBK_EXIT_SUITE, no_process(), has_header);
  return run_tests(run, has_header);
}

/* Leaves the header, the records and the footer of a complete file, and nothing else in it. */
static bool tidy(tbk_results_t* results, const tbk_resume_t* resume) {
  if (!tbk_results_continue(results, resume->lines, resume->size, true)) return false;
  tbk_results_add(results, resume->footer, strlen(resume->footer));
  tbk_results_add(results, "\n", 1);
  return tbk_results_flush(results);
}

/* A complete file comes to what its records say; a footer that says otherwise is not believed. */
static tbk_exit_t retell(tbk_run_t* run, const tbk_resume_t* resume) {
  struct sha256_ctx context;
  char digest[TBK_DIGEST_SIZE];
  tbk_exit_t exit_code = tbk_ledger_exit(&run->recorder.ledger);
  if (exit_code == TBK_EXIT_PASS && resume->sick) exit_code = TBK_EXIT_FINDINGS;
  sha256_init(&context);
  sha256_update(&context, resume->size, (const uint8_t*)resume->lines);
  tbk_digest_text(&context, digest);
  if (resume->fits && resume->exit_code == exit_code && strcmp(digest, resume->digest) == 0) {
    if (resume->untidy && !tidy(&run->recorder.results, resume)) return refuse_results(run, errno);
    tbk_summary_print(run, exit_code, "was complete already", 0);
    return exit_code;
  }
  tbk_complain("%s: its footer does not fit its records, which come to exit code %d",
               run->options->output, (int)exit_code);
  tbk_summary_print(run, TBK_EXIT_SUITE, "its footer was changed", 0);
  return TBK_EXIT_SUITE;
}

static tbk_exit_t resume(tbk_run_t* run) {
  tbk_resume_t resume;
  tbk_resume_read(&resume, run->options->output, run->options, &run->recorder.plan,
                  run->recorder.recorded, run->recorder.first, &run->recorder.ledger);
  if (resume.reason[0] != '\0') {
    tbk_complain("%s: cannot resume: %s; without --resume it begins anew", run->options->output,
                 resume.reason);
    tbk_resume_free(&resume);
    return TBK_EXIT_USAGE;
  }
  if (resume.complete) {
    const tbk_exit_t exit_code = retell(run, &resume);
    tbk_resume_free(&resume);
    return exit_code;
  }
  tell_in_flight(run);
  tbk_print(run->health.lost_before, sizeof run->health.lost_before, "%s", resume.lost);
  bool goes_on =
      tbk_results_continue(&run->recorder.results, resume.lines, resume.size, resume.scattered);
  tbk_resume_free(&resume);
  if (!goes_on) return refuse_results(run, errno);
  return start(run, resume.has_header);
}

int main(int argc, char** argv) {
  static tbk_options_t options;
  static tbk_run_t run;
  char reason[1024] = "";
  tbk_standard_files_open();
  tbk_options_parse(&options, argc, argv);
  if (options.check_options) return TBK_EXIT_PASS; /* what is wrong with them has ended it */
  connect(&run, &options);
  (void)signal(SIGXFSZ, SIG_IGN); /* a limit of file size is told as a full disk is */
  (void)signal(SIGCHLD, SIG_DFL); /* where it is ignored, no end of a process is told */
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
  if (options.list && run.recorder.plan.unmatched == NULL && run.recorder.plan.test_count > 0) {
    tbk_plan_print(&run.recorder.plan);
    return TBK_EXIT_PASS;
  }
  if (!tbk_results_open(&run.recorder.results, options.output,
                        options.resume && exit_code == TBK_EXIT_PASS))
    return refuse_results(&run, errno);
  if (exit_code != TBK_EXIT_PASS) return refuse(&run, exit_code, reason, false);
  if (run.recorder.plan.unmatched != NULL || run.recorder.plan.test_count == 0)
    return nothing_selected(&run);
  return options.resume && run.recorder.results.regular ? resume(&run) : start(&run, false);
}
