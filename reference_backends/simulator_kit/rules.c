/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.c: a broken rule is written to the error stream, and ends the process like a sanitizer's
 * finding unless the option report=answer is given: a code alone might be dropped by who gets it.
 */
#include <simkit/machine.h>
#include <stdio.h>
#include <stdlib.h>

#define SIM_EXPORT __attribute__((visibility("default")))

/* Returns the number of the rule that this thread broke last, and forgets it; 0 for none. */
SIM_EXPORT int tbk_simulator_broken(void);

static const char* const classes[] = {"documented", "undefined there", "our guess"};

static _Thread_local int broken;

int tbk_simulator_broken(void) {
  int last = broken;
  broken = 0;
  return last;
}

static const char* variable(const char* suffix) {
  char name[64];
  snprintf(name, sizeof name, "TBK_%s_SIMULATOR_%s", sim_driver.name, suffix);
  return getenv(name);
}

static void say(FILE* to, int rule, const char* call) {
  const sim_rule_row_t* row = &sim_driver.rows[rule];
  fprintf(to, "%s-%03d: %s%s Broken by %s. (%s; %s)\n", sim_driver.prefix, row->number,
          row->class == SIM_GUESS ? "warning: " : "", row->sentence, call, classes[row->class],
          row->source);
}

/* For whoever does not see what a process writes to its error stream. */
static void log_broken(int rule, const char* call) {
  const char* path = variable("LOG");
  FILE* file = path != NULL ? fopen(path, "ae") : NULL;
  if (file == NULL) return;
  say(file, rule, call);
  fclose(file);
}

#ifdef SIM_SITES
/* The linker puts these around the section. */
extern const sim_site_t __start_sim_sites[];
extern const sim_site_t __stop_sim_sites[];

bool sim_is_off(const sim_site_t* site) {
  const char* off = variable("OFF");
  return off != NULL && site - __start_sim_sites == strtol(off, NULL, 10);
}

/* Returns site `number`; NULL where there are no more. */
SIM_EXPORT const sim_site_t* tbk_simulator_site(size_t number);
const sim_site_t* tbk_simulator_site(size_t number) {
  size_t count = (size_t)(__stop_sim_sites - __start_sim_sites);
  return number < count ? &__start_sim_sites[number] : NULL;
}
#endif

int(sim_broken)(int rule, const char* call) {
  const sim_rule_row_t* row = &sim_driver.rows[rule];
  broken = rule;
  if (sim_driver.told != NULL) sim_driver.told(rule);
  say(stderr, rule, call);
  log_broken(rule, call);
  if (row->class != SIM_GUESS && !(sim_options() && *sim_driver.answers != 0)) abort();
  return row->answer;
}
