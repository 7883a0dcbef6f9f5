/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of a row's `needs`, and what each asks of a backend.
 */
#include "needs.h"
#include "resources.h"
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the answer to a word stands. */
enum source { FROM_TABLES, FROM_PROPERTIES, FROM_OPEN_DEVICE };

/* What the sources FROM_TABLES and FROM_PROPERTIES are asked with. */
struct facts {
  const tbk_backend_t* backend;
  int32_t device_count;
  tbk_device_properties_t properties;
};

struct word;
typedef bool (*answer_fn)(const struct facts* facts, const struct word* word);

struct word {
  const char* negated; /* "!word", so that both forms can be handed out */
  enum source source;
  answer_fn answer;
  const char* table; /* of has_table and has_entry */
  uint64_t bits;     /* a flag, a dtype, the offset of an entry, the version of an operator */
};

static bool has_table(const struct facts* facts, const struct word* word) {
  return tbk_table_usable(facts->backend, word->table);
}

static bool has_entry(const struct facts* facts, const struct word* word) {
  return tbk_table_has_entry(facts->backend, word->table, (size_t)word->bits);
}

static bool has_flag(const struct facts* facts, const struct word* word) {
  return (facts->properties.flags & word->bits) == word->bits;
}

static bool has_dtype(const struct facts* facts, const struct word* word) {
  return (facts->properties.dtypes & word->bits) == word->bits;
}

static bool has_memory_bytes(const struct facts* facts, const struct word* word) {
  (void)word;
  return facts->properties.memory_bytes != 0;
}

static bool has_max_allocation(const struct facts* facts, const struct word* word) {
  (void)word;
  return facts->properties.max_allocation_bytes != 0;
}

static bool has_granularity(const struct facts* facts, const struct word* word) {
  (void)word;
  return facts->properties.copy_granularity > 1;
}

static bool has_two_devices(const struct facts* facts, const struct word* word) {
  (void)word;
  return facts->device_count >= 2;
}

