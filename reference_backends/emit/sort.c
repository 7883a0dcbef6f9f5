/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort.c: tbk::sort, by merging, over the whole device: one source for each dtype, launched once for the blocks, once
 * for each width of runs, and once to write what is kept. Only so many of a run are carried on as are kept.
 */
#include <inttypes.h>
#include <string.h>

#include "generic.h"
#include "inside.h"

enum { RANK = EMIT_MAX_RANK, BLOCK = 64, PAIR_BYTES = 16, BUFFERS = 2 };
enum { INPUT, VALUES, INDICES, WORKSPACE, POINTERS };

/* Where the words of a launch stand; the names are those of sort.inc. */
#define WORDS(X)      \
  X(COUNT, 1)         \
  X(LENGTH, 1)        \
  X(KEPT, 1)          \
  X(STEP, 1)          \
  X(WIDTH, 1)         \
  X(FROM, 1)          \
  X(TO, 1)            \
  X(DESCENDING, 1)    \
  X(VALUES_ASKED, 1)  \
  X(INDICES_ASKED, 1) \
  X(OFFSETS, 3)       \
  X(SIZES, RANK)      \
  X(INPUT, RANK)      \
  X(VALUES, RANK)     \
  X(INDICES, RANK)
enum {
#define WORD_ENTRY(name, count) W_##name, W_##name##_LAST = W_##name + (count)-1,
  WORDS(WORD_ENTRY) WORD_COUNT
};
enum { STEP_BLOCKS, STEP_MERGE, STEP_STORE };

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  return tbk_sort_check(arguments, error);
}

static int64_t length_of(const tbk_tensor_t* tensor) {
  return tensor->sizes[tensor->rank - 1];
}

static int64_t kept_of(const tbk_args_sort_t* args) {
  return length_of(args->values != NULL ? args->values : args->indices);
}

static int64_t segments_of(const tbk_args_sort_t* args) {
  int64_t count = 1;
  for (int32_t d = 0; d + 1 < args->input->rank; d++)
    count *= args->input->sizes[d];
  return count;
}

/* How often runs are merged, until one is as long as a segment. */
static size_t merges_of(const tbk_args_sort_t* args) {
  size_t count = 0;
  for (int64_t rest = (length_of(args->input) - 1) / BLOCK; rest > 0; rest /= 2)
    count++;
  return count;
}

static size_t set_count(const void* arguments) {
  const tbk_args_sort_t* args = arguments;
  const bool is_empty = kept_of(args) == 0 || segments_of(args) == 0;
  return is_empty ? 0 : merges_of(args) + 2;
}

static uint64_t workspace_of(const tbk_args_sort_t* args) {
  const int64_t pairs = segments_of(args) * length_of(args->input);
  uint64_t bytes;
  return __builtin_mul_overflow(pairs, BUFFERS * PAIR_BYTES, &bytes) ? UINT64_MAX : bytes;
}

/* The last dimension stands at the end, and the others before it, as far back as they can. */
static void put(int64_t* words, const int64_t* numbers, int32_t rank, int64_t last) {
  for (int32_t d = 0; d + 1 < rank; d++)
    words[RANK - rank + d] = numbers[d];
  words[RANK - 1] = last;
}

static tbk_status_t describe(const tbk_args_sort_t* args, bool is_bound, emit_launch_t* out,
                             tbk_error_t* error) {
  const tbk_tensor_t* const tensors[] = {args->input, args->values, args->indices};
  static const int32_t strides[] = {W_INPUT, W_VALUES, W_INDICES};
  for (int i = INPUT; i < WORKSPACE; i++) {
    emit_view_t view;
    if (tensors[i] == NULL) continue;
    tbk_status_t status = emit_describe(tensors[i], is_bound, &view, error);
    if (status != TBK_OK) return status;
    out->memory[i] = view.memory;
    out->words[W_OFFSETS + i] = view.offset;
    put(out->words + strides[i], view.strides, view.rank, view.strides[view.rank - 1]);
  }
  return TBK_OK;
}

