/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * recorder.c: see recorder.h.
 */
#include "recorder.h"
#include "kind.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define SAY(field, ...) tbk_print((field), sizeof(field), __VA_ARGS__)

void tbk_recorder_plan(tbk_recorder_t* recorder, const tbk_source_t* source) {
  tbk_plan_make(&recorder->plan, recorder->options, source);
  recorder->ledger.planned = recorder->plan.item_count;
  recorder->recorded = calloc(recorder->plan.item_count + 1, 1);
  recorder->first = calloc(recorder->plan.test_count + 1, 1);
  if (recorder->recorded == NULL || recorder->first == NULL) abort();
}

const char* tbk_recorder_id(const tbk_recorder_t* recorder, uint32_t item) {
  return recorder->plan.tests[recorder->plan.items[item].test].id;
}

static void keep_finding(tbk_recorder_t* recorder, uint32_t item,
                         const tbk_classification_t* classification) {
  const tbk_test_t* test = &recorder->plan.tests[recorder->plan.items[item].test];
  const char* id = test->id;
  if (classification->verdict == TBK_VERDICT_SUITE_ERROR && recorder->fault[0] == '\0')
    SAY(recorder->fault, "%.150s: %.330s", id, classification->seen);
  if (!tbk_verdict_fails(classification->verdict) || recorder->finding_count == TBK_FINDINGS_KEPT)
    return;
  uint32_t at = recorder->finding_count++;
  SAY(recorder->findings[at].id, "%s", id);
  SAY(recorder->findings[at].clause, "%s", test->clause);
  SAY(recorder->findings[at].verdict, "%s", tbk_verdict_name(classification->verdict));
  SAY(recorder->findings[at].text, "%s", test->text != NULL ? test->text : "");
  SAY(recorder->findings[at].expected, "%s", classification->expected);
  SAY(recorder->findings[at].seen, "%s", classification->seen);
  SAY(recorder->findings[at].limit, "%s", classification->limit);
  SAY(recorder->findings[at].replay, "%s", classification->replay);
  if (classification->replay[0] == '\0')
    tbk_replay_failure(recorder->findings[at].replay, sizeof recorder->findings[at].replay,
                       recorder->options, id, classification->seen);
}

static bool says_nothing(tbk_verdict_t verdict) {
  return verdict == TBK_VERDICT_LEFT_OUT || verdict == TBK_VERDICT_NOT_REACHED;
}

/* What a proof could not show this time, since the device was too quick, it has not denied. */
static bool holds(unsigned verdict) {
  return verdict == TBK_VERDICT_PASS || verdict == TBK_VERDICT_NOT_SHOWN;
}

