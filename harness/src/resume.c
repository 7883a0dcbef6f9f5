/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * resume.c: see resume.h.
 */
#include "resume.h"

#include "regular.h"
#include "text.h"

#include "digest.h"
#include "record.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct reader {
  tbk_resume_t* out;
  const tbk_options_t* options;
  const tbk_run_plan_t* plan;
  unsigned char* recorded;
  unsigned char* first;
  tbk_ledger_t* ledger;
};

static const char* text_at(const json_t* object, const char* outer, const char* key) {
  const json_t* from = outer != NULL ? json_object_get(object, outer) : object;
  const char* text = json_string_value(json_object_get(from, key));
  return text != NULL ? text : "";
}

/* Our own lines are at most this deep; a reader of theirs may have no room for a deeper one. */
enum { DEEPEST = 16 };

static bool is_deeper(const json_t* value, int most) {
  const char* key;
  const json_t* inner;
  size_t i;
  bool deeper = most < 0;
  json_array_foreach(value, i, inner) {
    deeper = deeper || is_deeper(inner, most - 1);
  }
  json_object_foreach((json_t*)(uintptr_t)value, key, inner) {
    deeper = deeper || is_deeper(inner, most - 1);
  }
  return deeper;
}

static void differ(struct reader* reader, const char* what) {
  if (reader->out->reason[0] == '\0')
    tbk_print(reader->out->reason, sizeof reader->out->reason, "it was made with another %s", what);
}

static void compare_digest(struct reader* reader, const json_t* header, const char* outer,
                           const char* digest, const char* what) {
  if (strcmp(digest, text_at(header, outer, "digest")) != 0) differ(reader, what);
}

static void compare_backend(struct reader* reader, const json_t* header) {
  const tbk_options_t* options = reader->options;
  char digest[TBK_DIGEST_SIZE] = "";
  if (options->path != NULL) (void)tbk_digest_file(options->path, digest);
  compare_digest(reader, header, "backend", digest, "backend library");
  if (options->torch_device != NULL &&
      strcmp(text_at(header, "torch", "device"), options->torch_device) != 0)
    differ(reader, "device");
  const char* declared = options->declared != NULL ? options->declared : "";
  if (strcmp(text_at(header, "torch", "declared"), declared) != 0)
    differ(reader, "file of capabilities");
}

static void compare_number(struct reader* reader, const json_t* header, const char* key,
                           uint64_t expected) {
  const json_t* value = json_object_get(header, key);
  if (!json_is_integer(value) || (uint64_t)json_integer_value(value) != expected)
    differ(reader, key);
}

static void compare_words(struct reader* reader, const json_t* told, const tbk_words_t* words,
                          const char* what) {
  bool same = json_array_size(told) == words->count;
  for (size_t i = 0; same && i < words->count; i++) {
    const char* word = json_string_value(json_array_get(told, i));
    same = word != NULL && strcmp(word, words->items[i]) == 0;
  }
  if (!same) differ(reader, what);
}

static void take_header(struct reader* reader, const json_t* header) {
  const tbk_options_t* options = reader->options;
  const char* given = options->backend_option_text;
  char shard[32];
  tbk_print(shard, sizeof shard, "%u/%u", options->shard_index, options->shard_count);
  reader->out->has_header = true;
  char suite[TBK_DIGEST_SIZE];
  tbk_suite_digest(options, suite);
  compare_backend(reader, header);
  compare_digest(reader, header, "suite", suite, "version of the suite");
  if (strcmp(text_at(header, "backend", "options"), given != NULL ? given : "") != 0)
    differ(reader, "set of backend options");
  compare_words(reader, json_object_get(header, "selection"), &options->only, "selection");
  compare_words(reader, json_object_get(header, "required"), &options->require,
                "set of required capabilities");
  compare_number(reader, header, "seed", options->seed);
  compare_number(reader, header, "repeat", options->repeat);
  compare_number(reader, header, "planned", reader->plan->item_count);
  if (options->shuffle)
    compare_number(reader, header, "shuffle", options->shuffle_seed);
  else if (json_is_integer(json_object_get(header, "shuffle")))
    differ(reader, "shuffle");
  if (strcmp(text_at(header, NULL, "shard"), shard) != 0) differ(reader, "shard");
  char timings[TBK_DIGEST_SIZE] = "";
  if (options->timings_path != NULL) (void)tbk_digest_file(options->timings_path, timings);
  if (strcmp(text_at(header, NULL, "timings"), timings) != 0) differ(reader, "file of timings");
  if (strcmp(text_at(header, NULL, "tier"), tbk_tier_name(options->tier)) != 0)
    differ(reader, "tier");
  if (json_is_true(json_object_get(header, "budget")) != (options->budget_ns > 0))
    differ(reader, "order, with --budget or without");
}

/* False for a record that the plan does not know, or that is there twice, or was not reached. */
static bool take_test(struct reader* reader, const json_t* record) {
  const json_t* index = json_object_get(record, "index");
  tbk_verdict_t verdict = tbk_verdict_of(text_at(record, NULL, "verdict"));
  if (!json_is_integer(index) || verdict == TBK_VERDICT_COUNT ||
      verdict == TBK_VERDICT_NOT_REACHED || verdict == TBK_VERDICT_LEFT_OUT)
    return false;
  uint64_t item = (uint64_t)json_integer_value(index);
  if (item >= reader->plan->item_count || reader->recorded[item]) return false;
  uint32_t test = reader->plan->items[item].test;
  if (strcmp(reader->plan->tests[test].id, text_at(record, NULL, "id")) != 0) return false;
  reader->recorded[item] = 1;
  if (reader->first[test] == 0) reader->first[test] = (unsigned char)(1 + verdict);
  reader->ledger->counts[verdict]++;
  reader->out->kept++;
  return true;
}

