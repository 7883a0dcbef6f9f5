/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generator_self.c: whether what is drawn is defined, the same each time, and reaches all.
 */
#include <stdio.h>
#include <string.h>

#include "coverage.h"
#include "self.h"

static bool is_same_call(const litmus_call_t* a, const litmus_call_t* b) {
  return a->op == b->op && a->stream == b->stream && a->event == b->event && a->cell == b->cell &&
         a->other == b->other && a->slot == b->slot && a->device == b->device &&
         a->value == b->value && a->mark == b->mark && a->id == b->id &&
         a->microseconds == b->microseconds && a->thread == b->thread &&
         a->meanwhile == b->meanwhile && a->first_part == b->first_part && a->parts == b->parts &&
         a->blocks == b->blocks;
}

bool is_same_program(const litmus_program_t* a, const litmus_program_t* b) {
  bool same = a->count == b->count && a->devices == b->devices && a->crosses == b->crosses &&
              a->size_bytes == b->size_bytes && a->threads == b->threads && a->races == b->races &&
              a->parts == b->parts;
  for (uint32_t i = 0; same && i + 1 < a->parts; i++)
    same = a->ends[i] == b->ends[i];
  for (uint32_t i = 0; same && i < a->count; i++)
    same = is_same_call(&a->calls[i], &b->calls[i]);
  return same;
}

/* One thread alone, and one of two, know the same. */
static void threads_that_do_nothing_change_nothing(const litmus_model_t* model,
                                                   const litmus_program_t* program) {
  static litmus_model_t other;
  litmus_program_t same = *program;
  if (program->threads > 1) return;
  same.threads = 2;
  check(litmus_model_build(&other, &same, 0, 0, 0), "is not defined", "with an idle thread");
  for (uint32_t i = 0; i < model->read_count; i++)
    check(memcmp(&model->reads[i].sees, &other.reads[i].sees, sizeof other.reads[i].sees) == 0,
          "sees something else", "with an idle thread");
}

static litmus_coverage_t coverage;

static void look_at_edges(const litmus_model_t* model) {
  litmus_cover(&coverage, model);
  threads_that_do_nothing_change_nothing(model, model->program);
}

static void says_the_same(const litmus_model_t* model, const litmus_model_t* again,
                          const char* what) {
  check(again->node_count == model->node_count && again->read_count == model->read_count,
        "has other nodes", what);
  for (uint32_t i = 0; i < model->node_count; i++)
    check(
        memcmp(&again->nodes[i].before, &model->nodes[i].before, sizeof again->nodes->before) == 0,
        "orders in another way", what);
  for (uint32_t i = 0; i < model->read_count; i++)
    check(
        memcmp(&again->reads[i].values, &model->reads[i].values, sizeof again->reads->values) == 0,
        "sees something else", what);
}

/* Whichever polls were answered: drawn, so that some are and some are not. */
static void answers_come_late(const litmus_model_t* grown, uint64_t index) {
  static litmus_model_t told, asked;
  uint64_t random = index;
  const uint64_t answered = litmus_random(&random);
  if (!litmus_takes_answers(grown)) return;
  told = *grown;
  litmus_model_answer(&told, answered);
  litmus_model_end(&told);
  litmus_model_replay(&asked, grown->program, answered);
  says_the_same(&asked, &told, "a model that was told of answers later");
}

/* What is known to be defined is judged by a model that grew without asking, or with its program. */
static void all_models_say_the_same(const litmus_model_t* model, litmus_model_t* grown) {
  static litmus_model_t again;
  litmus_model_replay(&again, model->program, 0);
  says_the_same(model, &again, "a replay");
  litmus_model_end(grown);
  says_the_same(model, grown, "a model that grew with its program");
}

void check_generator(const litmus_offers_t* offers, void (*look)(const litmus_model_t* model)) {
  static litmus_model_t model, grown;
  uint64_t ops[LITMUS_OPS] = {0};
  for (uint64_t i = 0; i < PROGRAMS; i++) {
    litmus_program_t program, again;
    litmus_generate(&program, offers, 7, i, &model);
    litmus_generate(&again, offers, 7, i, &grown);
    check(is_same_program(&program, &again), "differs", "the same program again");
    check(litmus_model_build(&model, &program, 0, 0, 0), "is not defined", "a program");
    answers_come_late(&grown, i);
    all_models_say_the_same(&model, &grown);
    look(&model);
    for (uint32_t c = 0; c < program.count; c++)
      ops[program.calls[c].op]++;
  }
  for (int op = 0; op < LITMUS_OPS; op++)
    if (litmus_has_call(offers->torch, (litmus_op_t)op))
      check(ops[op] >= LEAST_PAIRS, "is hardly drawn", "an operation");
    else
      check(ops[op] == 0, "is drawn, and there is none", "an operation");
}

void check_generated_pairs(void) {
  litmus_offers_t offers = offers_of_all();
  offers.threads_in = offers.parts_in = 4;
  offers.races = offers.delays = true;
  check_generator(&offers, look_at_edges);
  for (litmus_edge_t first = 0; first < LITMUS_EDGES; first++)
    for (litmus_edge_t next = 0; next < LITMUS_EDGES; next++) {
      const uint64_t count = coverage.programs[first][next];
      if (!litmus_is_edge(first) || !litmus_is_edge(next) || count >= LEAST_PAIRS) continue;
      printf("FAULT: %s before %s: in %llu programs\n", litmus_edge_name((int)first),
             litmus_edge_name((int)next), (unsigned long long)count);
      faults++;
    }
}
