/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ledger.c: each item of the plan gets one record and one count.
 */
#include "run.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

#define SAY(field, ...) tbk_print((field), sizeof(field), __VA_ARGS__)

static void keep_finding(tbk_run_t* run, uint32_t item,
                         const tbk_classification_t* classification) {
  const tbk_test_t* test = &run->plan.tests[run->plan.items[item].test];
  const char* id = test->id;
  if (!tbk_verdict_fails(classification->verdict) || run->finding_count == TBK_FINDINGS_KEPT)
    return;
  uint32_t at = run->finding_count++;
  SAY(run->findings[at].id, "%s", id);
  SAY(run->findings[at].clause, "%s", test->clause);
  SAY(run->findings[at].verdict, "%s", tbk_verdict_name(classification->verdict));
  SAY(run->findings[at].text, "%s", test->text != NULL ? test->text : "");
  SAY(run->findings[at].expected, "%s", classification->expected);
  SAY(run->findings[at].seen, "%s", classification->seen);
  SAY(run->findings[at].replay, "%s", classification->replay);
  if (classification->replay[0] == '\0')
    tbk_replay_command(run->findings[at].replay, sizeof run->findings[at].replay, run->options, &id,
                       1, false);
}

static bool says_nothing(tbk_verdict_t verdict) {
  return verdict == TBK_VERDICT_LEFT_OUT || verdict == TBK_VERDICT_NOT_REACHED;
}

/* What a proof could not show this time, since the device was too quick, it has not denied. */
static bool holds(unsigned verdict) {
  return verdict == TBK_VERDICT_PASS || verdict == TBK_VERDICT_NOT_SHOWN;
}

/* The same test on the same inputs ended in another way: neither verdict can be believed. */
static void check_stable(tbk_run_t* run, uint32_t item, tbk_classification_t* classification) {
  char seen[sizeof classification->seen];
  const unsigned char* first = &run->first[run->plan.items[item].test];
  if (says_nothing(classification->verdict)) return;
  if (*first == 0 || *first == 1 + classification->verdict) return;
  if (holds(*first - 1U) && holds(classification->verdict)) return;
  SAY(seen, "%s%s%.400s", tbk_verdict_name(classification->verdict),
      classification->seen[0] ? ": " : "", classification->seen);
  SAY(classification->seen, "%s", seen);
  SAY(classification->expected, "%s, as at first", tbk_verdict_name((tbk_verdict_t)(*first - 1)));
  SAY(classification->cause, "unstable");
  classification->verdict = TBK_VERDICT_UNSTABLE;
  classification->blame = "backend";
}

static void count(tbk_run_t* run, uint32_t item, tbk_verdict_t verdict) {
  unsigned char* first = &run->first[run->plan.items[item].test];
  if (*first == 0 && !says_nothing(verdict)) *first = (unsigned char)(1 + verdict);
  run->ledger.counts[verdict] += run->recorded[item] == 0;
  run->recorded[item] = 1;
}

void tbk_run_record(tbk_run_t* run, uint32_t item, const tbk_outcome_t* outcome,
                    tbk_classification_t* classification) {
  if (run->recorded[item]) return;
  check_stable(run, item, classification);
  tbk_record_test(&run->results, run->options, &run->plan, item, outcome, classification);
  keep_finding(run, item, classification);
  count(run, item, classification->verdict);
}

void tbk_run_hold(tbk_run_t* run, tbk_hold_t* hold, uint32_t item, const tbk_outcome_t* outcome,
                  tbk_classification_t* classification) {
  if (run->recorded[item] || hold->count == TBK_JOB_MAX) return;
  check_stable(run, item, classification);
  tbk_record_test(&hold->lines, run->options, &run->plan, item, outcome, classification);
  keep_finding(run, item, classification);
  hold->items[hold->count] = item;
  hold->verdicts[hold->count++] = classification->verdict;
}

void tbk_run_release(tbk_run_t* run, tbk_hold_t* hold) {
  for (uint32_t i = 0; i < hold->count; i++)
    count(run, hold->items[i], hold->verdicts[i]);
  if (hold->count > 0)
    tbk_results_add(&run->results, hold->lines.pending, hold->lines.pending_size);
  hold->count = 0;
  hold->lines.pending_size = 0;
}

static bool has_word(const char* words, const char* word) {
  size_t length = strlen(word);
  for (const char* at = words; (at = strstr(at, word)) != NULL; at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

/* The first word that --require asks for, that the test needs and that is missing. */
static const char* required_word(const tbk_run_t* run, uint32_t item) {
  const tbk_words_t* required = &run->options->require;
  const char* needs = run->plan.tests[run->plan.items[item].test].needs;
  for (size_t i = 0; i < required->count; i++)
    if (has_word(needs, required->items[i]) && tbk_run_missing(run, required->items[i]) != NULL)
      return required->items[i];
  return NULL;
}

void tbk_run_record_missing(tbk_run_t* run, uint32_t item, const char* word) {
  static const tbk_outcome_t nothing;
  char kept[64]; /* the next question overwrites the word */
  tbk_print(kept, sizeof kept, "%s", word);
  tbk_classification_t classification = {
      .verdict = TBK_VERDICT_UNSUPPORTED, .needs_missing = kept, .exit_status = -1};
  const char* required = required_word(run, item);
  if (required != NULL) {
    word = classification.needs_missing = required;
    classification.verdict = TBK_VERDICT_FAIL;
    classification.blame = "backend";
    SAY(classification.cause, "required/%s", word);
    SAY(classification.expected, "the library declares \"%s\", which --require asks for", word);
    SAY(classification.seen, "it does not");
  }
  tbk_run_record(run, item, &nothing, &classification);
}

void tbk_run_record_left_out(tbk_run_t* run, uint32_t item) {
  static const tbk_outcome_t nothing;
  tbk_classification_t classification = {.verdict = TBK_VERDICT_LEFT_OUT, .exit_status = -1};
  SAY(classification.seen, "not begun: the budget of %.0f s was over",
      (double)run->options->budget_ns / 1e9);
  tbk_run_record(run, item, &nothing, &classification);
}

void tbk_run_record_unreached(tbk_run_t* run, uint32_t item, const char* why) {
  static const tbk_outcome_t nothing;
  tbk_classification_t classification = {
      .verdict = TBK_VERDICT_NOT_REACHED, .blame = "backend", .exit_status = -1};
  SAY(classification.cause, "not-reached");
  SAY(classification.expected, "the device computes");
  SAY(classification.seen, "%s", why);
  tbk_run_record(run, item, &nothing, &classification);
}
