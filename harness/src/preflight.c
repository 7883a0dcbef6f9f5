/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * preflight.c: see preflight.h.
 */
#include "preflight.h"
#include "preflight_parts.h"
#include "text.h"

#include "clock.h"
#include "enough.h"
#include "protocol.h"

#include <stdio.h>
#include <string.h>

const json_t* tbk_said_find(const json_t* said, const char* what) {
  for (size_t i = json_array_size(said); i-- > 0;) {
    const json_t* object = json_array_get(said, i);
    const char* name = json_string_value(json_object_get(object, "said"));
    if (name != NULL && strcmp(name, what) == 0) return object;
  }
  return NULL;
}

json_t* tbk_said_bare(const json_t* object) {
  json_t* copy = json_copy((json_t*)(uintptr_t)object);
  (void)json_object_del(copy, "said");
  return copy;
}

static void read_unverified(tbk_facts_t* facts, const json_t* said) {
  size_t index;
  json_t* object;
  json_decref(facts->unverified);
  facts->unverified = json_array();
  json_array_foreach((json_t*)(uintptr_t)said, index, object) {
    if (strcmp(json_string_value(json_object_get(object, "said")), "unverified") == 0)
      (void)json_array_append(facts->unverified, json_object_get(object, "text"));
  }
}

void tbk_facts_read_backend(tbk_facts_t* facts, const json_t* said) {
  const json_t* backend = tbk_said_find(said, "backend");
  json_decref(facts->backend);
  facts->backend = backend != NULL ? tbk_said_bare(backend) : NULL;
  read_unverified(facts, said);
  json_decref(facts->devices);
  facts->devices = json_array();
  for (size_t i = 0; i < json_array_size(said); i++) {
    const json_t* object = json_array_get(said, i);
    if (strcmp(json_string_value(json_object_get(object, "said")), "device") != 0) continue;
    facts->exclusive |= json_is_true(json_object_get(object, "exclusive"));
    (void)json_array_append_new(facts->devices, tbk_said_bare(object));
  }
}

static void read_needs(tbk_facts_t* facts, const json_t* said) {
  json_t* held = json_object_get(tbk_said_find(said, "capabilities"), "held");
  if (held == NULL) return;
  json_decref(facts->capabilities);
  facts->capabilities = json_incref(held);
  facts->held = (tbk_need_set_t){{0}};
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    if (json_is_true(json_object_get(held, tbk_need_word(i)))) tbk_need_set_add(&facts->held, i);
}

static void read_gate(tbk_facts_t* facts, const json_t* said) {
  const json_t* gate = tbk_said_find(said, "gate");
  facts->gate = TBK_GATE_NONE;
  if (gate == NULL) return;
  facts->gate = (tbk_gate_kind_t)json_integer_value(json_object_get(gate, "kind"));
  facts->wait_blocks = (int)json_integer_value(json_object_get(gate, "wait_blocks"));
}

static void read_said(tbk_facts_t* facts, const json_t* said) {
  tbk_facts_read_backend(facts, said);
  read_needs(facts, said);
  read_gate(facts, said);
  const json_t* opened = tbk_said_find(said, "opened");
  if (opened != NULL)
    facts->open_ns = (uint64_t)json_integer_value(json_object_get(opened, "duration_ns"));
}

void tbk_preflight_end(const tbk_outcome_t* outcome, char* out, size_t out_size) {
  tbk_classification_t classification;
  char line[161];
  tbk_classify(outcome, &classification);
  /* Behind that, Python's own handler of crashes writes stacks and names of modules. */
  static const char handler[] = "Fatal Python error: ";
  const char* end = memmem(outcome->output, outcome->output_size, handler, sizeof handler - 1);
  size_t size = end != NULL ? (size_t)(end - outcome->output) : outcome->output_size;
  tbk_text_last_line(line, sizeof line, outcome->output, size);
  tbk_print(out, out_size, "%s%s%s%s%s", classification.seen,
            classification.limit[0] != '\0' ? "; perhaps " : "", classification.limit,
            line[0] != '\0' ? "; it printed: " : "", line);
}

bool tbk_health_of(const json_t* said, const tbk_outcome_t* outcome, char* out, size_t out_size) {
  const json_t* health = tbk_said_find(said, "health");
  const json_t* error = tbk_said_find(said, "error");
  char end[512];
  out[0] = '\0';
  if (health != NULL && json_is_true(json_object_get(health, "ok"))) return true;
  const char* reason =
      json_string_value(json_object_get(health != NULL ? health : error, "reason"));
  if (reason == NULL) {
    tbk_preflight_end(outcome, end, sizeof end);
    reason = end;
  }
  tbk_print(out, out_size, "%s", reason[0] != '\0' ? reason : "the probe did not answer");
  return false;
}

bool tbk_health_is_held(const json_t* said) {
  return json_is_true(json_object_get(tbk_said_find(said, "health"), "device_held"));
}

void tbk_facts_refuse(tbk_facts_t* facts, tbk_exit_t exit_code, const char* what, const char* why) {
  facts->exit_code = exit_code;
  tbk_print(facts->reason, sizeof facts->reason, "%s%s%s", what, what[0] ? ": " : "", why);
}

