/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul.c: tbk::matmul. One source for each dtype; shapes, strides and scalars are words. A group makes a tile of
 * the output, as matmul.inc says.
 */
#include <string.h>

#include "generic.h"
#include "inside.h"

enum { OUT, A, B, C, TENSORS, TILE = 64, BATCH = EMIT_MAX_RANK - 2, ALL_STRIDES = TENSORS * BATCH };

/* Where the words of a launch stand; the names are those of matmul.inc. */
#define WORDS(X)      \
  X(M, 1)             \
  X(N, 1)             \
  X(K, 1)             \
  X(ADDS, 1)          \
  X(ALPHA, 1)         \
  X(BETA, 1)          \
  X(OFFSETS, TENSORS) \
  X(ROWS, TENSORS)    \
  X(COLUMNS, TENSORS) \
  X(BATCH, BATCH)     \
  X(STRIDES, ALL_STRIDES)
enum {
#define WORD_ENTRY(name, count) W_##name, W_##name##_LAST = W_##name + (count)-1,
  WORDS(WORD_ENTRY) WORD_COUNT
};

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  return tbk_matmul_check(arguments, error);
}

static size_t set_count(const void* arguments) {
  (void)arguments;
  return 1;
}

static bool is_integer(int32_t dtype) {
  return tbk_dtype_kind(dtype) == TBK_KIND_INTEGER;
}

/* The bits of a scalar in the type of the sums. */
static int64_t scalar_word(const tbk_scalar_t* scalar, int32_t dtype) {
  const float narrow = (float)scalar->real;
  uint64_t bits = 0;
  uint32_t narrow_bits;
  if (is_integer(dtype)) return scalar->integer;
  memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
  memcpy(&bits, &scalar->real, sizeof bits);
  return dtype == TBK_FLOAT64 ? (int64_t)bits : (int64_t)narrow_bits;
}

static void write_view(const emit_view_t* view, int which, emit_launch_t* out) {
  const int32_t rank = view->rank;
  out->words[W_OFFSETS + which] = view->offset;
  out->words[W_ROWS + which] = view->strides[rank - 2];
  out->words[W_COLUMNS + which] = view->strides[rank - 1];
  memcpy(out->words + W_STRIDES + which * BATCH, view->strides,
         (size_t)(rank - 2) * sizeof *view->strides);
}

static int64_t tiles(int64_t size) {
  return size / TILE + (size % TILE != 0);
}

static void write_words(const tbk_args_matmul_t* args, const emit_view_t* views,
                        emit_launch_t* out) {
  const emit_view_t *made = &views[OUT], *left = &views[A];
  const int64_t m = made->sizes[made->rank - 2], n = made->sizes[made->rank - 1];
  int64_t places = 1;
  out->words[W_M] = m;
  out->words[W_N] = n;
  out->words[W_K] = left->sizes[left->rank - 1];
  out->words[W_ADDS] = args->c != NULL;
  out->words[W_ALPHA] = scalar_word(&args->alpha, made->dtype);
  out->words[W_BETA] = args->c != NULL ? scalar_word(&args->beta, made->dtype) : 0;
  for (int d = 0; d < BATCH; d++)
    places *= out->words[W_BATCH + d] = d < made->rank - 2 ? made->sizes[d] : 1;
  for (int i = OUT; i < TENSORS; i++)
    if (i != C || args->c != NULL) write_view(&views[i], i, out);
  out->groups = made->count > 0 ? tiles(m) * tiles(n) * places : 0;
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_matmul_t* args = arguments;
  const tbk_tensor_t* const tensors[] = {args->out, args->a, args->b, args->c};
  emit_view_t views[TENSORS];
  tbk_status_t status = TBK_OK;
  (void)set;
  if (WORD_COUNT > limits->most_words)
    return emit_fail(error, TBK_UNSUPPORTED, "%d parameters, and %d are possible", (int)WORD_COUNT,
                     limits->most_words);
  for (int i = OUT; i < TENSORS && status == TBK_OK; i++) {
    if (tensors[i] == NULL) continue;
    status = emit_describe(tensors[i], limits->is_bound, &views[i], error);
    out->memory[i] = views[i].count > 0 ? views[i].memory : 0;
  }
  if (status != TBK_OK) return status;
  out->class.outer = 1;
  out->class.index_bits = 64;
  out->word_count = WORD_COUNT;
  out->pointer_count = TENSORS;
  write_words(args, views, out);
  snprintf(out->name, sizeof out->name, "matmul-%d", args->out->dtype);
  return TBK_OK;
}

/* ----------------------------------------------------------------------------------- the source -- */

/* Integers are summed without a sign, so that they wrap. */
static const char* sum_type(int32_t dtype) {
  if (dtype == TBK_INT64) return "u64";
  return is_integer(dtype) ? "u32" : emit_value_type((uint16_t)dtype);
}

static const char* scalar_form(int32_t dtype) {
  if (is_integer(dtype)) return "(SUM)p.w[word]";
  return dtype == TBK_FLOAT64 ? "DOUBLE_OF_BITS((u64)p.w[word])" : "FLOAT_OF_BITS((u32)p.w[word])";
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const uint16_t dtype = (uint16_t)((const tbk_args_matmul_t*)arguments)->out->dtype;
  (void)class;
#define WORD_LINE(name, count) fprintf(out, "#define W_" #name " %d\n", W_##name);
  WORDS(WORD_LINE)
  fprintf(out, "typedef struct { i64 w[%d]; } parameters_t;\n", WORD_COUNT);
  fprintf(out, "#define VALUE %s\n#define LOADED(v) %s(v)\n#define STORED(v) %s(v)\n",
          emit_value_type(dtype), emit_load_name(dtype), emit_store_name(dtype));
  fprintf(out, "#define SUM %s\n#define SCALAR(word) %s\n#define POINTERS(X)", sum_type(dtype),
          scalar_form(dtype));
  for (int i = OUT; i < TENSORS; i++)
    fprintf(out, " X(%d, %s)", i, emit_stored_type(dtype));
  fputs("\n", out);
  fputs(emit_matmul_kernel, out);
}

static bool has_double(const void* arguments) {
  return ((const tbk_args_matmul_t*)arguments)->out->dtype == TBK_FLOAT64;
}

const emit_generic_t emit_matmul = {TBK_NAME_matmul, TBK_VERSION_matmul, sizeof(tbk_args_matmul_t),
                                    check,           set_count,          launch,
                                    write,           has_double};
