/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * header.c: the first line of a result file, and the last. Trees are built with jansson.
 */
#include "record.h"

#include "enough.h"
#include "kind.h"
#include "protocol.h"
#include "text.h"
#include "text_json.h"
#include "tree.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static json_t* time_now(void) {
  char buffer[32];
  time_t now = time(NULL);
  struct tm utc;
  (void)gmtime_r(&now, &utc);
  (void)strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return json_string(buffer);
}

static json_t* digest_of(const char* path) {
  char digest[TBK_DIGEST_SIZE];
  return path != NULL && tbk_digest_file(path, digest) ? json_string(digest) : json_null();
}

void tbk_suite_digest(const tbk_options_t* options, char out[TBK_DIGEST_SIZE]) {
  struct sha256_ctx context;
  (void)tbk_digest_file("/proc/self/exe", out);
  const char* contracts = tbk_kind_of(options)->contracts_digest();
  if (contracts == NULL) return;
  sha256_init(&context);
  sha256_update(&context, strlen(out), (const uint8_t*)out);
  sha256_update(&context, strlen(contracts), (const uint8_t*)contracts);
  tbk_digest_text(&context, out);
}

/* The value behind "key :" or "key=" in a file of such lines; "" where it is not there. */
static void line_value(const char* path, const char* key, char* out, size_t size) {
  char line[512];
  FILE* file = fopen(path, "re");
  out[0] = '\0';
  while (file != NULL && out[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    char* value = line + strcspn(line, ":=");
    value += strspn(value, ":= \t\"");
    value[strcspn(value, "\"\n")] = '\0';
    tbk_print(out, size, "%s", value);
  }
  if (file != NULL) (void)fclose(file);
}

/* Returns what holds the processes that a test starts, and their memory, on this machine. */
static const char* processes_held_by(void) {
  return tbk_tree_is_told() ? "a count of all that a test has started"
                            : "its process group alone: the kernel lists no children";
}

static const char* memory_held_by(void) {
  if (!tbk_resident_is_told()) return "nothing: the kernel tells of no memory";
  return tbk_tree_is_told() ? "the sum over all that a test has started" : "a test's own process";
}

static json_t* machine(void) {
  char os[256], cpu[256];
  struct utsname name;
  line_value("/etc/os-release", "PRETTY_NAME", os, sizeof os);
  line_value("/proc/cpuinfo", "model name", cpu, sizeof cpu);
  if (uname(&name) != 0) (void)strcpy(name.release, "");
  return json_pack("{s:o,s:o,s:o,s:I,s:s,s:s,s:o}", "host_os", tbk_text_json(os), "kernel",
                   tbk_text_json(name.release), "cpu", tbk_text_json(cpu), "cores",
                   (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "processes_held_by",
                   processes_held_by(), "memory_held_by", memory_held_by(), "limits",
                   tbk_limits_json());
}

static json_t* backend(const tbk_options_t* options, const tbk_facts_t* facts) {
  json_t* object = json_object();
  (void)json_object_set_new(
      object, "path", tbk_text_json(options->path ? options->path : tbk_options_subject(options)));
  (void)json_object_set_new(object, "digest", digest_of(options->path));
  static const char* const keys[] = {"name", "version", "abi_version"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    json_t* value = json_object_get(facts->backend, keys[i]);
    (void)json_object_set_new(object, keys[i], value ? json_incref(value) : json_null());
  }
  (void)json_object_set_new(object, "options", tbk_text_json(options->backend_option_text));
  if (json_array_size(facts->unverified) > 0)
    (void)json_object_set(object, "unverified", facts->unverified);
  return object;
}

static json_t* copy_or(json_t* value, json_t* otherwise) {
  if (value == NULL) return otherwise;
  json_decref(otherwise);
  return json_incref(value);
}

static json_t* suite(const tbk_options_t* options) {
  char digest[TBK_DIGEST_SIZE];
  tbk_suite_digest(options, digest);
  return json_pack("{s:s,s:s}", "version", TBK_VERSION, "digest", digest);
}

static void add_request(json_t* header, const tbk_options_t* options, const tbk_run_plan_t* plan) {
  char shard[32];
  tbk_print(shard, sizeof shard, "%u/%u", options->shard_index, options->shard_count);
  (void)json_object_set_new(
      header, "command", tbk_texts_json((const char* const*)options->argv, (size_t)options->argc));
  (void)json_object_set_new(header, "seed", json_integer((json_int_t)options->seed));
  (void)json_object_set_new(header, "planned", json_integer((json_int_t)plan->item_count));
  (void)json_object_set_new(header, "selection",
                            tbk_texts_json(options->only.items, options->only.count));
  (void)json_object_set_new(header, "required",
                            tbk_texts_json(options->require.items, options->require.count));
  (void)json_object_set_new(header, "tier", json_string(tbk_tier_name(options->tier)));
  (void)json_object_set_new(header, "budget", json_boolean(options->budget_ns > 0));
  (void)json_object_set_new(header, "shard", json_string(shard));
  (void)json_object_set_new(header, "timings", digest_of(options->timings_path));
  (void)json_object_set_new(
      header, "shuffle",
      options->shuffle ? json_integer((json_int_t)options->shuffle_seed) : json_null());
  (void)json_object_set_new(header, "repeat", json_integer((json_int_t)options->repeat));
}

static void add_line(tbk_results_t* results, json_t* object) {
  char* line = json_dumps(object, JSON_COMPACT);
  if (line == NULL) abort();
  tbk_results_add(results, line, strlen(line));
  tbk_results_add(results, "\n", 1);
  free(line);
  json_decref(object);
}

/* Returns what the digits of a test's "calls" stand for. */
static json_t* traced_calls(void) {
  json_t* names = json_array();
  const char* name;
  for (size_t i = 1; (name = tbk_trace_name(i)) != NULL; i++)
    (void)json_array_append_new(names, json_string(name));
  return names;
}

void tbk_record_header(tbk_results_t* results, const tbk_options_t* options,
                       const tbk_run_plan_t* plan, const tbk_facts_t* facts,
                       tbk_isolation_t isolation) {
  const tbk_kind_t* kind = tbk_kind_of(options);
  json_t* header = json_pack("{s:s,s:i,s:s,s:o,s:o}", "record", "header", "format", 1, "layer",
                             kind->layer, "suite", suite(options), "spec", kind->spec());
  (void)json_object_set_new(header, "backend", backend(options, facts));
  (void)json_object_set_new(header, "devices", copy_or(facts->devices, json_array()));
  (void)json_object_set_new(header, "capabilities", copy_or(facts->capabilities, json_object()));
  kind->describe(header, options, facts);
  (void)json_object_set_new(header, "traced", traced_calls());
  (void)json_object_set_new(header, "machine", machine());
  add_request(header, options, plan);
  if (facts->jobs > 0)
    (void)json_object_set_new(header, "jobs", json_integer((json_int_t)facts->jobs));
  (void)json_object_set_new(header, "isolation",
                            json_string(isolation == TBK_ISOLATION_BATCH ? "batch" : "fork"));
  (void)json_object_set_new(header, "gate", json_string(tbk_gate_name(facts->gate)));
  (void)json_object_set_new(header, "started", time_now());
  add_line(results, header);
}

static const char* run_verdict(tbk_exit_t exit_code) {
  if (exit_code == TBK_EXIT_PASS) return "pass";
  return exit_code == TBK_EXIT_FINDINGS ? "fail" : "error";
}

void tbk_record_footer(tbk_results_t* results, const tbk_footer_t* footer) {
  char digest[TBK_DIGEST_SIZE];
  json_t* counts = json_object();
  if (!tbk_results_flush(results)) {
    json_decref(counts);
    return;
  }
  for (int i = 0; i < TBK_VERDICT_COUNT; i++)
    (void)json_object_set_new(counts, tbk_verdict_name((tbk_verdict_t)i),
                              json_integer((json_int_t)footer->ledger->counts[i]));
  tbk_digest_text(&results->digest, digest);
  json_t* object =
      json_pack("{s:s,s:o,s:I,s:I,s:s,s:i,s:s,s:o,s:I,s:o,s:o}", "record", "footer", "counts",
                counts, "planned", (json_int_t)footer->ledger->planned, "recorded",
                (json_int_t)tbk_ledger_recorded(footer->ledger), "verdict",
                run_verdict(footer->exit_code), "exit_code", (int)footer->exit_code, "digest",
                digest, "finished", time_now(), "duration_ns", (json_int_t)footer->duration_ns,
                "health", tbk_text_json(footer->health), "reason", tbk_text_json(footer->reason));
  (void)json_object_set_new(object, "tier", json_string(tbk_tier_name(footer->tier)));
  (void)json_object_set_new(object, "simulated", json_boolean(footer->simulated));
  add_line(results, object);
  (void)tbk_results_flush(results);
}
