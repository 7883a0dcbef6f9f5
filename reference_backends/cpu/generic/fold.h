/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fold.h: many states made one. Each lane is a state of its own; what comes is combined into level 0,
 * after FOLD_RADIX times level 0 into level 1, and so on. So no state is the sum of a long row: of n
 * steps each element goes through at most FOLD_RADIX * (1 + log16(n)) additions.
 */
#ifndef TBK_CPU_FOLD_H
#define TBK_CPU_FOLD_H

#include "extreme.h"
#include "frame.h"

enum { FOLD_RADIX = 16, FOLD_LEVELS_MOST = 18, FOLD_STATES_MOST = TBK_REDUCTION_MOST_STATES };

/* One buffer for each state. */
typedef struct fold_states {
  void* at[FOLD_STATES_MOST];
} fold_states_t;

typedef struct fold_level {
  fold_states_t states;
  size_t lanes; /* 0: nothing is there */
  int merged;
  bool
      alike; /* its states that can be the same in every lane are, and only their first step of lanes is there */
} fold_level_t;

typedef struct fold {
  frame_t map, combine, finish;
  frame_t values;    /* where `extreme` finds something */
  extreme_t extreme; /* nothing was seen yet */
  size_t states;
  int64_t state_bytes[FOLD_STATES_MOST];
  bool in_order;  /* combine is not commutative */
  bool has_alike; /* see alike.h */
  const bool* alike;
  cpu_fold_t single; /* NULL where combine is more than one opcode */
  cpu_fold_t
      rows; /* the same of elements as they lie in memory; NULL where the map makes something else of them */
  const uint64_t* identity;
  size_t level_count;
  fold_level_t levels[FOLD_LEVELS_MOST];
  fold_states_t even, odd, halved; /* while lanes of one tile become one */
  fold_states_t done;              /* of a block of outer elements */
} fold_t;

/* Returns what folds lanes at once, where combine is one opcode of both states and nothing else; else NULL. */
cpu_fold_t fold_single(const code_t* combine, cpu_fold_kind_t kind);
/* Returns how many levels so many steps need. */
size_t fold_levels(int64_t steps);
size_t fold_bytes(const kernel_code_t* code, size_t lanes, size_t levels);
void fold_make(fold_t* fold, const kernel_code_t* code, size_t lanes, size_t levels, char* memory);

/* Forgets all levels. */
void fold_reset(fold_t* fold);
/* Adds what the map has just made of `lanes` elements, one for each lane. */
void fold_add_lanes(fold_t* fold, size_t lanes);
/* Adds one element for each lane, which lie at `elements` side by side, whole steps of lanes: where there is `rows`, of a
 * map that is no more than a load. */
void fold_add_elements(fold_t* fold, const void* elements, size_t lanes);
/* Adds `lanes` elements, which lie at `elements` one behind the other, as the one that `make` makes: `single`, or
 * `rows` where they are as the map loads them. */
void fold_add_folded(fold_t* fold, cpu_fold_t make, const void* elements, size_t lanes);
/* Adds the same as one state, earlier lanes first. */
void fold_add_in_order(fold_t* fold, size_t lanes);
/* Returns the states of all that was added, lane by lane; the identity where nothing was. */
const fold_level_t* fold_collapse(fold_t* fold, size_t lanes);
/* Puts the lanes of a collapsed level, as they are, into `done`. */
void fold_keep_lanes(fold_t* fold, const fold_level_t* level);
/* Makes the lanes of a collapsed level one, in any order, and puts it at lane `to` of `done`. */
void fold_lanes(fold_t* fold, const fold_level_t* level, size_t to);

#endif /* TBK_CPU_FOLD_H */
