/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic.h: kernels written from programs, for tbk::pointwise, tbk::reduce and tbk::scan, and those of
 * tbk::index, tbk::sort, tbk::matmul and tbk::convolution. A launch is made of the arguments at each call, cheaply; the
 * source is written once for each `name` of a launch, which a backend compiles and keeps. Each kernel is called "run" and takes the words by
 * value, then pointers.
 */
#ifndef EMIT_GENERIC_H
#define EMIT_GENERIC_H

#include <emit/job.h>
#include <stdio.h>
#include <tbk/program.h>

enum {
  EMIT_POINTERS = TBK_PROGRAM_MOST_RESULTS + 2 * TBK_PROGRAM_MOST_INPUTS,
  EMIT_WORDS = 512,       /* the most that a launch takes: 4,096 bytes */
  EMIT_WORDS_LEAST = 128, /* of 8 bytes, that every driver takes as parameters */
  EMIT_NAME_BYTES = EMIT_OPTIONS_BYTES
};

/* What stands before a kernel: the dialect that it is written in. A compiler of another language wants one of its
 * own, which defines what kernels/c.inc does. */
extern const char emit_opencl_prelude[], emit_cuda_prelude[], emit_c_prelude[], emit_host_prelude[];

/* What a source is specialised for; the rest is words of the launch. Ranks are classes, but exact where
 * the program names coordinates. */
typedef struct emit_class {
  int32_t outer, inner; /* ranks of the space, at least 1; inner is 0 without a reduction */
  int32_t rank;         /* of the outer space, where that is exact: it may be 0 */
  int32_t index_bits;   /* 32 or 64 */
  bool is_grouped;      /* a group makes each output together */
  bool is_exact;        /* nothing was folded: coordinates are those of the launch */
} emit_class_t;

typedef struct emit_launch {
  char name[EMIT_NAME_BYTES]; /* of what is compiled: a hash of the program, and the class */
  emit_class_t class;
  int32_t word_count, pointer_count;
  int64_t* words;       /* at most EMIT_WORDS */
  tbk_memory_t* memory; /* outputs, then inputs; 0 where nothing is read or written */
  int64_t groups;       /* of EMIT_GROUP items each; 0 where there is nothing to do */
  int32_t workspace; /* the pointer that is the workspace of all launches; 0 where there is none */
  uint64_t workspace_bytes;
  uint64_t hash; /* of the programs, the same for all sets; 0 where it is not known yet */
} emit_launch_t;

/* What a launch may be made of. */
typedef struct emit_limits {
  bool is_bound;      /* false where memory is not looked at (prepare) */
  int32_t most_words; /* at most EMIT_WORDS */
} emit_limits_t;

/* One of the kernels: how launches and sources are made of its arguments. */
typedef struct emit_generic {
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  tbk_status_t (*check)(const void* arguments, tbk_error_t* error);
  size_t (*set_count)(const void* arguments);
  tbk_status_t (*launch)(const void* arguments, size_t set, const emit_limits_t* limits,
                         emit_launch_t* out, tbk_error_t* error);
  void (*write)(const void* arguments, const emit_class_t* class, FILE* out);
  bool (*has_double)(const void* arguments);
} emit_generic_t;

extern const emit_generic_t emit_pointwise, emit_reduce, emit_index;
extern const emit_generic_t emit_sort;
extern const emit_generic_t emit_scan;
extern const emit_generic_t emit_matmul;
extern const emit_generic_t emit_convolution;

/*
 * Makes the launches of all sets, an array that free() gives back, with what it points at; NULL and 0 where there are
 * none. They are run one after the other, in this order: what one of tbk::sort writes the next one reads.
 * Ensures: what is malformed is found before any launch is made.
 * Errors: INVALID where arguments or programs are not well formed, or a tensor reaches out of its storage;
 * UNSUPPORTED where there are more words than the limits have, or an output has a stride of 0;
 * OUT_OF_MEMORY.
 */
tbk_status_t emit_generic_launches(const emit_generic_t* generic, const void* arguments,
                                   const emit_limits_t* limits, emit_launch_t** out_launches,
                                   size_t* out_count, tbk_error_t* error);

/* Writes the source for a launch that was made of the same arguments; free() gives it back. NULL where
 * there is no memory. OpenCL wants HAS_DOUBLE with the build. */
char* emit_generic_source(const emit_generic_t* generic, const void* arguments,
                          const emit_launch_t* launch, const char* prelude);

/* Returns how many bytes of device memory the launches share while they run, one after the other: the caller
 * allocates them, and puts them at `workspace` of each. */
uint64_t emit_generic_workspace(const emit_launch_t* launches, size_t count);

/* Returns whether launch `i` runs what the one before it runs: of a list most do, and need not be looked for. */
bool emit_generic_repeats(const emit_launch_t* launches, size_t i);

/* Returns whether any value is of FLOAT64. */
bool emit_generic_has_double(const emit_generic_t* generic, const void* arguments);

#endif /* EMIT_GENERIC_H */
