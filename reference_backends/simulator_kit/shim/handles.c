/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * handles.c: which parameters are handles, by the text of the map; and which handles are live.
 */
#include <pthread.h>
#include <string.h>

#include "shim.h"

enum { KEPT = 256 };

static struct {
  char kind[32];
  uintptr_t value;
} live[KEPT];
static size_t live_count;
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct parameter {
  char kind[32]; /* without const and without stars */
  char name[32];
  int stars;
} parameter_t;

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c >= 'A' && c <= 'Z');
}

/* The text of parameter `number`, from its first word to what ends it; NULL where there is none. */
static const char* find_text(const char* text, size_t number, size_t* out_length) {
  for (text++; number > 0 && *text != '\0'; text++)
    number -= *text == ',';
  while (*text == ' ')
    text++;
  *out_length = strcspn(text, "(),");
  return *out_length > 0 ? text : NULL;
}

/* Reads "const void* source"; what is no plain parameter, a function, has an empty kind. */
static bool read_parameter(shim_index_t index, size_t number, parameter_t* out) {
  size_t length;
  const char* text = find_text(shim_texts[index], number, &length);
  *out = (parameter_t){.stars = 0};
  if (text == NULL) return false;
  for (const char *at = text, *end = text + length; at < end;) {
    out->stars += *at == '*';
    size_t word = 0;
    while (at + word < end && is_word(at[word]))
      word++;
    if (word == 0 || word >= sizeof out->name) {
      at++;
      continue;
    }
    if (strncmp(at, "const", word) != 0 && strncmp(at, "unsigned", word) != 0) {
      char* to = out->kind[0] == '\0' ? out->kind : out->name;
      memcpy(to, at, word);
      to[word] = '\0';
    }
    at += word;
  }
  return out->kind[0] != '\0'; /* a function has no name here, and is no handle */
}

bool shim_parameter(shim_index_t index, size_t number, char out[32]) {
  parameter_t parameter;
  if (!read_parameter(index, number, &parameter)) return false;
  memcpy(out, parameter.name, sizeof parameter.name);
  return true;
}

/* The type of this name; NULL where it is no handle. */
static const shim_handle_t* find_handle(const char* kind) {
  for (const shim_handle_t* handle = shim_handles; handle->kind != NULL; handle++)
    if (strncmp(kind, handle->kind, strlen(handle->kind)) == 0)
      return handle->bytes > 0 ? handle : NULL;
  return NULL;
}

/* Whether it is a handle, or, with more stars, where one is given out. */
static bool is_handle(const parameter_t* parameter, int stars) {
  const shim_handle_t* handle = find_handle(parameter->kind);
  return handle != NULL && parameter->stars == handle->stars + stars;
}

bool shim_is_handle(shim_index_t index, size_t number) {
  parameter_t parameter;
  return read_parameter(index, number, &parameter) && is_handle(&parameter, 0);
}

static void forget(const char* kind, uintptr_t value) {
  for (size_t i = 0; i < live_count; i++) {
    if (live[i].value != value || strcmp(live[i].kind, kind) != 0) continue;
    live[i] = live[--live_count];
    return;
  }
}

static void keep(const char* kind, uintptr_t value) {
  forget(kind, value);
  if (live_count == KEPT) return;
  strcpy(live[live_count].kind, kind);
  live[live_count++].value = value;
}

uintptr_t shim_other(shim_index_t index, size_t number, uintptr_t value) {
  parameter_t parameter;
  (void)read_parameter(index, number, &parameter);
  if (!is_handle(&parameter, 0)) return value;
  uintptr_t other = value;
  pthread_mutex_lock(&live_lock);
  for (size_t i = live_count; i-- > 0 && other == value;)
    if (strcmp(live[i].kind, parameter.kind) == 0) other = live[i].value;
  pthread_mutex_unlock(&live_lock);
  return other;
}

static uintptr_t made(const parameter_t* parameter, uintptr_t where) {
  uintptr_t value = 0;
  if (where != 0) memcpy(&value, (const void*)where, find_handle(parameter->kind)->bytes);
  return value;
}

/* Keeps what the function returned, where that is a handle. */
static void keep_returned(shim_index_t index, shim_result_t result) {
  char kind[32] = "";
  const char* text = shim_results[index];
  memcpy(kind, text, strcspn(text, "* ") % sizeof kind);
  const shim_handle_t* handle = find_handle(kind);
  if (handle != NULL && handle->stars == 1 && result != 0) keep(kind, result);
}

void shim_note(const shim_call_t* call, shim_result_t result) {
  const char* symbol = shim_symbols[call->index];
  bool ends = strstr(symbol, "Destroy") || strstr(symbol, "Free") || strstr(symbol, "Unload");
  parameter_t parameter;
  pthread_mutex_lock(&live_lock);
  keep_returned(call->index, result);
  for (size_t i = 0; i < SHIM_WORDS && read_parameter(call->index, i, &parameter); i++) {
    if (is_handle(&parameter, 1)) keep(parameter.kind, made(&parameter, call->words[i]));
    if (ends && is_handle(&parameter, 0)) forget(parameter.kind, call->words[i]);
  }
  pthread_mutex_unlock(&live_lock);
}
