/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * classify.c: from what was seen of a test to its verdict. Worst first: how the process ended decides
 * before what it said, and silence is never a pass.
 */
#include "enough.h"
#include "protocol.h"
#include "reap.h"
#include "text.h"
#include "verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define SAY(field, ...) tbk_print((field), sizeof(field), __VA_ARGS__)

/* Without SIG; valid until the next call. */
static const char* signal_name(int number) {
  static char realtime[16];
  const char* name = sigabbrev_np(number);
  if (name != NULL) return name;
  tbk_print(realtime, sizeof realtime, "RTMIN+%d", number - SIGRTMIN);
  return realtime;
}

/* Returns the function that the test called last; NULL for none. */
static const char* last_call(const tbk_outcome_t* outcome) {
  const int32_t last = outcome->last_call;
  return last > 0 ? tbk_trace_name((size_t)last / 2) : NULL;
}

/* Adds the case of a sweep that ran, in the words in which a failed check says it. */
static void add_case(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const size_t seen = strlen(out->seen);
  if (outcome->sweep_case[0] != '\0')
    tbk_print(out->seen + seen, sizeof out->seen - seen, " (case: %s)", outcome->sweep_case);
}

/* Adds where a test stopped: "/in upload" to its cause, ", in upload" to what was seen. */
static void add_call(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const int32_t last = outcome->last_call;
  const char* name = last_call(outcome);
  const size_t cause = strlen(out->cause), seen = strlen(out->seen);
  if (out->phase < TBK_PHASE_BODY) return;
  if (name != NULL && last % 2 == 0) {
    tbk_print(out->cause + cause, sizeof out->cause - cause, "/in %s", name);
    tbk_print(out->seen + seen, sizeof out->seen - seen, ", in %s", name);
  } else if (name != NULL) {
    tbk_print(out->seen + seen, sizeof out->seen - seen, ", after %s had returned", name);
  }
  add_case(outcome, out);
}

/* Adds for how long others kept it from running, where its deadline moved for that. */
static void add_waited(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const size_t seen = strlen(out->seen);
  if (outcome->waited_ns == 0) return;
  tbk_print(out->seen + seen, sizeof out->seen - seen, ", though it waited %.1f s for a processor",
            (double)outcome->waited_ns / 1e9);
}

static void classify_hang(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const char* phase = tbk_phase_name(out->phase);
  out->verdict = TBK_VERDICT_HANG;
  SAY(out->expected, "the test ends before its deadline");
  if (outcome->end == TBK_END_STOPPED) {
    out->signal = outcome->stop_signal;
    SAY(out->cause, "hang/%s/stopped", phase);
    SAY(out->seen, "the process was stopped by SIG%s (%s)", signal_name(out->signal), phase);
  } else if (outcome->end == TBK_END_LAUNCHER_STOPPED) {
    SAY(out->cause, "hang/%s/stopped-its-parent", phase);
    SAY(out->seen, "its parent process was stopped, and told of no end (%s)", phase);
  } else if (outcome->end == TBK_END_UNKILLABLE) {
    SAY(out->cause, "hang/%s/unkillable", phase);
    SAY(out->seen, "no end after %.1f s, and SIGKILL did not end it (%s)",
        (double)outcome->wall_ns / 1e9, phase);
  } else {
    SAY(out->cause, "hang/%s", phase);
    SAY(out->seen, "no end after %.1f s (%s)", (double)outcome->wall_ns / 1e9, phase);
    add_waited(outcome, out);
  }
  add_call(outcome, out);
}

/* Whether it hangs is not known: it had too little time. That is no pass, and no accusation. */
static void classify_cut_short(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  out->verdict = TBK_VERDICT_NOT_REACHED;
  SAY(out->cause, "not-reached/after-hangs");
  SAY(out->expected, "a device that leaves time for all tests");
  SAY(out->seen,
      "no end after %.2f s (%s); no more time was given, since %u tests hung or nearly did",
      (double)outcome->wall_ns / 1e9, tbk_phase_name(out->phase), outcome->hangs_before);
}

static void classify_budget(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  out->verdict = TBK_VERDICT_LEFT_OUT;
  out->blame = NULL;
  SAY(out->seen, "no end after %.1f s, the tenth of the budget that a test may take (%s)",
      (double)outcome->wall_ns / 1e9, tbk_phase_name(out->phase));
}

static void classify_signal(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const char* phase = tbk_phase_name(out->phase);
  out->signal = WTERMSIG(outcome->wait_status);
  SAY(out->cause, "crash/%s/SIG%s", phase, signal_name(out->signal));
  SAY(out->seen, "killed by SIG%s (%s)", signal_name(out->signal), phase);
}

/* It ended as it should, but what it said of the test is not to be had. */
static void classify_unheard(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  out->verdict = TBK_VERDICT_CRASH;
  SAY(out->cause, "crash/%s/report-lost", tbk_phase_name(out->phase));
  SAY(out->expected, "a report of the test, and nothing else on its descriptor");
  SAY(out->seen, "no valid report of the test, and %llu bytes of others on its descriptor",
      (unsigned long long)outcome->noise);
}

