/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * find.c: which loop computes an opcode on this processor.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <tbk/dtypes.h>

#include "loops/loops.h"

#ifdef TBK_CPU_AVX512
static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}
#endif

static const cpu_loop_set_t* choose(void) {
#ifdef TBK_CPU_AVX512
  if (has_avx512()) return &cpu_loops_avx512;
#endif
#ifdef TBK_CPU_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &cpu_loops_avx2;
#endif
  return &cpu_loops_plain;
}

/* Asked for at each row that is moved; every thread finds the same. */
static const cpu_loop_set_t* loops(void) {
  static _Atomic(const cpu_loop_set_t*) found;
  const cpu_loop_set_t* set = atomic_load_explicit(&found, memory_order_relaxed);
  if (set) return set;
  set = choose();
  atomic_store_explicit(&found, set, memory_order_relaxed);
  return set;
}

cpu_loop_t cpu_loop_find(uint16_t opcode, uint16_t takes, uint16_t gives, uint16_t slot) {
  const cpu_loop_set_t* set = loops();
  if (opcode == TBK_OPCODE_CAST) return set->cast(takes, gives);
  cpu_loop_t loop = set->word(opcode, slot, tbk_dtype_bytes(takes));
  if (!loop) loop = set->integer(opcode, takes);
  if (!loop) loop = set->real(opcode, takes);
  return loop ? loop : set->compare(opcode, takes);
}

cpu_loop_t cpu_choose_find(uint16_t opcode, uint16_t dtype) {
  return loops()->choose(opcode, dtype);
}

cpu_fold_t cpu_fold_find(uint16_t opcode, uint16_t dtype, cpu_fold_kind_t kind) {
  return loops()->fold(opcode, dtype, kind);
}

cpu_fill_t cpu_fill_find(void) {
  return loops()->fill;
}

cpu_move_t cpu_move_find(void) {
  return loops()->move;
}