/* The same test on the same inputs ended in another way: neither verdict can be believed. */
static void check_stable(tbk_recorder_t* recorder, uint32_t item,
                         tbk_classification_t* classification) {
  char seen[sizeof classification->seen];
  const unsigned char* first = &recorder->first[recorder->plan.items[item].test];
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

static void count(tbk_recorder_t* recorder, uint32_t item, tbk_verdict_t verdict) {
  unsigned char* first = &recorder->first[recorder->plan.items[item].test];
  if (*first == 0 && !says_nothing(verdict)) *first = (unsigned char)(1 + verdict);
  recorder->ledger.counts[verdict] += recorder->recorded[item] == 0;
  recorder->recorded[item] = 1;
}

void tbk_recorder_add(tbk_recorder_t* recorder, uint32_t item, const tbk_outcome_t* outcome,
                      tbk_classification_t* classification) {
  if (recorder->recorded[item]) return;
  check_stable(recorder, item, classification);
  tbk_record_test(&recorder->results, recorder->options, &recorder->plan, item, outcome,
                  classification);
  keep_finding(recorder, item, classification);
  count(recorder, item, classification->verdict);
}

void tbk_recorder_hold(tbk_recorder_t* recorder, tbk_hold_t* hold, uint32_t item,
                       const tbk_outcome_t* outcome, tbk_classification_t* classification) {
  if (recorder->recorded[item] || hold->count == TBK_JOB_MAX) return;
  check_stable(recorder, item, classification);
  tbk_record_test(&hold->lines, recorder->options, &recorder->plan, item, outcome, classification);
  keep_finding(recorder, item, classification);
  hold->items[hold->count] = item;
  hold->verdicts[hold->count++] = classification->verdict;
}

void tbk_recorder_release(tbk_recorder_t* recorder, tbk_hold_t* hold) {
  for (uint32_t i = 0; i < hold->count; i++)
    count(recorder, hold->items[i], hold->verdicts[i]);
  if (hold->count > 0)
    tbk_results_add(&recorder->results, hold->lines.pending, hold->lines.pending_size);
  hold->count = 0;
  hold->lines.pending_size = 0;
}

static bool has_word(const char* words, const char* word) {
  size_t length = strlen(word);
  for (const char* at = words; (at = strstr(at, word)) != NULL; at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

static bool is_missing(const tbk_recorder_t* recorder, const char* word) {
  return tbk_kind_of(recorder->options)->missing(recorder->facts, word) != NULL;
}

/* The first word that --require asks for, that the test needs and that is missing. */
static const char* required_word(const tbk_recorder_t* recorder, uint32_t item) {
  const tbk_words_t* required = &recorder->options->require;
  const char* needs = recorder->plan.tests[recorder->plan.items[item].test].needs;
  for (size_t i = 0; i < required->count; i++)
    if (has_word(needs, required->items[i]) && is_missing(recorder, required->items[i]))
      return required->items[i];
  return NULL;
}

void tbk_recorder_add_missing(tbk_recorder_t* recorder, uint32_t item, const char* word) {
  static const tbk_outcome_t nothing;
  char kept[64]; /* the next question overwrites the word */
  tbk_print(kept, sizeof kept, "%s", word);
  tbk_classification_t classification = {
      .verdict = TBK_VERDICT_UNSUPPORTED, .needs_missing = kept, .exit_status = -1};
  const char* required = required_word(recorder, item);
  if (required != NULL) {
    word = classification.needs_missing = required;
    classification.verdict = TBK_VERDICT_FAIL;
    classification.blame = "backend";
    SAY(classification.cause, "required/%s", word);
    SAY(classification.expected, "the library declares \"%s\", which --require asks for", word);
    SAY(classification.seen, "it does not");
  }
  tbk_recorder_add(recorder, item, &nothing, &classification);
}

void tbk_recorder_add_left_out(tbk_recorder_t* recorder, uint32_t item) {
  static const tbk_outcome_t nothing;
  tbk_classification_t classification = {.verdict = TBK_VERDICT_LEFT_OUT, .exit_status = -1};
  SAY(classification.seen, "not begun: the budget of %.0f s was over",
      (double)recorder->options->budget_ns / 1e9);
  tbk_recorder_add(recorder, item, &nothing, &classification);
}

void tbk_recorder_add_unreached(tbk_recorder_t* recorder, uint32_t item, const char* why) {
  static const tbk_outcome_t nothing;
  tbk_classification_t classification = {
      .verdict = TBK_VERDICT_NOT_REACHED, .blame = "backend", .exit_status = -1};
  SAY(classification.cause, "not-reached");
  SAY(classification.expected, "the device computes");
  SAY(classification.seen, "%s", why);
  tbk_recorder_add(recorder, item, &nothing, &classification);
}

void tbk_recorder_add_lost(tbk_recorder_t* recorder, uint32_t item) {
  static const tbk_outcome_t nothing;
  tbk_classification_t classification = {
      .verdict = TBK_VERDICT_SUITE_ERROR, .blame = "harness", .exit_status = -1};
  SAY(classification.cause, "suite-error/lost");
  SAY(classification.expected, "a record of each planned test");
  SAY(classification.seen, "the run ended, and this test had come to no verdict");
  tbk_recorder_add(recorder, item, &nothing, &classification);
}
