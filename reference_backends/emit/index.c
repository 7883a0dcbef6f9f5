/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index.c: tbk::index. One source for each dtype and list of index dtypes; all else is words. Where places may be
 * one element of the table and there is no compare-and-swap for it, or their order counts, the dimensions
 * that the table goes along with are put first: an item has a place of these, and goes through the rest.
 */
#include <string.h>

#include "generic.h"
#include "inside.h"

enum { RANK = EMIT_MAX_RANK, INDEX_WORDS = RANK + 1, ALL_INDEX_WORDS = INDEX_WORDS * RANK };

/* Where the words of a launch stand; the names are those of index.inc. */
#define WORDS(X)         \
  X(COUNT, 1)            \
  X(INNER, 1)            \
  X(SERIAL, 1)           \
  X(MODE, 1)             \
  X(NEGATIVE, 1)         \
  X(FLAT, 1)             \
  X(REPORT, 1)           \
  X(TABLE_COUNT, 1)      \
  X(TABLE_RANK, 1)       \
  X(OFFSETS, 3)          \
  X(SIZES, RANK)         \
  X(VALUES, RANK)        \
  X(TABLE_SIZES, RANK)   \
  X(TABLE_STRIDES, RANK) \
  X(PLACES, RANK)        \
  X(INDICES, ALL_INDEX_WORDS)
enum {
#define WORD_ENTRY(name, count) W_##name, W_##name##_LAST = W_##name + (count)-1,
  WORDS(WORD_ENTRY)
};

/* Strides of an index, then its offset. */
static int32_t words_of_index(size_t k) {
  return W_INDICES + (int32_t)k * INDEX_WORDS;
}

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  return tbk_index_check(arguments, error);
}

static size_t set_count(const void* arguments) {
  (void)arguments;
  return 1;
}

static bool is_wide(const tbk_args_index_t* args) {
  return tbk_dtype_bytes(args->table->dtype) == 8;
}

static bool is_serial(const tbk_args_index_t* args) {
  if (args->mode == TBK_INDEX_GATHER) return false;
  if ((args->flags & TBK_INDEX_ORDERED) != 0) return true;
  return args->mode != TBK_INDEX_WRITE && tbk_dtype_bytes(args->table->dtype) < 4;
}

static bool goes_along(const tbk_args_index_t* args, int32_t dimension) {
  for (int32_t d = 0; (args->flags & TBK_INDEX_FLAT) == 0 && d < args->table->rank; d++)
    if (args->places[d] == dimension) return true;
  return false;
}

/* The order of the space's dimensions in the words; returns how many places the inner ones have. Whether 8 bytes
 * can be swapped is known to the compiler alone. */
static int64_t find_order(const tbk_args_index_t* args, int32_t* order) {
  const bool keeps = !is_serial(args) && !(is_wide(args) && args->mode > TBK_INDEX_WRITE);
  int32_t next = 0;
  int64_t inner = 1;
  for (int32_t d = 0; d < args->values->rank; d++)
    if (keeps || goes_along(args, d)) order[d] = next++;
  for (int32_t d = 0; d < args->values->rank && !keeps; d++) {
    if (goes_along(args, d)) continue;
    order[d] = next++;
    inner *= args->values->sizes[d];
  }
  return inner;
}

static void put_ordered(int64_t* words, const int64_t* numbers, int32_t rank,
                        const int32_t* order) {
  for (int32_t d = 0; d < rank; d++)
    words[order[d]] = numbers[d];
}

static void write_space(const tbk_args_index_t* args, const emit_view_t* views,
                        emit_launch_t* out) {
  int32_t order[RANK];
  const int32_t rank = args->values->rank;
  for (int d = 0; d < RANK; d++)
    out->words[W_SIZES + d] = 1;
  out->words[W_INNER] = find_order(args, order);
  put_ordered(out->words + W_SIZES, views[1].sizes, rank, order);
  put_ordered(out->words + W_VALUES, views[1].strides, rank, order);
  for (size_t k = 0; k < args->index_count; k++) {
    put_ordered(out->words + words_of_index(k), views[2 + k].strides, rank, order);
    out->words[words_of_index(k) + RANK] = views[2 + k].offset;
  }
  for (int32_t d = 0; (args->flags & TBK_INDEX_FLAT) == 0 && d < args->table->rank; d++)
    out->words[W_PLACES + d] = args->places[d] >= 0 ? order[args->places[d]] : args->places[d];
}

static void write_words(const tbk_args_index_t* args, const emit_view_t* views,
                        const emit_view_t* report, emit_launch_t* out) {
  const emit_view_t* table = &views[0];
  out->words[W_COUNT] = views[1].count;
  out->words[W_SERIAL] = is_serial(args);
  out->words[W_MODE] = args->mode;
  out->words[W_NEGATIVE] = (args->flags & TBK_INDEX_NEGATIVE) != 0;
  out->words[W_FLAT] = (args->flags & TBK_INDEX_FLAT) != 0;
  out->words[W_REPORT] = args->report != NULL;
  out->words[W_TABLE_COUNT] = table->count;
  out->words[W_TABLE_RANK] = table->rank;
  out->words[W_OFFSETS] = table->offset;
  out->words[W_OFFSETS + 1] = views[1].offset;
  out->words[W_OFFSETS + 2] = report->offset;
  memcpy(out->words + W_TABLE_SIZES, table->sizes, sizeof table->sizes);
  memcpy(out->words + W_TABLE_STRIDES, table->strides, sizeof table->strides);
  write_space(args, views, out);
}

static void set_name(const tbk_args_index_t* args, emit_launch_t* out) {
  char letters[RANK + 1] = "";
  for (size_t k = 0; k < args->index_count; k++)
    letters[k] = args->indices[k]->dtype == TBK_INT32 ? 'i' : 'l';
  snprintf(out->name, sizeof out->name, "index-%d-%s", args->table->dtype, letters);
}

