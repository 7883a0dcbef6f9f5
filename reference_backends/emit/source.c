/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * source.c: the generic kernels as backends see them.
 */
#include <stdlib.h>
#include <string.h>

#include "generic.h"

static tbk_status_t check(const emit_generic_t* generic, const void* arguments,
                          tbk_error_t* error) {
  size_t struct_size = 0;
  if (arguments != NULL) memcpy(&struct_size, arguments, sizeof struct_size);
  if (generic == NULL || struct_size < generic->arguments_bytes)
    return emit_fail(error, TBK_INVALID, "no kernel, no arguments, or their struct_size too small");
  return generic->check(arguments, error);
}

/* The launches of a call, in one block: behind them, one after the other, the words and pointers of each. A launch has
 * few of the words that it may have, and of a list of tensors there are a hundred. */
typedef struct store {
  emit_launch_t* launches;
  size_t count, made, used, room; /* of words */
} store_t;

static int64_t* words_at(const store_t* store, size_t at) {
  return (int64_t*)(void*)(store->launches + store->count) + at;
}

/* The first launch says how many words each has, more or less. */
static bool make_room(store_t* store, size_t words) {
  if (store->used + words <= store->room) return true;
  const size_t left = store->count - store->made;
  size_t room, bytes;
  if (__builtin_mul_overflow(words, left, &room) ||
      __builtin_add_overflow(room, store->used, &room))
    return false;
  if (__builtin_mul_overflow(room, sizeof(int64_t), &bytes) ||
      __builtin_add_overflow(bytes, store->count * sizeof(emit_launch_t), &bytes))
    return false;
  emit_launch_t* grown = realloc(store->launches, bytes);
  if (grown == NULL) return false;
  store->launches = grown;
  store->room = room;
  return true;
}

static bool keep(store_t* store, const emit_launch_t* launch) {
  const size_t words = (size_t)launch->word_count, pointers = (size_t)launch->pointer_count;
  if (!make_room(store, words + pointers)) return false;
  int64_t* to = words_at(store, store->used);
  memcpy(to, launch->words, words * sizeof *to);
  memcpy(to + words, launch->memory, pointers * sizeof *to);
  store->launches[store->made++] = *launch;
  store->used += words + pointers;
  return true;
}

/* Once the block stays where it is. */
static void point(store_t* store) {
  size_t at = 0;
  for (size_t i = 0; i < store->made; i++) {
    emit_launch_t* launch = &store->launches[i];
    launch->words = words_at(store, at);
    launch->memory = (tbk_memory_t*)(launch->words + launch->word_count);
    at += (size_t)(launch->word_count + launch->pointer_count);
  }
}

static tbk_status_t make_launches(const emit_generic_t* generic, const void* arguments,
                                  const emit_limits_t* limits, store_t* store, tbk_error_t* error) {
  int64_t words[EMIT_WORDS] = {0};
  tbk_memory_t memory[EMIT_POINTERS] = {0};
  const emit_launch_t blank = {.words = words, .memory = memory};
  emit_launch_t launch = blank;
  for (size_t i = 0; i < store->count; i++) {
    const uint64_t hash = launch.hash;
    launch = blank;
    launch.hash = hash;
    tbk_status_t status = generic->launch(arguments, i, limits, &launch, error);
    if (status != TBK_OK) return status;
    if (!keep(store, &launch))
      return emit_fail(error, TBK_OUT_OF_MEMORY, "no host memory for launches");
    memset(words, 0, (size_t)launch.word_count * sizeof *words);
    memset(memory, 0, (size_t)launch.pointer_count * sizeof *memory);
  }
  point(store);
  return TBK_OK;
}

tbk_status_t emit_generic_launches(const emit_generic_t* generic, const void* arguments,
                                   const emit_limits_t* limits, emit_launch_t** out_launches,
                                   size_t* out_count, tbk_error_t* error) {
  tbk_status_t status = check(generic, arguments, error);
  *out_launches = NULL;
  *out_count = 0;
  if (status != TBK_OK || generic->set_count(arguments) == 0) return status;
  store_t store = {.count = generic->set_count(arguments)};
  status = make_launches(generic, arguments, limits, &store, error);
  if (status != TBK_OK) {
    free(store.launches);
    return status;
  }
  *out_launches = store.launches;
  *out_count = store.count;
  return TBK_OK;
}

char* emit_generic_source(const emit_generic_t* generic, const void* arguments,
                          const emit_launch_t* launch, const char* prelude) {
  char* text = NULL;
  size_t size;
  FILE* out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  fputs(prelude, out);
  generic->write(arguments, &launch->class, out);
  const bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}

uint64_t emit_generic_workspace(const emit_launch_t* launches, size_t count) {
  uint64_t most = 0;
  for (size_t i = 0; i < count; i++)
    if (launches[i].workspace_bytes > most) most = launches[i].workspace_bytes;
  return most;
}

bool emit_generic_repeats(const emit_launch_t* launches, size_t i) {
  return i > 0 && strcmp(launches[i].name, launches[i - 1].name) == 0;
}

bool emit_generic_has_double(const emit_generic_t* generic, const void* arguments) {
  return generic->has_double(arguments);
}
