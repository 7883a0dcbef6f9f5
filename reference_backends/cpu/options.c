/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * options.c: "key=value,key=value", read into cpu_options_t by one table.
 */
#include "cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct option {
  const char* key;
  size_t member; /* offset in cpu_options_t */
  uint64_t least, most;
  const char* words; /* the values' names, in order, each ended by '|'; NULL: a number */
} option_t;

#define MEMBER(name) offsetof(cpu_options_t, name)
static const option_t options_known[] = {
    {"devices", MEMBER(devices), 0, 64, NULL},
    {"memory", MEMBER(arena.memory_bytes), 4096, UINT64_C(1) << 40, NULL},
    {"scheduler", MEMBER(scheduler), 0, 0, "threads|seeded|"},
    {"seed", MEMBER(seed), 0, UINT64_MAX, NULL},
    {"policy", MEMBER(policy), 0, 0, "fifo|lazy|one_queue|shuffled|inline|"},
    {"delay_us", MEMBER(delay_us), 0, 1000000, NULL},
    {"handles", MEMBER(arena.handles), 0, 0, "fresh|reuse|never|"},
    {"poison", MEMBER(arena.poison), 0, 1, NULL},
    {"zero_handle", MEMBER(zero_handle), 0, 1, NULL},
    {"alignment", MEMBER(arena.alignment), 16, 1 << 21, NULL},
    {"flat", MEMBER(arena.flat), 0, 1, NULL},
    {"granularity", MEMBER(granularity), 1, 4096, NULL},
    {"open_ms", MEMBER(open_ms), 0, 60000, NULL},
    {"shape_ms", MEMBER(shape_ms), 0, 60000, NULL},
    {"events", MEMBER(events), 1, UINT64_MAX, NULL},
    {"sticky", MEMBER(sticky), 0, 1, NULL},
    {"max_allocation", MEMBER(max_allocation), 4 << 20, UINT64_C(1) << 40, NULL},
};

static bool parse_word(const char* words, const char* text, uint64_t* out_value) {
  size_t length = strlen(text);
  for (uint64_t value = 0; *words; value++, words = strchr(words, '|') + 1) {
    if (strncmp(words, text, length) || words[length] != '|') continue;
    *out_value = value;
    return true;
  }
  return false;
}

static bool parse_number(const option_t* option, const char* text, uint64_t* out_value) {
  if (*text < '0' || *text > '9') return false;
  char* end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 0);
  static const char suffixes[] = "KMG";
  const char* suffix = *end ? strchr(suffixes, *end) : NULL;
  unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
  if (errno || end[suffix ? 1 : 0] || value > UINT64_MAX >> shift) return false;
  *out_value = value << shift;
  return *out_value >= option->least && *out_value <= option->most;
}

static bool parse_one(cpu_options_t* options, const char* key, const char* value) {
  if (strcmp(key, "exclusive") == 0) {
    size_t length = strlen(value);
    if (length == 0 || length >= sizeof options->exclusive) return false;
    memcpy(options->exclusive, value, length + 1);
    return true;
  }
  for (size_t i = 0; i < sizeof options_known / sizeof *options_known; i++) {
    const option_t* option = &options_known[i];
    if (strcmp(option->key, key)) continue;
    uint64_t* member = (uint64_t*)(void*)((char*)options + option->member);
    return option->words ? parse_word(option->words, value, member)
                         : parse_number(option, value, member);
  }
  return false;
}

/* Makes the rest agree with what was asked for. */
static tbk_status_t settle(cpu_options_t* options, tbk_error_t* error) {
  if (options->arena.alignment & (options->arena.alignment - 1))
    return cpu_fail(TBK_INVALID, error, "alignment is not a power of two");
  if (options->granularity & (options->granularity - 1))
    return cpu_fail(TBK_INVALID, error, "granularity is not a power of two");
  if (options->arena.alignment < options->granularity)
    options->arena.alignment = options->granularity;
  if (options->policy == CPU_SHUFFLED) options->scheduler = CPU_SEEDED;
  options->arena.memory_bytes = (options->arena.memory_bytes + 4095) / 4096 * 4096;
  return TBK_OK;
}

tbk_status_t cpu_options_parse(cpu_options_t* options, const char* text, tbk_error_t* error) {
  *options =
      (cpu_options_t){.devices = 2,
                      .arena = {.memory_bytes = UINT64_C(256) << 20, .alignment = 64, .flat = 1},
                      .granularity = 1,
                      .events = UINT64_MAX};
  char item[320];
  while (text && *text) {
    size_t length = strcspn(text, ",");
    if (length >= sizeof item) return cpu_fail(TBK_INVALID, error, "an option is too long");
    memcpy(item, text, length);
    item[length] = '\0';
    char* value = strchr(item, '=');
    if (value) *value++ = '\0';
    if (!value || !parse_one(options, item, value))
      return cpu_fail(TBK_INVALID, error, "option '%.60s': unknown key, or not a value for it",
                      item);
    text += length + (text[length] == ',');
  }
  return settle(options, error);
}
