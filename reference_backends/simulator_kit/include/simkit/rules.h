/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.h: what a simulated driver asks of a program, and how it says that something was broken. The
 * sentences are the driver's own; the kit knows none.
 */
#ifndef SIMKIT_RULES_H
#define SIMKIT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How firmly a sentence stands:
 *   SIM_DOCUMENTED  the page names the error that is answered, or forbids it in so many words
 *   SIM_UNDEFINED   the page forbids it or is silent, and does not say what happens
 *   SIM_GUESS       our guess of what is wise: a warning, and the call goes on
 */
typedef enum sim_class { SIM_DOCUMENTED, SIM_UNDEFINED, SIM_GUESS } sim_class_t;

typedef struct sim_rule_row {
  int number;
  sim_class_t class;
  int answer;
  const char* source;
  const char* sentence;
} sim_rule_row_t;

/* What each simulator says of itself. */
typedef struct sim_driver {
  const char* name;           /* "CUDA": its variables are TBK_CUDA_SIMULATOR... */
  const char* prefix;         /* "SIM-CUDA": of its rules */
  const sim_rule_row_t* rows; /* by number */
  const uint64_t* answers;    /* an option: a broken rule is answered; else it ends the process */
  void (*told)(int rule);     /* called with each rule that is broken; may be NULL */
} sim_driver_t;
extern const sim_driver_t sim_driver;

/* Says that the rule is broken by `call`, and returns the answer; 0 where the call may go on. */
int sim_broken(int rule, const char* call);

#ifdef SIM_SITES
/* A place where a rule is found broken, for the tests of the tests: each can be switched off. */
typedef struct sim_site {
  int rule;
  int line;
  const char* file;
} sim_site_t;

/* Whether this place is the one that TBK_<NAME>_SIMULATOR_OFF names by its number. */
bool sim_is_off(const sim_site_t* site);

#define sim_broken(rule, call)                                                    \
  __extension__({                                                                 \
    static const sim_site_t site                                                  \
        __attribute__((section("sim_sites"), used)) = {rule, __LINE__, __FILE__}; \
    sim_is_off(&site) ? 0 : (sim_broken)(rule, call);                             \
  })
#endif

#endif /* SIMKIT_RULES_H */
