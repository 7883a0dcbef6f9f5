/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * preflight_torch.c: what would make every other verdict meaningless is found first, and is all that
 * is said then. Then the capabilities are probed, each of which may cost a process.
 */
#include "preflight.h"
#include "preflight_parts.h"
#include "text.h"

#include "fork_server.h"

#include <string.h>

enum { MOST_DEATHS = 4 };

/* ---------------------------------------------------------------------------------- basics --- */

static const char* text_of(const json_t* object, const char* key) {
  const char* text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

/* Importing may compile; what comes then is small. */
static uint64_t allowance(tbk_passage_t* passage, const json_t* object) {
  const uint64_t import_ns = passage->options->open_timeout_ns;
  if (strcmp(text_of(object, "name"), "import") == 0) return import_ns;
  return strcmp(text_of(object, "said"), "probing") == 0 ? import_ns / 6 : import_ns / 2;
}

static tbk_exit_t code_of(const char* stage) {
  return strcmp(stage, "import") == 0 ? TBK_EXIT_LIBRARY : TBK_EXIT_DEVICE;
}

static void refuse_basics(tbk_facts_t* facts, const tbk_options_t* options, const json_t* said,
                          const tbk_outcome_t* outcome) {
  const json_t* error = tbk_said_find(said, "error");
  const json_t* stage = tbk_said_find(said, "stage");
  char what[512], end[512];
  tbk_preflight_end(outcome, end, sizeof end);
  tbk_print(what, sizeof what, "%s: %s", tbk_options_subject(options),
            error != NULL ? text_of(error, "what") : text_of(stage, "text"));
  if (stage == NULL) tbk_print(what, sizeof what, "%s", tbk_options_subject(options));
  tbk_facts_refuse(facts, stage != NULL ? code_of(text_of(stage, "name")) : TBK_EXIT_SUITE, what,
                   error != NULL ? text_of(error, "reason") : end);
}

static void ask_basics(tbk_loop_t* loop, tbk_facts_t* facts, const tbk_limits_t* limits,
                       tbk_passage_t* passage) {
  const json_t* said = tbk_preflight_ask(loop, TBK_TORCH_BASICS, limits, passage);
  const json_t* opened = tbk_said_find(said, "opened");
  tbk_facts_read_backend(facts, said);
  if (tbk_loop_interrupted() != 0)
    tbk_facts_refuse(facts, TBK_EXIT_INTERRUPTED, "", "interrupted");
  else if (opened == NULL || tbk_said_find(said, "error") != NULL)
    refuse_basics(facts, passage->options, said, passage->outcome);
  facts->open_ns = (uint64_t)json_integer_value(json_object_get(opened, "duration_ns"));
  facts->exclusive = json_is_true(json_object_get(opened, "exclusive"));
  facts->import_ns = (uint64_t)json_integer_value(json_object_get(opened, "import_ns"));
  facts->sound = tbk_health_of(said, passage->outcome, facts->health, sizeof facts->health);
}

/* ------------------------------------------------------------------------------------ words --- */

static void note(tbk_facts_t* facts, const char* word, const char* what, const char* why) {
  char text[512];
  tbk_print(text, sizeof text, "%s%s%s", what, why[0] != '\0' && what[0] != '\0' ? ": " : "", why);
  if (text[0] != '\0') (void)json_object_set_new(facts->capability_notes, word, json_string(text));
}

/* Takes the answers; gives the number of the next word to ask for. */
static size_t take_answers(tbk_facts_t* facts, const json_t* said) {
  size_t next = 0;
  for (size_t i = 0; i < json_array_size(said); i++) {
    const json_t* object = json_array_get(said, i);
    if (strcmp(text_of(object, "said"), "probed") != 0) continue;
    next = (size_t)json_integer_value(json_object_get(object, "n")) + 1;
    (void)json_object_set(facts->capabilities, text_of(object, "word"),
                          json_object_get(object, "held"));
    note(facts, text_of(object, "word"), "", text_of(object, "reason"));
  }
  return next;
}

/*
 * A probe that kills its process is no honest "no": the word counts as held, so that the tests that
 * need it run, and show what is wrong.
 */
static void take_death(tbk_facts_t* facts, const char* word, const char* how, const char* why) {
  (void)json_object_set_new(facts->capabilities, word, json_null());
  note(facts, word, how, why);
}

static void hold_what_died(json_t* words) {
  const char* word;
  json_t* held;
  json_object_foreach(words, word, held) {
    if (json_is_null(held)) (void)json_object_set_new(words, word, json_true());
  }
}

static void ask_words(tbk_loop_t* loop, tbk_facts_t* facts, const tbk_limits_t* limits,
                      tbk_passage_t* passage) {
  const json_t* words = json_object_get(tbk_fork_server_suite(), "words");
  const size_t count = json_array_size(words);
  uint32_t deaths = 0;
  facts->capabilities = json_object();
  facts->capability_notes = json_object();
  for (size_t from = 0; from < count && tbk_loop_interrupted() == 0;) {
    char end[512];
    if (deaths == MOST_DEATHS) {
      take_death(facts, json_string_value(json_array_get(words, from++)),
                 "not probed, since other probes killed their processes", "");
      continue;
    }
    const json_t* said = tbk_preflight_ask(loop, TBK_TORCH_WORDS + (uint32_t)from, limits, passage);
    size_t next = take_answers(facts, said);
    from = next > from ? next : from;
    if (from >= count || tbk_loop_interrupted() != 0) break;
    tbk_preflight_end(passage->outcome, end, sizeof end);
    take_death(facts, json_string_value(json_array_get(words, from++)), "its probe does not end",
               end);
    deaths++;
  }
}

/* What is declared binds; what is probed beside it is told. */
static void apply_declared(tbk_facts_t* facts) {
  json_t* declared = json_object_get(tbk_fork_server_suite(), "declared");
  const char* word;
  json_t* probed;
  if (!json_is_object(declared)) {
    hold_what_died(facts->capabilities);
    return;
  }
  json_object_foreach(facts->capabilities, word, probed) {
    bool says = json_is_true(json_object_get(declared, word)), holds = json_is_true(probed);
    const char* reason = text_of(facts->capability_notes, word);
    char kept[512];
    tbk_print(kept, sizeof kept, "%s", reason);
    if (says && !holds) note(facts, word, "declared, and its probe fails", kept);
    if (!says && holds) note(facts, word, "not declared, and its probe succeeds", kept);
  }
  json_decref(facts->capabilities);
  facts->capabilities = json_object();
  const json_t* words = json_object_get(tbk_fork_server_suite(), "words");
  for (size_t i = 0; i < json_array_size(words); i++) {
    const char* name = json_string_value(json_array_get(words, i));
    bool says = json_is_true(json_object_get(declared, name));
    (void)json_object_set_new(facts->capabilities, name, json_boolean(says));
  }
}

/* -------------------------------------------------------------------------------------------- */

/* A device that has threads once it is imported hangs in a forked child, so the deadline is not that
 * of opening, but many times what importing and opening have taken. */
static bool ask_warmth(tbk_loop_t* loop, const tbk_facts_t* facts, const tbk_limits_t* limits,
                       tbk_passage_t* passage) {
  const uint64_t least_ns = UINT64_C(5000000000),
                 many_ns = 16 * (facts->import_ns + facts->open_ns);
  tbk_limits_t shorter = *limits;
  uint64_t enough_ns = many_ns > least_ns ? many_ns : least_ns;
  if (enough_ns < shorter.first_ns) shorter.first_ns = enough_ns;
  const json_t* said = tbk_preflight_ask(loop, TBK_TORCH_WARMTH, &shorter, passage);
  return json_is_true(json_object_get(tbk_said_find(said, "warm"), "ok"));
}

void tbk_preflight_torch(tbk_loop_t* loop, const tbk_options_t* options, tbk_facts_t* facts) {
  static tbk_outcome_t outcome;
  const tbk_limits_t limits = {.first_ns = options->open_timeout_ns,
                               .memory = options->memory_limit};
  tbk_passage_t passage = {.options = options, .outcome = &outcome, .allowance = allowance};
  *facts = (tbk_facts_t){.gate = TBK_GATE_UNKNOWN};
  ask_basics(loop, facts, &limits, &passage);
  if (facts->exit_code != TBK_EXIT_PASS) return;
  ask_words(loop, facts, &limits, &passage);
  apply_declared(facts);
  facts->warm = ask_warmth(loop, facts, &limits, &passage);
  if (!facts->warm) facts->open_ns += facts->import_ns;
  if (tbk_loop_interrupted() != 0) tbk_facts_refuse(facts, TBK_EXIT_INTERRUPTED, "", "interrupted");
  tbk_fork_server_tell(NULL, facts->capabilities, facts->warm);
  tbk_loop_renew(loop);
}
