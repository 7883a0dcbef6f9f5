/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of a row's `needs`, and what each asks of a backend.
 */
#include "resources.h"
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tbk/tbk_operators.h>

/* Where the answer to a word stands. */
enum source { FROM_TABLES, FROM_PROPERTIES, FROM_OPEN_DEVICE };

/* What the sources FROM_TABLES and FROM_PROPERTIES are asked with. */
struct facts {
  const tbk_backend_t* backend;
  int32_t device_count;
  tbk_device_properties_t properties;
};

typedef bool (*answer_fn)(const struct facts* facts, const char* name, uint64_t bits);

static bool has_table(const struct facts* facts, const char* name, uint64_t bits) {
  (void)bits;
  return tbk_table_usable(facts->backend, name);
}

static bool has_fill(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return TBK_HAS(facts->backend->core, tbk_core_t, fill);
}

static bool has_memory_info(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return TBK_HAS(facts->backend->core, tbk_core_t, memory_info);
}

static bool has_elapsed(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return tbk_table_usable(facts->backend, "event") &&
         TBK_HAS(facts->backend->event, tbk_event_ops_t, event_elapsed);
}

static bool has_native_handle(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return tbk_table_usable(facts->backend, "stream") &&
         TBK_HAS(facts->backend->stream, tbk_stream_ops_t, stream_native_handle);
}

static bool has_from_native(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return tbk_table_usable(facts->backend, "stream") &&
         TBK_HAS(facts->backend->stream, tbk_stream_ops_t, stream_from_native);
}

static bool has_flag(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name;
  return (facts->properties.flags & bits) == bits;
}

static bool has_dtype(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name;
  return (facts->properties.dtypes & bits) == bits;
}

static bool has_memory_bytes(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return facts->properties.memory_bytes != 0;
}

static bool has_max_allocation(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return facts->properties.max_allocation_bytes != 0;
}

static bool has_granularity(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return facts->properties.copy_granularity > 1;
}

static bool has_two_devices(const struct facts* facts, const char* name, uint64_t bits) {
  (void)name, (void)bits;
  return facts->device_count >= 2;
}

struct word {
  const char* negated; /* "!word", so that both forms can be handed out */
  enum source source;
  answer_fn answer;
  uint64_t bits;
};

#define TABLE(name) \
  { "!" #name, FROM_TABLES, has_table, 0 }
#define OPTIONAL(name) \
  { "!" #name, FROM_TABLES, has_##name, 0 }
#define PROPERTY(name) \
  { "!" #name, FROM_PROPERTIES, has_##name, 0 }
#define FLAG(name, flag) \
  { "!" name, FROM_PROPERTIES, has_flag, flag }
#define OPERATOR(name) \
  { "!op:" TBK_NAME_##name, FROM_OPEN_DEVICE, NULL, TBK_VERSION_##name }
#define DTYPE(name, value, size_bytes) \
  {"!dtype:" #name, FROM_PROPERTIES, has_dtype, UINT64_C(1) << (value)},

static const struct word words[] = {TABLE(stream),
                                    TABLE(event),
                                    TABLE(callback),
                                    TABLE(pinned),
                                    TABLE(peer),
                                    TABLE(async_memory),
                                    TABLE(kernel),
                                    TABLE(random),
                                    TABLE(fault),
                                    OPTIONAL(fill),
                                    OPTIONAL(memory_info),
                                    OPTIONAL(elapsed),
                                    OPTIONAL(native_handle),
                                    OPTIONAL(from_native),
                                    PROPERTY(memory_bytes),
                                    PROPERTY(max_allocation),
                                    PROPERTY(granularity),
                                    PROPERTY(two_devices),
                                    FLAG("flat_address", TBK_DEVICE_FLAT_ADDRESS),
                                    FLAG("host_visible", TBK_DEVICE_HOST_VISIBLE),
                                    FLAG("cross_device_wait", TBK_DEVICE_CROSS_DEVICE_WAIT),
                                    FLAG("exclusive", TBK_DEVICE_EXCLUSIVE),
                                    FLAG("philox", TBK_DEVICE_PHILOX),
                                    {"!prepare", FROM_OPEN_DEVICE, NULL, 0},
                                    OPERATOR(fill__Scalar),
                                    OPERATOR(copy_),
                                    OPERATOR(add_Tensor),
                                    OPERATOR(mul_Tensor),
                                    OPERATOR(where_self),
                                    OPERATOR(sum_dim_IntList),
                                    OPERATOR(mm),
                                    TBK_DTYPE_MAP(DTYPE)};

enum { WORD_COUNT = sizeof words / sizeof *words };
_Static_assert(WORD_COUNT <= 64, "the words are bits of a 64-bit mask");

static struct {
  bool known;
  uint64_t held;
} assumed;

size_t tbk_need_count(void) {
  return WORD_COUNT;
}

const char* tbk_need_word(size_t index) {
  return words[index].negated + 1;
}

void tbk_needs_assume(uint64_t held) {
  assumed.known = true;
  assumed.held = held;
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
  if (assumed.known) return (assumed.held >> index & 1) != 0;
  if (word->source == FROM_OPEN_DEVICE) return tbk_table_usable(backend, "kernel");
  struct facts facts = gather(backend, word->source == FROM_PROPERTIES);
  return word->answer(&facts, word->negated + 1, word->bits);
}

static const tbk_kernel_t* find(tbk_fixture_t* fx, size_t index) {
  const struct word* word = &words[index];
  if (fx->kernel == NULL || strncmp(word->negated, "!op:", 4) != 0) return NULL;
  return fx->kernel->kernel_find(fx->self, fx->device, word->negated + 4, (uint32_t)word->bits);
}

static bool answer_open(tbk_fixture_t* fx, const struct facts* facts, size_t index) {
  if (words[index].source != FROM_OPEN_DEVICE) {
    return words[index].answer(facts, words[index].negated + 1, words[index].bits);
  }
  if (strcmp(words[index].negated, "!prepare") != 0) return find(fx, index) != NULL;
  for (size_t i = 0; i < WORD_COUNT; i++) {
    const tbk_kernel_t* kernel = find(fx, i);
    if (TBK_HAS(kernel, struct tbk_kernel, prepare)) return true;
  }
  return false;
}

uint64_t tbk_needs_probe(tbk_fixture_t* fx) {
  struct facts facts = {fx->backend, fx->device_count, fx->properties};
  uint64_t held = 0;
  for (size_t i = 0; i < WORD_COUNT; i++) {
    if (answer_open(fx, &facts, i)) held |= UINT64_C(1) << i;
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
  for (size_t i = 0; i < WORD_COUNT; i++) {
    const char* name = words[i].negated + 1;
    if (strncmp(name, word, length) == 0 && name[length] == '\0') return i;
  }
  return WORD_COUNT;
}

bool tbk_needs_known(const char* needs) {
  const char* word;
  size_t length;
  while (needs != NULL && next_word(&needs, &word, &length)) {
    size_t negated = word[0] == '!';
    if (index_of(word + negated, length - negated) == WORD_COUNT) return false;
  }
  return true;
}

/* A misspelt word must not turn a test into one that never runs. */
static size_t index_or_abort(const char* word, size_t length) {
  size_t index = index_of(word, length);
  if (index < WORD_COUNT) return index;
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
  if (!assumed.known && asks_open_device(needs)) tbk_needs_assume(tbk_needs_probe(fx));
  return tbk_needs_missing(fx->backend, needs);
}
