/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kind_torch.c: the worker that runs pytest items, in a fork of the fork server.
 */
#include "kind.h"

#include "fork_server.h"
#include "preflight.h"
#include "shell.h"
#include "text.h"
#include "text_json.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* What cannot be a library is told at once, and not after PyTorch is imported. */
static tbk_exit_t start(const tbk_options_t* options, char* reason, size_t reason_size) {
  struct stat status;
  if (options->path != NULL && stat(options->path, &status) != 0) {
    tbk_print(reason, reason_size, "%.800s: %s", options->path, strerror(errno));
    return TBK_EXIT_LIBRARY;
  }
  if (options->path != NULL && !S_ISREG(status.st_mode)) {
    tbk_print(reason, reason_size, "%.800s: is not a regular file", options->path);
    return TBK_EXIT_LIBRARY;
  }
  return tbk_fork_server_start(options, reason, reason_size);
}

static bool prepare(const tbk_options_t* options, const tbk_run_plan_t* plan) {
  (void)options;
  tbk_fork_server_tell(plan, NULL, false);
  return true;
}

static bool is_capability(const char* word) {
  const json_t* words = json_object_get(tbk_fork_server_suite(), "words");
  for (size_t i = 0; i < json_array_size(words); i++)
    if (strcmp(json_string_value(json_array_get(words, i)), word) == 0) return true;
  return false;
}

static void assume(const tbk_facts_t* facts) {
  (void)facts; /* they are asked each time */
}

/* "!word" is one that must not hold. What was not probed does not hold. */
static const char* missing(const tbk_facts_t* facts, const char* needs) {
  static char word[64];
  while (needs != NULL && *(needs += strspn(needs, " ")) != '\0') {
    size_t length = strcspn(needs, " "), negated = *needs == '!';
    tbk_print(word, sizeof word, "%.*s", (int)length, needs);
    if (json_is_true(json_object_get(facts->capabilities, word + negated)) == (negated != 0))
      return word;
    needs += length;
  }
  return NULL;
}

static const char* contracts_digest(void) {
  return json_string_value(json_object_get(tbk_fork_server_suite(), "digest"));
}

static json_t* spec(void) {
  const json_t* told = tbk_fork_server_suite();
  if (told == NULL) return tbk_kind_c.spec();
  return json_pack("{s:O,s:O}", "digest", json_object_get(told, "spec"), "clauses",
                   json_object_get(told, "clauses"));
}

static json_t* torch_version(void) {
  json_t* version = json_object_get(tbk_fork_server_suite(), "torch");
  return version != NULL ? json_incref(version) : json_null();
}

static void describe(json_t* header, const tbk_options_t* options, const tbk_facts_t* facts) {
  json_t* object = json_object();
  const char* device = options->torch_device;
  if (device == NULL) device = json_string_value(json_object_get(facts->backend, "name"));
  (void)json_object_set_new(object, "device", tbk_text_json(device));
  (void)json_object_set_new(object, "version", torch_version());
  (void)json_object_set_new(
      object, "imports",
      tbk_texts_json(options->torch_imports.items, options->torch_imports.count));
  (void)json_object_set_new(object, "python", tbk_text_json(options->python));
  (void)json_object_set_new(object, "declared", tbk_text_json(options->declared));
  (void)json_object_set_new(object, "warm", json_boolean(facts->warm));
  (void)json_object_set_new(header, "torch", object);
  json_t* notes = facts->capability_notes;
  (void)json_object_set_new(header, "capability_notes",
                            notes != NULL ? json_incref(notes) : json_object());
}

static void add_subject(char* out, size_t size, const tbk_options_t* options) {
  tbk_shell_option(out, size, "--torch-device", options->torch_device);
  tbk_shell_option(out, size, "--torch-library", options->library);
  for (size_t i = 0; i < options->torch_imports.count; i++)
    tbk_shell_option(out, size, "--torch-import", options->torch_imports.items[i]);
  tbk_shell_option(out, size, "--facts", options->declared);
  if (strcmp(options->python, "python3") != 0)
    tbk_shell_option(out, size, "--python", options->python);
}

const tbk_kind_t tbk_kind_torch = {
    .layer = "torch",
    .start = start,
    .tests = tbk_fork_server_tests,
    .prepare = prepare,
    .launchers = &tbk_fork_server_launchers,
    .preflight = tbk_preflight_torch,
    .is_capability = is_capability,
    .assume = assume,
    .missing = missing,
    .contracts_digest = contracts_digest,
    .spec = spec,
    .describe = describe,
    .add_subject = add_subject,
};
