/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kind.c: the kind for a command line, and the worker in C.
 */
#include "kind.h"

#include "child.h"
#include "preflight.h"
#include "shell.h"

const tbk_kind_t* tbk_kind_of(const tbk_options_t* options) {
  return options->torch ? &tbk_kind_torch : &tbk_kind_c;
}

static tbk_exit_t start(const tbk_options_t* options, char* reason, size_t reason_size) {
  (void)options;
  (void)reason;
  (void)reason_size;
  return TBK_EXIT_PASS; /* the tests are part of this program */
}

static bool is_capability(const char* word) {
  return tbk_needs_known(word) && word[0] != '!';
}

static void assume(const tbk_facts_t* facts) {
  tbk_needs_assume(&facts->held);
}

static const char* missing(const tbk_facts_t* facts, const char* needs) {
  (void)facts;
  return needs != NULL ? tbk_needs_missing(NULL, needs) : NULL;
}

static const char* contracts_digest(void) {
  return NULL;
}

static json_t* spec(void) {
  return json_pack("{s:s,s:I}", "digest", tbk_spec_digest, "clauses", (json_int_t)tbk_clause_count);
}

static void describe(json_t* header, const tbk_options_t* options, const tbk_facts_t* facts) {
  (void)header; /* every header has it */
  (void)options;
  (void)facts;
}

static void add_subject(char* out, size_t size, const tbk_options_t* options) {
  tbk_shell_add(out, size, options->library);
}

const tbk_kind_t tbk_kind_c = {
    .layer = "c",
    .start = start,
    .tests = tbk_plan_cases,
    .prepare = tbk_child_prepare,
    .launchers = &tbk_child_launchers,
    .preflight = tbk_preflight,
    .is_capability = is_capability,
    .assume = assume,
    .missing = missing,
    .contracts_digest = contracts_digest,
    .spec = spec,
    .describe = describe,
    .add_subject = add_subject,
};