/* It is no business of a backend what it can't have got from the host. */
static void classify_noise(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  out->verdict = TBK_VERDICT_FAIL;
  out->blame = "backend";
  SAY(out->cause, "fail/writes-on-a-foreign-descriptor");
  SAY(out->expected, "no byte on descriptors that are not the backend's");
  SAY(out->seen, "%llu bytes on the descriptor of the harness's reports",
      (unsigned long long)outcome->noise);
}

/* Limits are handed down: those of the tests after it would not be their own. */
static void classify_changed_limits(tbk_classification_t* out) {
  out->verdict = TBK_VERDICT_FAIL;
  out->blame = "backend";
  SAY(out->cause, "fail/changes-the-harness");
  SAY(out->expected, "no limit changed of a process that is not the backend's");
  SAY(out->seen, "the limits of the process that started the test are others than before");
}

static void classify_exit(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const char* phase = tbk_phase_name(out->phase);
  out->exit_status = WEXITSTATUS(outcome->wait_status);
  SAY(out->cause, "crash/%s/exited", phase);
  if (out->exit_status == TBK_WORKER_NO_REPORT)
    SAY(out->seen,
        "the report descriptor was closed, made another file, or may not be written (%s)", phase);
  else if (outcome->done)
    SAY(out->seen, "the process exited with status %d, not by its own return (%s)",
        out->exit_status, phase);
  else
    SAY(out->seen, "the process exited with status %d without finishing (%s)", out->exit_status,
        phase);
}

static void classify_crash(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const char* phase = tbk_phase_name(out->phase);
  out->verdict = TBK_VERDICT_CRASH;
  SAY(out->expected, "the process ends by itself, with the test finished");
  if (outcome->end == TBK_END_MEMORY) {
    SAY(out->cause, "crash/%s/memory", phase);
    SAY(out->seen, "killed at %.1f MiB of resident memory, above the limit (%s)",
        (double)outcome->memory_bytes / 1048576, phase);
  } else if (outcome->end == TBK_END_PROCESSES) {
    SAY(out->cause, "crash/%s/processes", phase);
    SAY(out->seen, "killed when it had started more than %d processes (%s)", TBK_PROCESSES_MAX,
        phase);
  } else if (outcome->end == TBK_END_LAUNCHER_DIED && outcome->no_memory) {
    SAY(out->cause, "crash/%s/SIGKILL", phase);
    SAY(out->seen, "its parent process was killed by SIGKILL (%s)", phase);
  } else if (outcome->end == TBK_END_LAUNCHER_DIED) {
    SAY(out->cause, "crash/%s/killed-its-parent", phase);
    SAY(out->seen, "it killed its parent process (%s)", phase);
  } else if (WIFSIGNALED(outcome->wait_status)) {
    classify_signal(outcome, out);
  } else {
    classify_exit(outcome, out);
  }
  add_call(outcome, out);
}

/* "memory_test.c:33" to "memory_test.c": a cause outlives a line that moves. */
static int file_length(const char* where) {
  const char* colon = strchr(where, ':');
  return colon != NULL ? (int)(colon - where) : (int)strlen(where);
}

/* The status or the type of the exception that was seen; values differ from run to run. */
static int status_length(const char* seen) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz.";
  size_t status = strspn(seen, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), type = strspn(seen, letters);
  if (status > 1) return (int)status;
  return type > 5 && strncmp(seen + type, ": ", 2) == 0 &&
                 (strncmp(seen + type - 5, "Error", 5) == 0 ||
                  (type > 9 && strncmp(seen + type - 9, "Exception", 9) == 0))
             ? (int)type
             : 0;
}

static void classify_fail(const tbk_case_report_t* report, tbk_classification_t* out) {
  const tbk_check_totals_t* totals = &report->totals;
  out->verdict = TBK_VERDICT_FAIL;
  out->phase = report->failed_phase;
  SAY(out->expected, "%s", totals->expected);
  SAY(out->seen, "%s", totals->seen);
  SAY(out->call, "%s", totals->call);
  SAY(out->checked, "%s", totals->clause);
  SAY(out->cause, "fail/%.*s/%.80s/%.*s", file_length(totals->where), totals->where, totals->what,
      status_length(totals->seen), totals->seen);
}

static bool ended_well(const tbk_outcome_t* outcome) {
  if (!outcome->ended) return false;
  return outcome->in_batch ||
         (outcome->end == TBK_END_ITSELF && outcome->done && WIFEXITED(outcome->wait_status) &&
          WEXITSTATUS(outcome->wait_status) == TBK_WORKER_EXIT);
}

static bool is_hang(tbk_end_t end) {
  return end == TBK_END_DEADLINE || end == TBK_END_STOPPED || end == TBK_END_LAUNCHER_STOPPED ||
         end == TBK_END_UNKILLABLE;
}

