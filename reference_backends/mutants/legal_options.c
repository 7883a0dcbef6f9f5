/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal_options.c: "key=value,key=value", read into legal_t by one table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "legal.h"

typedef struct option {
  const char* key;
  size_t member; /* offset in legal_t */
  uint64_t initial;
} option_t;

#define NUMBER(member, initial) \
  { #member, offsetof(legal_t, member), initial }
static const option_t numbers[] = {
    NUMBER(unit, 1),           NUMBER(dtypes, UINT64_MAX), NUMBER(max_rank, 8),
    NUMBER(priorities, 1),     NUMBER(streams, 0),         NUMBER(flags_off, 0),
    NUMBER(unknown_memory, 0), NUMBER(copies_block, 0),    NUMBER(host_waits, 0),
    NUMBER(prepare, 0),        NUMBER(compile, 0),         NUMBER(callbacks_by_caller, 0),
    NUMBER(aligned, 0),        NUMBER(scratch, 0),         NUMBER(allocations, 0),
    NUMBER(tells_early, 0),    NUMBER(older, 0),
};

#define TABLE(name, type, needs) #name,
#define FUNCTION(table, type, function, word) #function,
static const char* const without_words[] = {TBK_TABLE_MAP(TABLE) TBK_OPTIONAL_MAP(FUNCTION) NULL};
#undef TABLE
#undef FUNCTION
#define WORD(name, word) word,
static const char* const refuses_words[] = {LEGAL_REFUSES_MAP(WORD) NULL};
#undef WORD

static bool read_number(legal_t* legal, const char* key, const char* value) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(numbers[i].key, key) != 0) continue;
    char* end;
    uint64_t number = strtoull(value, &end, 0);
    if (*end == 'K') number <<= 10, end++;
    if (*end == 'M') number <<= 20, end++;
    memcpy((char*)legal + numbers[i].member, &number, sizeof number);
    if (strcmp(key, "streams") == 0 && number > LEGAL_STREAMS) return false;
    if (strcmp(key, "allocations") == 0 && number > LEGAL_ALLOCATIONS) return false;
    return *value >= '0' && *value <= '9' && *end == '\0';
  }
  return false;
}

/* "a+b": sets the places of the words. */
static bool read_words(const char* const* words, bool* places, char* value) {
  char* rest = NULL;
  for (char* part = strtok_r(value, "+", &rest); part; part = strtok_r(NULL, "+", &rest)) {
    size_t i = 0;
    while (words[i] != NULL && strcmp(words[i], part) != 0)
      i++;
    if (words[i] == NULL) return false;
    places[i] = true;
  }
  return true;
}

bool legal_lacks(const legal_t* legal, const char* words) {
  char copy[64];
  char* rest = NULL;
  snprintf(copy, sizeof copy, "%s", words);
  for (char* word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    for (size_t i = 0; without_words[i] != NULL; i++)
      if (legal->without[i] && strcmp(without_words[i], word) == 0) return true;
  return false;
}

static bool is_number(const char* key) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(numbers[i].key, key) == 0) return true;
  return false;
}

/* Takes what is ours; the rest is for the reference, which knows what it does not know. */
static bool take(legal_t* legal, char* item) {
  char whole[256];
  snprintf(whole, sizeof whole, "%s", item);
  char* value = strchr(item, '=');
  if (value != NULL) *value++ = '\0';
  if (value != NULL && is_number(item)) return read_number(legal, item, value);
  if (value != NULL && strcmp(item, "without") == 0)
    return read_words(without_words, legal->without, value);
  if (value != NULL && strcmp(item, "refuses") == 0)
    return read_words(refuses_words, legal->refuses, value);
  if (value != NULL && strcmp(item, "only") == 0)
    return snprintf(legal->only, sizeof legal->only, "%s", value) < (int)sizeof legal->only;
  const size_t used = strlen(legal->rest);
  snprintf(legal->rest + used, sizeof legal->rest - used, "%s%s", used == 0 ? "" : ",", whole);
  return true;
}

tbk_status_t legal_read(legal_t* legal, const char* options, tbk_error_t* error) {
  char copy[1024], text[128];
  char* rest = NULL;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    memcpy((char*)legal + numbers[i].member, &numbers[i].initial, sizeof numbers[i].initial);
  snprintf(copy, sizeof copy, "%s", options == NULL ? "" : options);
  for (char* item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
    if (take(legal, item)) continue;
    snprintf(text, sizeof text, "option '%.60s': not a value for it", item);
    return wrap_fail(error, TBK_INVALID, text);
  }
  return TBK_OK;
}