/* Returns whether what it says of the records is what they come to. */
static bool fits_records(const struct reader* reader, const json_t* footer) {
  const json_t* counts = json_object_get(footer, "counts");
  const json_int_t planned = json_integer_value(json_object_get(footer, "planned"));
  const json_int_t recorded = json_integer_value(json_object_get(footer, "recorded"));
  bool fits = planned == (json_int_t)reader->plan->item_count && recorded == planned &&
              json_object_size(counts) == TBK_VERDICT_COUNT &&
              strcmp(text_at(footer, NULL, "tier"), tbk_tier_name(reader->options->tier)) == 0;
  for (int i = 0; i < TBK_VERDICT_COUNT; i++) {
    const json_t* count = json_object_get(counts, tbk_verdict_name((tbk_verdict_t)i));
    fits = fits && json_is_integer(count) &&
           json_integer_value(count) == (json_int_t)reader->ledger->counts[i];
  }
  return fits;
}

static void take_footer(struct reader* reader, const json_t* footer, const char* line,
                        size_t size) {
  json_int_t code = json_integer_value(json_object_get(footer, "exit_code"));
  const char* health = text_at(footer, NULL, "health");
  if (strncmp(health, "lost", 4) == 0)
    tbk_print(reader->out->lost, sizeof reader->out->lost, "%s", health);
  reader->out->exit_code = (tbk_exit_t)code;
  reader->out->fits = fits_records(reader, footer);
  free(reader->out->footer);
  reader->out->footer = strndup(line, size);
  if (reader->out->footer == NULL) abort();
  reader->out->sick = health[0] != '\0' && strcmp(health, "ok") != 0;
  tbk_print(reader->out->digest, sizeof reader->out->digest, "%s", text_at(footer, NULL, "digest"));
  reader->out->complete =
      reader->out->kept == reader->plan->item_count &&
      (code == TBK_EXIT_PASS || code == TBK_EXIT_FINDINGS || code == TBK_EXIT_SUITE);
}

static bool is_kept(struct reader* reader, const char* line, size_t size) {
  json_t* object = json_loadb(line, size, 0, NULL);
  const char* record = is_deeper(object, DEEPEST) ? "" : text_at(object, NULL, "record");
  bool kept = false;
  if (strcmp(record, "header") == 0 && !reader->out->has_header) {
    take_header(reader, object);
    kept = true;
  } else if (strcmp(record, "test") == 0 && reader->out->has_header) {
    kept = take_test(reader, object);
  } else if (strcmp(record, "footer") == 0 && reader->out->has_header) {
    take_footer(reader, object, line, size);
  }
  json_decref(object);
  return kept;
}

static void keep(tbk_resume_t* resume, const char* line, size_t size) {
  char* grown = realloc(resume->lines, resume->size + size);
  if (grown == NULL) abort();
  memcpy(grown + resume->size, line, size);
  resume->lines = grown;
  resume->size += size;
}

/* More than any line of ours has. */
enum { LONGEST_LINE = 1 << 20 };

/*
 * Reads a line with its newline into `line`, which has LONGEST_LINE bytes. Returns its size; 0 for a
 * line that is longer, of which nothing is kept; -1 where no whole line follows.
 */
static ssize_t next_line(FILE* file, char* line) {
  size_t size = 0;
  for (int c; (c = getc_unlocked(file)) != EOF; size++) {
    if (size < LONGEST_LINE) line[size] = (char)c;
    if (c == '\n') return size < LONGEST_LINE ? (ssize_t)size + 1 : 0;
  }
  return -1;
}

/* Opens what may be a result file of the plan; NULL where there is none. A larger one, which may be
 * a hole without an end, is refused. */
static FILE* open_results(struct reader* reader, const char* path) {
  const off_t most = ((off_t)reader->plan->item_count + 2) * LONGEST_LINE;
  struct stat status;
  FILE* file = tbk_open_regular(path);
  if (file == NULL || fstat(fileno(file), &status) != 0 || status.st_size <= most) return file;
  tbk_print(reader->out->reason, sizeof reader->out->reason,
            "its %lld bytes are more than this run can have written", (long long)status.st_size);
  (void)fclose(file);
  return NULL;
}

void tbk_resume_read(tbk_resume_t* resume, const char* path, const tbk_options_t* options,
                     const tbk_run_plan_t* plan, unsigned char* recorded, unsigned char* first,
                     tbk_ledger_t* ledger) {
  struct reader reader = {resume, options, plan, recorded, first, ledger};
  char* line = malloc(LONGEST_LINE);
  ssize_t size;
  bool dropped = false;
  if (line == NULL) abort();
  *resume = (tbk_resume_t){0};
  FILE* file = open_results(&reader, path);
  while (file != NULL && (size = next_line(file, line)) >= 0) {
    if (size == 0 || !is_kept(&reader, line, (size_t)size - 1)) {
      dropped = true;
      continue;
    }
    resume->scattered = resume->scattered || dropped;
    keep(resume, line, (size_t)size);
  }
  free(line);
  if (file == NULL) return;
  const size_t tidy = resume->size + (resume->footer != NULL ? strlen(resume->footer) + 1 : 0);
  resume->untidy =
      resume->scattered || fseeko(file, 0, SEEK_END) != 0 || ftello(file) != (off_t)tidy;
  (void)fclose(file);
}

void tbk_resume_free(tbk_resume_t* resume) {
  free(resume->lines);
  free(resume->footer);
  resume->lines = resume->footer = NULL;
}