/* What differs from launch to launch. */
static void write_step(const tbk_args_sort_t* args, size_t set, int64_t* words) {
  const size_t merges = merges_of(args);
  const int64_t pairs = segments_of(args) * length_of(args->input);
  words[W_STEP] = set == 0 ? STEP_BLOCKS : set <= merges ? STEP_MERGE : STEP_STORE;
  words[W_WIDTH] = set == 0 || set > merges ? BLOCK : (int64_t)BLOCK << (set - 1);
  words[W_FROM] = set % 2 == 0 ? pairs : 0;
  words[W_TO] = set % 2 == 0 ? 0 : pairs;
  words[W_COUNT] = set <= merges ? pairs : segments_of(args) * kept_of(args);
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_sort_t* args = arguments;
  if (WORD_COUNT > limits->most_words)
    return emit_fail(error, TBK_UNSUPPORTED, "%d parameters, and %d are possible", WORD_COUNT,
                     limits->most_words);
  for (int d = 0; d < RANK; d++)
    out->words[W_SIZES + d] = 1;
  put(out->words + W_SIZES, args->input->sizes, args->input->rank, 1);
  tbk_status_t status = describe(args, limits->is_bound, out, error);
  if (status != TBK_OK) return status;
  out->words[W_LENGTH] = length_of(args->input);
  out->words[W_KEPT] = kept_of(args);
  out->words[W_DESCENDING] = (args->flags & TBK_SORT_DESCENDING) != 0;
  out->words[W_VALUES_ASKED] = args->values != NULL;
  out->words[W_INDICES_ASKED] = args->indices != NULL;
  write_step(args, set, out->words);
  out->word_count = WORD_COUNT;
  out->pointer_count = POINTERS;
  out->workspace = WORKSPACE;
  out->workspace_bytes = workspace_of(args);
  out->class.outer = 1;
  out->class.index_bits = 64;
  out->groups = emit_groups(out->words[W_COUNT]);
  snprintf(out->name, sizeof out->name, "sort-%d", args->input->dtype);
  return TBK_OK;
}

/* Of real numbers the bits of infinity, of others 0. */
static uint64_t infinity_of(int32_t dtype) {
  switch (dtype) {
    case TBK_FLOAT16:
      return 0x7c00;
    case TBK_BFLOAT16:
      return 0x7f80;
    case TBK_FLOAT32:
      return 0x7f800000;
    case TBK_FLOAT64:
      return UINT64_C(0x7ff) << 52;
    default:
      return 0;
  }
}

/* Elements are moved as bits: no type of real numbers is needed. */
static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const int32_t dtype = ((const tbk_args_sort_t*)arguments)->input->dtype;
  const int bits = 8 * (int)tbk_dtype_bytes(dtype);
  const bool is_signed = dtype != TBK_UINT8 && dtype != TBK_BOOL;
  (void)class;
#define WORD_LINE(name, count) fprintf(out, "#define W_" #name " %d\n", W_##name);
  WORDS(WORD_LINE)
  fprintf(out, "typedef struct { i64 w[%d]; } parameters_t;\n#define ELEMENT_TYPE u%d\n",
          WORD_COUNT, bits);
  fprintf(out, "#define POINTERS(X) X(0, u%d) X(1, u%d) X(2, i64) X(3, u64)\n", bits, bits);
  fprintf(out, "#define SIGN ((u64)0x%" PRIx64 "ul)\n#define INFINITE ((u64)0x%" PRIx64 "ul)\n",
          is_signed ? UINT64_C(1) << (bits - 1) : 0, infinity_of(dtype));
  fprintf(out, "#define IS_REAL %d\n#define IS_BOOL %d\n", infinity_of(dtype) != 0,
          dtype == TBK_BOOL);
  fputs(emit_sort_kernel, out);
}

static bool has_double(const void* arguments) {
  (void)arguments;
  return false;
}

const emit_generic_t emit_sort = {TBK_NAME_sort, TBK_VERSION_sort, sizeof(tbk_args_sort_t),
                                  check,         set_count,        launch,
                                  write,         has_double};
