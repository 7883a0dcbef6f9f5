/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal.h: the anti-mutant that is any device that the header allows. Its options are read here; what
 * is not among them is the reference's own. LEGAL_OPTIONS is what a sweep draws its vectors from.
 */
#ifndef TBK_MUTANTS_LEGAL_H
#define TBK_MUTANTS_LEGAL_H

#include "arguments.h"

/* What can be left out, by the header's own names, as in `without=event+fill`: from the map. */
enum {
#define LEGAL_TABLE(name, type, needs) LEGAL_NO_##name,
#define LEGAL_FUNCTION(table, type, function, word) LEGAL_NO_##function,
  TBK_TABLE_MAP(LEGAL_TABLE) TBK_OPTIONAL_MAP(LEGAL_FUNCTION) LEGAL_WITHOUT_COUNT
#undef LEGAL_TABLE
#undef LEGAL_FUNCTION
};

/* X(NAME, "word"): what kernels refuse, as in `refuses=rank_0+strided`. */
#define LEGAL_REFUSES_MAP(X)              \
  X(RANK_0, "rank_0")                     \
  X(EMPTY, "empty")                       \
  X(STRIDED, "strided")                   \
  X(OFFSET, "offset")                     \
  X(ALIAS, "alias")                       \
  X(DTYPE, "dtype") /* all but FLOAT32 */ \
  X(LARGE, "large")

#define LEGAL_ENUM(name, word) LEGAL_##name,
enum { LEGAL_REFUSES_MAP(LEGAL_ENUM) LEGAL_REFUSES_COUNT };
#undef LEGAL_ENUM

enum { LEGAL_PREPARE_OFFERED, LEGAL_PREPARE_REFUSES, LEGAL_PREPARE_ABSENT };
enum { LEGAL_COMPILES_NEVER, LEGAL_COMPILES_FIRST, LEGAL_COMPILES_IDLE };

enum { LEGAL_STREAMS = 32, LEGAL_ALLOCATIONS = 64 };

typedef struct legal {
  uint64_t unit;   /* bytes: allocations are multiples of it */
  uint64_t dtypes; /* of those of the reference */
  uint64_t max_rank;
  uint64_t priorities; /* above and below 0 */
  uint64_t streams;    /* that a device can have at a time, at most LEGAL_STREAMS; 0: no limit */
  uint64_t
      allocations; /* that a device can have at a time, at most LEGAL_ALLOCATIONS; 0: no limit */
  uint64_t
      tells_early; /* what enqueues tells of work of the stream that has failed, and does nothing */
  uint64_t
      older; /* its header's properties end before max_allocation_bytes, and its core before fill */
  uint64_t flags_off;
  uint64_t unknown_memory;
  uint64_t copies_block;
  uint64_t host_waits;          /* event_wait waits on the host */
  uint64_t callbacks_by_caller; /* where nothing is pending */
  uint64_t prepare, compile;
  uint64_t aligned; /* the memory of tensors has to be */
  uint64_t scratch; /* bytes that must be free at a launch */
  bool without[LEGAL_WITHOUT_COUNT];
  bool refuses[LEGAL_REFUSES_COUNT];
  char only[48]; /* the one operator that is offered; empty: all */
  _Atomic(tbk_stream_t*) live[WRAP_DEVICES][LEGAL_STREAMS];
  /* Taken under the wrap's lock. */
  _Atomic(tbk_memory_t) held[WRAP_DEVICES][LEGAL_ALLOCATIONS];
  char rest[1024]; /* options for the reference */
} legal_t;

legal_t* legal_of(tbk_instance_t* self);
/* legal_kernel.c */
void legal_patch_kernels(wrap_t* wrap);
/* legal_limits.c */
void legal_patch_allocations(wrap_t* wrap);
void legal_forget_allocations(wrap_t* wrap, int32_t device);
/* legal_early.c: patches what enqueues, over what is patched already. */
void legal_patch_early(wrap_t* wrap);

/* Tells whether one of `words`, with blanks between, is left out. */
bool legal_lacks(const legal_t* legal, const char* words);
/* Reads the options; INVALID with the one that is wrong. */
tbk_status_t legal_read(legal_t* legal, const char* options, tbk_error_t* error);

#endif /* TBK_MUTANTS_LEGAL_H */
