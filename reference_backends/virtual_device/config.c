/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * config.c: "key=value,key=value", read by tables.
 */
#include "vdev/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(name) offsetof(vdev_config_t, name)
static const vdev_option_t known[] = {
    {"devices", MEMBER(devices), 0, 64, NULL, false},
    {"memory", MEMBER(arena.memory_bytes), 4096, UINT64_C(1) << 40, NULL, false},
    {"scheduler", MEMBER(scheduler), 0, 0, "threads|seeded|caller|", false},
    {"seed", MEMBER(seed), 0, UINT64_MAX, NULL, false},
    {"policy", MEMBER(policy), 0, 0, "fifo|lazy|one_queue|shuffled|inline|", false},
    {"delay_us", MEMBER(delay_us), 0, 1000000, NULL, false},
    {"handles", MEMBER(arena.handles), 0, 0, "fresh|reuse|never|", false},
    {"poison", MEMBER(arena.poison), 0, 1, NULL, false},
    {"alignment", MEMBER(arena.alignment), 16, 1 << 21, NULL, true},
    {"flat", MEMBER(arena.flat), 0, 1, NULL, false},
    {"max_allocation", MEMBER(arena.allocation_bytes), 4 << 20, UINT64_C(1) << 40, NULL, false},
    {"open_ms", MEMBER(open_ms), 0, 60000, NULL, false},
    {"events", MEMBER(events), 1, UINT64_MAX, NULL, false},
    {"pinned", MEMBER(pinned_bytes), 4096, UINT64_C(1) << 40, NULL, false},
    {"pinned_blocks", MEMBER(pinned_blocks), 1, UINT64_MAX, NULL, false},
    {"sticky", MEMBER(sticky), 0, 1, NULL, false},
};

vdev_config_t vdev_config_default(void) {
  return (vdev_config_t){.devices = 2,
                         .arena = {.memory_bytes = UINT64_C(256) << 20, .alignment = 64, .flat = 1},
                         .events = UINT64_MAX,
                         .pinned_bytes = UINT64_C(1) << 30,
                         .pinned_blocks = UINT64_MAX};
}

static bool parse_word(const char* words, const char* text, uint64_t* out_value) {
  size_t length = strlen(text);
  for (uint64_t value = 0; *words; value++, words = strchr(words, '|') + 1) {
    if (strncmp(words, text, length) || words[length] != '|') continue;
    *out_value = value;
    return true;
  }
  return false;
}

static bool parse_number(const vdev_option_t* option, const char* text, uint64_t* out_value) {
  if (*text < '0' || *text > '9') return false;
  char* end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 0);
  static const char suffixes[] = "KMG";
  const char* suffix = *end ? strchr(suffixes, *end) : NULL;
  unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
  if (errno || end[suffix ? 1 : 0] || value > UINT64_MAX >> shift) return false;
  *out_value = value <<= shift;
  if (option->power_of_two && (value & (value - 1))) return false;
  return value >= option->least && value <= option->most;
}

static bool parse_exclusive(vdev_config_t* config, const char* value) {
  size_t length = strlen(value);
  if (length == 0 || length >= sizeof config->exclusive) return false;
  memcpy(config->exclusive, value, length + 1);
  return true;
}

/* Returns the row of this key; NULL where there is none. */
static const vdev_option_t* find(const vdev_option_t* options, size_t count, const char* key) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(options[i].key, key) == 0) return &options[i];
  return NULL;
}

static bool parse_one(vdev_config_t* config, const vdev_own_options_t* own, const char* key,
                      const char* value) {
  if (strcmp(key, "exclusive") == 0) return parse_exclusive(config, value);
  void* values = own ? own->values : NULL;
  const vdev_option_t* option = own ? find(own->options, own->count, key) : NULL;
  if (!option) {
    option = find(known, sizeof known / sizeof *known, key);
    values = config;
  }
  if (!option) return false;
  uint64_t* member = (uint64_t*)(void*)((char*)values + option->member);
  return option->words ? parse_word(option->words, value, member)
                       : parse_number(option, value, member);
}

bool vdev_config_parse(vdev_config_t* config, const vdev_own_options_t* own, const char* text,
                       char* bad) {
  char item[320];
  while (text && *text) {
    size_t length = strcspn(text, ",");
    snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item), text);
    snprintf(bad, 64, "%.63s", item);
    char* value = strchr(item, '=');
    if (value) *value++ = '\0';
    if (!value || length >= sizeof item || !parse_one(config, own, item, value)) return false;
    text += length + (text[length] == ',');
  }
  if (config->policy == VDEV_SHUFFLED && config->scheduler == VDEV_THREADS)
    config->scheduler = VDEV_SEEDED;
  config->arena.memory_bytes = (config->arena.memory_bytes + 4095) / 4096 * 4096;
  return true;
}
