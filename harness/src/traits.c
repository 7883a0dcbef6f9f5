/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * traits.c: see traits.h.
 */
#include "traits.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 16, MOST_TRAITS = 2 + 2 * MOST_VALUES + MOST_VALUES * (MOST_VALUES - 1) / 2 };

/* A clause of which nothing is known counts for more than all that varies a test. */
static const double worth_of_clause = 8, worth_of_name = 4, worth_of_value_for_clause = 2,
                    worth_of_value_for_name = 2, worth_of_pair = 0.5;

static const struct {
  const char *dtype, *kind;
} kinds[] = {
    {"float64", "real"},      {"float32", "real"},       {"float16", "half"}, {"bfloat16", "half"},
    {"complex64", "complex"}, {"complex128", "complex"}, {"int8", "integer"}, {"int16", "integer"},
    {"int32", "integer"},     {"int64", "integer"},
};

/* FNV-1a; `seed` keeps apart what has the same text. */
static uint64_t hash(uint64_t seed, const char* text, size_t length) {
  uint64_t value = UINT64_C(0xcbf29ce484222325) ^ (seed * UINT64_C(0x9E3779B97F4A7C15));
  for (size_t i = 0; i < length; i++)
    value = (value ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
  return value != 0 ? value : 1; /* 0 is an empty place */
}

static const char* text_of(const tbk_test_t* test) {
  return test->id != NULL ? test->id : "";
}

uint64_t tbk_traits_name(const tbk_test_t* test) {
  const char* id = text_of(test);
  return hash(hash(1, test->suite, strlen(test->suite)), id, strcspn(id, "["));
}

static uint64_t hash_value(uint64_t place, const char* text, size_t length) {
  size_t key = 0;
  while (key < length && text[key] != '=')
    key++;
  key = key < length ? key + 1 : 0; /* how long "key=" is */
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strlen(kinds[i].dtype) == length - key &&
        strncmp(kinds[i].dtype, text + key, length - key) == 0)
      return hash(hash(place, text, key), kinds[i].kind, strlen(kinds[i].kind));
  return hash(place, text, length);
}

/* "[a-b]" are two values without a key, each known by its place; "[k=a,l=b]" two with one. */
static size_t read_values(const char* id, uint64_t values[MOST_VALUES]) {
  const char* text = strchr(id, '[');
  size_t count = 0;
  if (text == NULL) return 0;
  const char *end = strrchr(++text, ']'), *parting = strchr(text, '=') != NULL ? "," : "-";
  while (end != NULL && text < end && count < MOST_VALUES) {
    size_t length = strcspn(text, parting);
    if (text + length > end) length = (size_t)(end - text);
    values[count] = hash_value(2 + count, text, length);
    text += length + 1;
    count++;
  }
  return count;
}

static void add(tbk_traits_t* traits, uint64_t key, double worth) {
  traits->items[traits->count++] = (tbk_trait_t){key, worth};
}

static uint64_t join(uint64_t one, uint64_t other) {
  return hash(one, (const char*)&other, sizeof other);
}

tbk_traits_t tbk_traits_of(const tbk_test_t* test) {
  uint64_t values[MOST_VALUES];
  const size_t count = read_values(text_of(test), values);
  const double share = count > 0 ? 1.0 / (double)count : 0;
  const double pairs = (double)count * ((double)count - 1) / 2;
  const uint64_t clause = hash(0, test->clause, strlen(test->clause)), name = tbk_traits_name(test);
  tbk_traits_t traits = {malloc(MOST_TRAITS * sizeof(tbk_trait_t)), 0};
  if (traits.items == NULL) abort();
  add(&traits, clause, worth_of_clause);
  add(&traits, name, worth_of_name);
  for (size_t i = 0; i < count; i++) {
    add(&traits, join(clause, values[i]), worth_of_value_for_clause * share);
    add(&traits, join(name, values[i]), worth_of_value_for_name * share);
    for (size_t j = 0; j < i; j++)
      add(&traits, join(join(name, values[j]), values[i]), worth_of_pair / pairs);
  }
  return traits;
}

/* ----------------------------------------------------------------------------------- shown --- */

/* Where the key is, or the empty place where it would be. */
static size_t place_of(const uint64_t* keys, size_t capacity, uint64_t key) {
  size_t at = (size_t)(key % capacity);
  while (keys[at] != 0 && keys[at] != key)
    at = (at + 1) % capacity;
  return at;
}

static void grow(tbk_shown_t* shown) {
  const size_t capacity = 2 * shown->capacity + 1021;
  uint64_t* keys = calloc(capacity, sizeof *keys);
  if (keys == NULL) abort();
  for (size_t i = 0; i < shown->capacity; i++)
    if (shown->keys[i] != 0) keys[place_of(keys, capacity, shown->keys[i])] = shown->keys[i];
  free(shown->keys);
  shown->keys = keys;
  shown->capacity = capacity;
}

void tbk_shown_add(tbk_shown_t* shown, const tbk_traits_t* traits) {
  for (size_t i = 0; i < traits->count; i++) {
    if (2 * shown->count >= shown->capacity) grow(shown);
    uint64_t* place = &shown->keys[place_of(shown->keys, shown->capacity, traits->items[i].key)];
    shown->count += *place == 0;
    *place = traits->items[i].key;
  }
}

double tbk_shown_gain(const tbk_shown_t* shown, const tbk_traits_t* traits) {
  double gain = 0;
  for (size_t i = 0; i < traits->count; i++) {
    const uint64_t key = traits->items[i].key;
    bool is_shown =
        shown->capacity > 0 && shown->keys[place_of(shown->keys, shown->capacity, key)] == key;
    if (!is_shown) gain += traits->items[i].worth;
  }
  return gain;
}

void tbk_shown_free(tbk_shown_t* shown) {
  free(shown->keys);
  *shown = (tbk_shown_t){0};
}