static const char* stage_name(const json_t* said, tbk_phase_t phase) {
  if (tbk_said_find(said, "capabilities") != NULL) return "opening device 0";
  if (tbk_said_find(said, "backend") != NULL) return "asking for its devices";
  return phase == TBK_PHASE_CREATE ? "calling " TBK_ENTRY_SYMBOL : "loading it";
}

/* The process died, or was killed, before the device was open. */
static void refuse_death(tbk_facts_t* facts, const tbk_options_t* options, const json_t* said,
                         const tbk_outcome_t* outcome) {
  char what[512], end[512];
  tbk_preflight_end(outcome, end, sizeof end);
  tbk_print(what, sizeof what, "%s: %s", options->path, stage_name(said, outcome->phase));
  bool opening = tbk_said_find(said, "capabilities") != NULL;
  if (outcome->end == TBK_END_NOT_STARTED) { /* no word on the library */
    tbk_facts_refuse(facts, TBK_EXIT_SUITE, "", end);
    return;
  }
  tbk_facts_refuse(facts, opening ? TBK_EXIT_DEVICE : TBK_EXIT_LIBRARY, what, end);
}

/* The library's reasons begin with its path; those of the device don't. */
static void refuse_error(tbk_facts_t* facts, const tbk_options_t* options, const json_t* error) {
  const char* stage = json_string_value(json_object_get(error, "stage"));
  const char* reason = json_string_value(json_object_get(error, "reason"));
  bool library = stage != NULL && strcmp(stage, "library") == 0;
  if (reason == NULL) reason = "no reason given";
  bool named = strncmp(reason, options->path, strlen(options->path)) == 0;
  tbk_facts_refuse(facts, library ? TBK_EXIT_LIBRARY : TBK_EXIT_DEVICE, named ? "" : options->path,
                   reason);
}

static void keep_outcome(void* context, tbk_slot_t* slot, uint32_t position,
                         const tbk_outcome_t* outcome) {
  const tbk_passage_t* passage = context;
  (void)slot;
  (void)position;
  *passage->outcome = *outcome;
}

static void extend_deadline(void* context, tbk_slot_t* slot, const json_t* object) {
  tbk_passage_t* passage = context;
  slot->deadline_ns = tbk_now_ns() + passage->allowance(passage, object);
}

const json_t* tbk_preflight_ask(tbk_loop_t* loop, uint32_t argument, const tbk_limits_t* limits,
                                tbk_passage_t* passage) {
  const tbk_order_t order = {.kind = TBK_ORDER_PREFLIGHT, .argument = argument};
  tbk_slot_t* slot = tbk_loop_idle(loop);
  if (slot == NULL) {
    *passage->outcome = (tbk_outcome_t){.end = TBK_END_NOT_STARTED};
    return NULL;
  }
  slot->on_outcome = keep_outcome;
  slot->on_said = extend_deadline;
  slot->context = passage;
  tbk_slot_run(slot, &order, limits);
  tbk_loop_finish(loop, slot);
  return slot->said;
}

/*
 * Loading has the deadline of a test, opening its own. Probing takes a few seconds on some devices,
 * whatever the deadline of a test.
 */
static uint64_t allowance(tbk_passage_t* passage, const json_t* object) {
  const char* said = json_string_value(json_object_get(object, "said"));
  passage->opened |= strcmp(said, "opened") == 0;
  return passage->opened ? passage->probing_ns : passage->options->open_timeout_ns;
}

/* Returns what the process said; NULL where there was none. */
static const json_t* run_once(tbk_loop_t* loop, const tbk_options_t* options, uint32_t skip,
                              tbk_outcome_t* outcome) {
  const tbk_limits_t limits = {.first_ns = options->load_timeout_ns,
                               .memory = options->memory_limit};
  const uint64_t least_ns = UINT64_C(5000000000);
  bool hung = outcome->end == TBK_END_DEADLINE; /* the last time */
  tbk_passage_t passage = {.options = options,
                           .outcome = outcome,
                           .allowance = allowance,
                           .probing_ns = hung || options->load_timeout_ns < least_ns
                                             ? least_ns
                                             : options->load_timeout_ns};
  return tbk_preflight_ask(loop, skip, &limits, &passage);
}

void tbk_preflight(tbk_loop_t* loop, const tbk_options_t* options, tbk_facts_t* facts) {
  static tbk_outcome_t outcome;
  uint32_t skip = 0;
  *facts = (tbk_facts_t){.gate = TBK_GATE_UNKNOWN};
  for (;;) {
    const json_t* said = run_once(loop, options, skip, &outcome);
    read_said(facts, said);
    if (tbk_loop_interrupted() != 0)
      tbk_facts_refuse(facts, TBK_EXIT_INTERRUPTED, "", "interrupted");
    else if (tbk_said_find(said, "error") != NULL)
      refuse_error(facts, options, tbk_said_find(said, "error"));
    else if (tbk_said_find(said, "opened") == NULL)
      refuse_death(facts, options, said, &outcome);
    else if (tbk_said_find(said, "gate") == NULL && skip == 0) {
      skip = TBK_SKIP_PROBE; /* it died in the probe: tests will show why; go on without gates */
      continue;
    }
    facts->sound = tbk_health_of(said, &outcome, facts->health, sizeof facts->health);
    return;
  }
}
