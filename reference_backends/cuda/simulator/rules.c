/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.c: a broken rule is written to the error stream, and ends the process like a sanitizer's
 * finding unless the option report=answer is given: a code alone might be dropped by who gets it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simulator.h"

static const struct {
  int number;
  sim_class_t class;
  cu_result answer;
  const char* source;
  const char* sentence;
} rules[] = {
#define SIM_RULE_ROW(name, number, class, answer, source, sentence) \
  [number] = {number, class, answer, source, sentence},
    SIM_RULES(SIM_RULE_ROW)
#undef SIM_RULE_ROW
};

static const char* const classes[] = {"documented", "undefined there", "our guess"};

static _Thread_local int broken;

int tbk_cuda_simulator_broken(void) {
  int last = broken;
  broken = 0;
  return last;
}

cu_result sim_broken(sim_rule_t rule, const char* call) {
  broken = (int)rule;
  bool guess = rules[rule].class == SIM_GUESS;
  fprintf(stderr, "SIM-CUDA-%03d: %s%s Broken by %s. (%s; %s)\n", rules[rule].number,
          guess ? "warning: " : "", rules[rule].sentence, call, classes[rules[rule].class],
          rules[rule].source);
  if (!guess && !(sim_options() && sim.own.answer)) abort();
  return rules[rule].answer;
}