/* Views of the table, the values and the indices. */
static tbk_status_t describe(const tbk_args_index_t* args, bool is_bound, emit_view_t* views,
                             emit_view_t* report, emit_launch_t* out, tbk_error_t* error) {
  const size_t last = 2 + args->index_count;
  tbk_status_t status = TBK_OK;
  for (size_t i = 0; i <= last && status == TBK_OK; i++) {
    const tbk_tensor_t* tensor = i == 0      ? args->table
                                 : i == 1    ? args->values
                                 : i == last ? args->report
                                             : args->indices[i - 2];
    emit_view_t* view = i == last ? report : &views[i];
    memset(view, 0, sizeof *view);
    if (tensor != NULL) status = emit_describe(tensor, is_bound, view, error);
    out->memory[i] = view->count > 0 ? view->memory : 0;
  }
  out->pointer_count = (int32_t)last + 1;
  return status;
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_index_t* args = arguments;
  emit_view_t views[2 + RANK], report;
  (void)set;
  out->word_count = words_of_index(args->index_count);
  if (out->word_count > limits->most_words)
    return emit_fail(error, TBK_UNSUPPORTED, "%d parameters, and %d are possible", out->word_count,
                     limits->most_words);
  tbk_status_t status = describe(args, limits->is_bound, views, &report, out, error);
  if (status != TBK_OK) return status;
  out->class.outer = 1;
  out->class.index_bits = 64;
  write_words(args, views, &report, out);
  set_name(args, out);
  const int64_t items =
      is_serial(args) && views[1].count > 0 ? views[1].count / out->words[W_INNER] : views[1].count;
  out->groups = emit_groups(items);
  return TBK_OK;
}

/* ----------------------------------------------------------------------------------- the source -- */

/* What each opcode is on the type that values of the dtype are held in. */
static void write_operations(uint16_t dtype, FILE* out) {
  const char* suffix = emit_suffix(dtype);
  const bool is_real = suffix[0] == 'f', is_bool = dtype == TBK_BOOL;
  if (is_real)
    fputs("#define ADDED(a, b) (a) + (b)\n#define MULTIPLIED(a, b) (a) * (b)\n", out);
  else if (is_bool)
    fputs("#define ADDED(a, b) (a) | (b)\n#define MULTIPLIED(a, b) (a) & (b)\n", out);
  else
    fprintf(out, "#define ADDED add_%s\n#define MULTIPLIED mul_%s\n", suffix, suffix);
  fprintf(out, "#define LEAST min_%s\n#define GREATEST max_%s\n", suffix, suffix);
}

/* How elements of 4 and 8 bytes are swapped. */
static void write_swap(uint16_t dtype, FILE* out) {
  const int64_t bytes = tbk_dtype_bytes(dtype);
  const bool is_real = dtype == TBK_FLOAT32 || dtype == TBK_FLOAT64, is_wide = bytes == 8;
  fprintf(out, "#define ATOMIC %s\n", bytes == 4 ? "1" : is_wide ? "HAS_SWAP64" : "0");
  if (bytes < 4) return;
  fprintf(out, "#define WORD u%d\n#define SWAP SWAP%d\n", is_wide ? 64 : 32, is_wide ? 64 : 32);
  if (is_real)
    fprintf(out, "#define BITS_OF BITS_OF_%s\n#define VALUE_OF %s_OF_BITS\n",
            is_wide ? "DOUBLE" : "FLOAT", is_wide ? "DOUBLE" : "FLOAT");
  else
    fprintf(out, "#define BITS_OF(v) (u%d)(v)\n#define VALUE_OF(v) (i%d)(v)\n", is_wide ? 64 : 32,
            is_wide ? 64 : 32);
}

static void write_pointers(const tbk_args_index_t* args, const char* stored, FILE* out) {
  fprintf(out, "#define POINTERS(X) X(0, %s) X(1, %s)", stored, stored);
  for (size_t k = 0; k < args->index_count; k++)
    fprintf(out, " X(%zu, %s)", 2 + k, emit_stored_type((uint16_t)args->indices[k]->dtype));
  fprintf(out, " X(%zu, i32)\n#define REPORT p%zu\n#define READ_INDICES", 2 + args->index_count,
          2 + args->index_count);
  for (size_t k = 0; k < args->index_count; k++)
    fprintf(out, " index[%zu] = (i64)ELEMENT(p%zu, p.w[%d] + DOT(%d));", k, 2 + k,
            words_of_index(k) + RANK, words_of_index(k));
  fputs("\n", out);
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const tbk_args_index_t* args = arguments;
  const uint16_t dtype = (uint16_t)args->table->dtype;
  (void)class;
#define WORD_LINE(name, count) fprintf(out, "#define W_" #name " %d\n", W_##name);
  WORDS(WORD_LINE)
  fprintf(out, "typedef struct { i64 w[%d]; } parameters_t;\n", words_of_index(args->index_count));
  fprintf(out, "#define VALUE %s\n#define LOADED(v) %s(v)\n#define STORED(v) %s(v)\n",
          emit_value_type(dtype), emit_load_name(dtype), emit_store_name(dtype));
  write_operations(dtype, out);
  write_swap(dtype, out);
  write_pointers(args, emit_stored_type(dtype), out);
  fputs(emit_index_kernel, out);
}

static bool has_double(const void* arguments) {
  return ((const tbk_args_index_t*)arguments)->table->dtype == TBK_FLOAT64;
}

const emit_generic_t emit_index = {TBK_NAME_index, TBK_VERSION_index, sizeof(tbk_args_index_t),
                                   check,          set_count,         launch,
                                   write,          has_double};
