/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cache.c: code by the content of its program, the least recently used forgotten where there are many.
 */
#include <stdlib.h>
#include <string.h>

#include "../cpu.h"
#include "alike.h"
#include "extreme.h"

void code_cache_init(code_cache_t* cache) {
  pthread_mutex_init(&cache->lock, NULL);
  TAILQ_INIT(&cache->kept);
  cache->count = 0;
}

kernel_code_t* code_keep(kernel_code_t* code) {
  atomic_fetch_add(&code->refs, 1);
  return code;
}

void code_drop(kernel_code_t* code) {
  if (!code || atomic_fetch_sub(&code->refs, 1) != 1) return;
  for (int i = 0; i < 3; i++)
    code_free(code->parts[i]);
  code_free(code->values);
  free(code->program);
  free(code->reduction);
  free(code);
}

/* With the lock held; the reference of the cache is the caller's to drop. */
static void forget(code_cache_t* cache, kernel_code_t* code) {
  TAILQ_REMOVE(&cache->kept, code, entry);
  cache->count--;
}

void code_cache_empty(code_cache_t* cache) {
  kernel_code_t* code;
  pthread_mutex_lock(&cache->lock);
  while ((code = TAILQ_FIRST(&cache->kept))) {
    forget(cache, code);
    code_drop(code);
  }
  pthread_mutex_unlock(&cache->lock);
}

static bool is_of(const kernel_code_t* code, uint64_t hash, const tbk_program_t* program,
                  const tbk_reduction_t* reduction) {
  if (code->hash != hash || (program != NULL) != (code->program != NULL)) return false;
  return program ? tbk_program_equal(code->program, program)
                 : tbk_reduction_equal(code->reduction, reduction);
}

/* With the lock held. Returns a reference, or NULL. */
static kernel_code_t* look_up(code_cache_t* cache, uint64_t hash, const tbk_program_t* program,
                              const tbk_reduction_t* reduction) {
  kernel_code_t* code = TAILQ_FIRST(&cache->kept);
  while (code && !is_of(code, hash, program, reduction))
    code = TAILQ_NEXT(code, entry);
  if (!code) return NULL;
  TAILQ_REMOVE(&cache->kept, code, entry);
  TAILQ_INSERT_HEAD(&cache->kept, code, entry);
  return code_keep(code);
}

static kernel_code_t* compile(uint64_t hash, const tbk_program_t* program,
                              const tbk_reduction_t* reduction) {
  kernel_code_t* code = calloc(1, sizeof *code);
  if (!code) return NULL;
  atomic_init(&code->refs, 1);
  code->hash = hash;
  const tbk_program_t* parts[3] = {NULL};
  if (program) {
    parts[0] = code->program = tbk_program_copy(program);
  } else if ((code->reduction = tbk_reduction_copy(reduction))) {
    parts[CODE_MAP] = code->reduction->map;
    parts[CODE_COMBINE] = code->reduction->combine;
    parts[CODE_FINISH] = code->reduction->finish;
  }
  bool whole = parts[0] != NULL;
  for (int i = 0; i < 3 && parts[i]; i++)
    whole = (code->parts[i] = code_new(parts[i])) && whole;
  if (whole && code->reduction) {
    extreme_recognize(code);
    alike_find(code);
  } else if (whole) {
    code_fuse(code->parts[0]);
  }
  if (whole) return code;
  code_drop(code);
  return NULL;
}

/* With the lock held. Adds it, unless another thread was first; the last one goes where there are
 * too many. */
static kernel_code_t* add(code_cache_t* cache, kernel_code_t* code) {
  kernel_code_t* first = look_up(cache, code->hash, code->program, code->reduction);
  if (first) return code_drop(code), first;
  code_keep(code); /* the macro reads its arguments more than once */
  TAILQ_INSERT_HEAD(&cache->kept, code, entry);
  if (++cache->count <= CODE_CACHE_MOST) return code;
  kernel_code_t* last = TAILQ_LAST(&cache->kept, code_list);
  forget(cache, last);
  code_drop(last);
  return code;
}