#define TABLE(name, type, needs) {"!" #name, FROM_TABLES, has_table, #name, 0},
#define ENTRY(table, type, function, word) \
  {"!" word, FROM_TABLES, has_entry, #table, offsetof(type, function)},
#define PROPERTY(name) {"!" #name, FROM_PROPERTIES, has_##name, NULL, 0},
#define FLAG(word, flag) {"!" word, FROM_PROPERTIES, has_flag, NULL, flag},
#define KERNELS(name) {"!" #name, FROM_OPEN_DEVICE, NULL, NULL, 0},
#define OPERATOR(name) {"!op:" TBK_NAME_##name, FROM_OPEN_DEVICE, NULL, NULL, TBK_VERSION_##name},
#define DTYPE(name, value, size_bytes) \
  {"!dtype:" #name, FROM_PROPERTIES, has_dtype, NULL, UINT64_C(1) << (value)},

static const struct word words[] = {TBK_TABLE_MAP(TABLE) TBK_OPTIONAL_MAP(ENTRY)
                                        TBK_NEED_PROPERTIES(PROPERTY) TBK_DEVICE_FLAG_MAP(FLAG)
                                            TBK_NEED_KERNELS(KERNELS) TBK_OPERATOR_MAP(OPERATOR)
                                                TBK_GENERIC_KERNELS(OPERATOR) TBK_DTYPE_MAP(DTYPE)};

_Static_assert(sizeof words / sizeof *words == TBK_NEED_COUNT, "a set has room for every word");

static struct {
  bool known;
  tbk_need_set_t held;
} assumed;

const char* tbk_need_word(size_t index) {
  return words[index].negated + 1;
}

void tbk_needs_assume(const tbk_need_set_t* held) {
  assumed.known = true;
  assumed.held = *held;
}

static struct facts gather(const tbk_backend_t* backend, bool with_properties) {
  struct facts facts = {.backend = backend};
  if (!with_properties) return facts;
  int32_t count = 0;
  if (backend->core->device_count(backend->instance, &count, NULL) != TBK_OK || count < 1) {
    return facts;
  }
  facts.device_count = count;
  facts.properties.struct_size = sizeof facts.properties;
  if (backend->core->device_properties(backend->instance, 0, &facts.properties, NULL) != TBK_OK) {
    facts.properties = (tbk_device_properties_t){0};
  }
  return facts;
}

static bool answer(const tbk_backend_t* backend, size_t index) {
  const struct word* word = &words[index];
  if (assumed.known) return tbk_need_set_has(&assumed.held, index);
  if (word->source == FROM_OPEN_DEVICE) return tbk_table_usable(backend, "kernel");
  struct facts facts = gather(backend, word->source == FROM_PROPERTIES);
  return word->answer(&facts, word);
}

static const tbk_kernel_t* find(tbk_fixture_t* fx, size_t index) {
  const struct word* word = &words[index];
  if (fx->kernel == NULL || strncmp(word->negated, "!op:", 4) != 0) return NULL;
  /* A product takes rank 2: where that is too much there is none to test. */
  if (strcmp(word->negated, "!op:" TBK_NAME_mm) == 0 && fx->properties.max_rank < 2) return NULL;
  return fx->kernel->kernel_find(fx->self, fx->device, word->negated + 4, (uint32_t)word->bits);
}

/* Some kernel has plans. */
static bool finds_prepare(tbk_fixture_t* fx) {
  for (size_t i = 0; i < TBK_NEED_COUNT; i++) {
    const tbk_kernel_t* kernel = find(fx, i);
    if (TBK_HAS(kernel, struct tbk_kernel, prepare)) return true;
  }
  return false;
}

/* Some generic kernel is offered. */
static bool finds_generic(tbk_fixture_t* fx) {
  for (size_t i = 0; i < TBK_NEED_COUNT; i++)
    if (strncmp(words[i].negated, "!op:tbk::", 9) == 0 && find(fx, i) != NULL) return true;
  return false;
}

static bool answer_open(tbk_fixture_t* fx, const struct facts* facts, size_t index) {
  if (words[index].source != FROM_OPEN_DEVICE) {
    return words[index].answer(facts, &words[index]);
  }
  if (strcmp(words[index].negated, "!prepare") == 0) return finds_prepare(fx);
  if (strcmp(words[index].negated, "!generic") == 0) return finds_generic(fx);
  return find(fx, index) != NULL;
}

tbk_need_set_t tbk_needs_probe(tbk_fixture_t* fx) {
  struct facts facts = {fx->backend, fx->device_count, fx->properties};
  tbk_need_set_t held = {{0}};
  for (size_t i = 0; i < TBK_NEED_COUNT; i++) {
    if (answer_open(fx, &facts, i)) tbk_need_set_add(&held, i);
  }
  return held;
}

/* Splits the next word off. */
static bool next_word(const char** needs, const char** out_word, size_t* out_length) {
  const char* start = *needs + strspn(*needs, " ");
  *out_word = start;
  *out_length = strcspn(start, " ");
  *needs = start + *out_length;
  return *out_length > 0;
}

static size_t index_of(const char* word, size_t length) {
  for (size_t i = 0; i < TBK_NEED_COUNT; i++) {
    const char* name = words[i].negated + 1;
    if (strncmp(name, word, length) == 0 && name[length] == '\0') return i;
  }
  return TBK_NEED_COUNT;
}

bool tbk_needs_known(const char* needs) {
  const char* word;
  size_t length;
  while (needs != NULL && next_word(&needs, &word, &length)) {
    size_t negated = word[0] == '!';
    if (index_of(word + negated, length - negated) == TBK_NEED_COUNT) return false;
  }
  return true;
}

/* A misspelt word must not turn a test into one that never runs. */
static size_t index_or_abort(const char* word, size_t length) {
  size_t index = index_of(word, length);
  if (index < TBK_NEED_COUNT) return index;
  fprintf(stderr, "tbk: a row needs \"%.*s\", which needs.c does not know\n", (int)length, word);
  abort();
}

const char* tbk_needs_missing(const tbk_backend_t* backend, const char* needs) {
  const char* word;
  size_t length;
  while (needs != NULL && next_word(&needs, &word, &length)) {
    size_t negated = word[0] == '!';
    size_t index = index_or_abort(word + negated, length - negated);
    if (!assumed.known && words[index].source == FROM_OPEN_DEVICE && negated) continue;
    if (answer(backend, index) == (negated != 0)) return words[index].negated + !negated;
  }
  return NULL;
}

static bool asks_open_device(const char* needs) {
  const char* word;
  size_t length;
  while (needs != NULL && next_word(&needs, &word, &length)) {
    size_t negated = word[0] == '!';
    if (words[index_or_abort(word + negated, length - negated)].source == FROM_OPEN_DEVICE) {
      return true;
    }
  }
  return false;
}

const char* tbk_needs_missing_open(tbk_fixture_t* fx, const char* needs) {
  if (!assumed.known && asks_open_device(needs)) {
    tbk_need_set_t held = tbk_needs_probe(fx);
    tbk_needs_assume(&held);
  }
  return tbk_needs_missing(fx->backend, needs);
}