/* The worker gave up before it touched anything of the backend. */
static bool never_began(const tbk_outcome_t* outcome) {
  return outcome->end == TBK_END_ITSELF && outcome->phase == TBK_PHASE_NONE &&
         WIFEXITED(outcome->wait_status) &&
         WEXITSTATUS(outcome->wait_status) == TBK_WORKER_NOT_BEGUN;
}

static void classify_harness(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  out->verdict = TBK_VERDICT_SUITE_ERROR;
  out->blame = "harness";
  SAY(out->cause, "suite-error/no-process");
  SAY(out->expected, "a process for the test");
  SAY(out->seen, "%s",
      outcome->end == TBK_END_NOT_STARTED ? "no process could be started"
                                          : "the process ended before the library was loaded");
}

static bool is_unheard(const tbk_outcome_t* outcome) {
  return outcome->unheard ||
         (outcome->end == TBK_END_ITSELF && outcome->done && !outcome->ended &&
          WIFEXITED(outcome->wait_status) && WEXITSTATUS(outcome->wait_status) == TBK_WORKER_EXIT);
}

static void classify_end(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const char* call = last_call(outcome);
  out->phase = outcome->phase;
  SAY(out->call, "%s", call != NULL ? call : "");
  if (is_unheard(outcome))
    classify_unheard(outcome, out);
  else if (outcome->end == TBK_END_NOT_STARTED || never_began(outcome))
    classify_harness(outcome, out);
  else if (is_hang(outcome->end))
    classify_hang(outcome, out);
  else if (outcome->end == TBK_END_CUT_SHORT)
    classify_cut_short(outcome, out);
  else if (outcome->end == TBK_END_BUDGET)
    classify_budget(outcome, out);
  else
    classify_crash(outcome, out);
}

static void classify_report(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const tbk_case_report_t* report = &outcome->report;
  if (report->needs_missing != NULL) {
    out->blame = NULL;
    out->verdict = TBK_VERDICT_UNSUPPORTED;
    out->needs_missing = report->needs_missing;
  } else if (report->totals.suite_faults > 0) {
    classify_fail(report, out);
    out->verdict = TBK_VERDICT_SUITE_ERROR;
    out->blame = "suite";
  } else if (report->totals.failures > 0) {
    classify_fail(report, out);
    if (report->only_should && report->failed_phase == TBK_PHASE_BODY)
      out->verdict = TBK_VERDICT_WARNING;
  } else if (report->totals.checks == 0 && report->evidence != TBK_NOT_SHOWN) {
    out->verdict = TBK_VERDICT_SUITE_ERROR;
    out->blame = "suite";
    SAY(out->cause, "suite-error/no-check");
    SAY(out->expected, "at least one check");
    SAY(out->seen, "the test ended without a check");
  } else {
    out->blame = NULL;
    out->verdict = report->evidence == TBK_NOT_SHOWN ? TBK_VERDICT_NOT_SHOWN : TBK_VERDICT_PASS;
  }
}

static void add_strays(uint32_t strays, tbk_classification_t* out) {
  const size_t used = strlen(out->notes);
  const char* between = used > 0 ? "; " : "";
  if (strays == TBK_REAP_UNLISTED)
    tbk_print(out->notes + used, sizeof out->notes - used,
              "%sleft processes behind, which live on: this machine does not list them", between);
  else
    tbk_print(out->notes + used, sizeof out->notes - used,
              "%sleft %u process%s behind, which the harness killed", between, strays,
              strays > 1 ? "es" : "");
}

/* Whether that is the backend's fault or the machine's can't be told apart in a run that has it. */
static void add_limit(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  const size_t used = strlen(out->notes);
  const bool faulty = tbk_verdict_fails(out->verdict) || out->verdict == TBK_VERDICT_WARNING;
  if (!faulty) return;
  if (outcome->no_memory)
    tbk_limit_of_memory(out->limit);
  else if (!tbk_limit_behind(out->signal, out->seen, out->limit))
    return;
  out->blame = "unclear";
  tbk_print(out->notes + used, sizeof out->notes - used, "%sperhaps %s", used > 0 ? "; " : "",
            out->limit);
}

void tbk_classify(const tbk_outcome_t* outcome, tbk_classification_t* out) {
  *out = (tbk_classification_t){.blame = "backend", .exit_status = -1, .phase = TBK_PHASE_BODY};
  if (ended_well(outcome))
    classify_report(outcome, out);
  else
    classify_end(outcome, out);
  if (outcome->noise > 0 && !tbk_verdict_fails(out->verdict)) classify_noise(outcome, out);
  if (outcome->changed_limits && !tbk_verdict_fails(out->verdict)) classify_changed_limits(out);
  SAY(out->notes, "%s", outcome->report.notes);
  if (outcome->strays > 0) add_strays(outcome->strays, out);
  add_limit(outcome, out);
}