static kernel_code_t* find(code_cache_t* cache, const tbk_program_t* program,
                           const tbk_reduction_t* reduction, tbk_status_t* out_status,
                           tbk_error_t* error) {
  const uint64_t hash = program ? tbk_program_hash(program) : tbk_reduction_hash(reduction);
  *out_status = TBK_OK;
  pthread_mutex_lock(&cache->lock);
  kernel_code_t* code = look_up(cache, hash, program, reduction);
  pthread_mutex_unlock(&cache->lock);
  if (code) return code;
  code = compile(hash, program, reduction);
  if (!code) {
    *out_status = cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory to compile a program");
    return NULL;
  }
  pthread_mutex_lock(&cache->lock);
  code = add(cache, code);
  pthread_mutex_unlock(&cache->lock);
  return code;
}

/* ---------------------------------------------------------------------------- seen before -- */

/* How many of the cache, the most recently used first, are compared with what is asked for. */
enum { RECENT = 16 };

static bool same_bytes(const void* one, size_t one_count, const void* other, size_t other_count,
                       size_t size) {
  if (one_count != other_count || one_count == 0) return one_count == other_count;
  return other && memcmp(one, other, one_count * size) == 0;
}

/* Whether a program that nobody has checked is that of the cache, byte by byte: so it need not be
 * checked. Nothing is read beyond counts that are those of the cache. */
static bool is_copy(const tbk_program_t* kept, const tbk_program_t* given) {
#define SAME(items, count) \
  same_bytes(kept->items, kept->count, given->items, given->count, sizeof *kept->items)
  return given && given->struct_size >= sizeof *given && given->version == kept->version &&
         SAME(instructions, instruction_count) && SAME(operands, operand_count) &&
         SAME(inputs, input_count) && SAME(numbers, number_count) &&
         SAME(parameters, parameter_count) && SAME(results, result_count);
#undef SAME
}

static bool is_copied_reduction(const tbk_reduction_t* kept, const tbk_reduction_t* given) {
  return given->struct_size >= sizeof *given && given->flags == kept->flags && given->identity &&
         is_copy(kept->map, given->map) && is_copy(kept->combine, given->combine) &&
         is_copy(kept->finish, given->finish) &&
         memcmp(kept->identity, given->identity,
                kept->map->result_count * sizeof *kept->identity) == 0;
}

/* Returns a reference to the code of what was seen lately; NULL where it was not. */
static kernel_code_t* find_recent(code_cache_t* cache, const tbk_program_t* program,
                                  const tbk_reduction_t* reduction) {
  int left = RECENT;
  pthread_mutex_lock(&cache->lock);
  kernel_code_t* code = TAILQ_FIRST(&cache->kept);
  for (; code && left > 0; code = TAILQ_NEXT(code, entry), left--)
    if (program && code->program
            ? is_copy(code->program, program)
            : reduction && code->reduction && is_copied_reduction(code->reduction, reduction))
      break;
  if (left == 0) code = NULL;
  if (code) code_keep(code);
  pthread_mutex_unlock(&cache->lock);
  return code;
}

kernel_code_t* code_of_program(code_cache_t* cache, const tbk_program_t* program,
                               tbk_status_t* out_status, tbk_error_t* error) {
  *out_status = TBK_OK;
  kernel_code_t* code = program ? find_recent(cache, program, NULL) : NULL;
  if (code) return code;
  *out_status = tbk_program_check(program, error);
  return *out_status == TBK_OK ? find(cache, program, NULL, out_status, error) : NULL;
}

kernel_code_t* code_of_reduction(code_cache_t* cache, const tbk_reduction_t* reduction,
                                 tbk_status_t* out_status, tbk_error_t* error) {
  *out_status = TBK_OK;
  kernel_code_t* code = reduction ? find_recent(cache, NULL, reduction) : NULL;
  if (code) return code;
  *out_status = tbk_reduction_check(reduction, error);
  return *out_status == TBK_OK ? find(cache, NULL, reduction, out_status, error) : NULL;
}
