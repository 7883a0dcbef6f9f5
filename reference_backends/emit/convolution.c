/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution.c: tbk::convolution. One source for each dtype; the mode is in the words, as coefficients: an
 * item has an element of what is written, walks over one of the other tensors, and finds the place in
 * the third from x = y * stride + k * dilation - padding.
 */
#include <string.h>

#include "generic.h"
#include "inside.h"

enum { SPATIAL = TBK_CONVOLUTION_MOST_SPATIAL, DIMENSIONS = 2 + SPATIAL };

/* Where the words of a launch stand; the names are those of convolution.inc. */
#define WORDS(X)             \
  X(COUNT, 1)                \
  X(PER_GROUP, 1)            \
  X(IS_FIRST, 1)             \
  X(HAS_BIAS, 1)             \
  X(BIAS_STRIDE, 1)          \
  X(STEPS, 1)                \
  X(WALKED_STEP, 1)          \
  X(FOUND_STEP, 1)           \
  X(OFFSETS, 4)              \
  X(SIZES, DIMENSIONS)       \
  X(STRIDES, DIMENSIONS)     \
  X(WALKED_BASE, 4)          \
  X(FOUND_BASE, 4)           \
  X(WALKED_SIZES, SPATIAL)   \
  X(WALKED_STRIDES, SPATIAL) \
  X(FOUND_SIZES, SPATIAL)    \
  X(FOUND_STRIDES, SPATIAL)  \
  X(BY_WRITTEN, SPATIAL)     \
  X(BY_WALKED, SPATIAL)      \
  X(PLUS, SPATIAL)           \
  X(DIVISOR, SPATIAL)
enum {
#define WORD_ENTRY(name, count) W_##name, W_##name##_LAST = W_##name + (count)-1,
  WORDS(WORD_ENTRY) WORD_COUNT
};

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  return tbk_convolution_check(arguments, error);
}

static size_t set_count(const void* arguments) {
  (void)arguments;
  return 1;
}

/* What is written, what is walked over, and where the rest is found. */
typedef struct roles {
  emit_view_t written, walked, found, bias;
} roles_t;

/* Three spatial dimensions: those that are missing come first and are of size 1. */
static void spread(emit_view_t* view) {
  const int32_t missing = DIMENSIONS - view->rank;
  for (int32_t d = view->rank - 1; d >= 2; d--) {
    view->sizes[d + missing] = view->sizes[d];
    view->strides[d + missing] = view->strides[d];
  }
  for (int32_t d = 2; d < 2 + missing; d++) {
    view->sizes[d] = 1;
    view->strides[d] = 0;
  }
}

static tbk_status_t describe(const tbk_args_convolution_t* args, bool is_bound, roles_t* out,
                             tbk_error_t* error) {
  const tbk_tensor_t *x = args->input, *w = args->weight, *y = args->output;
  const tbk_tensor_t* const roles[][3] = {[TBK_CONVOLUTION_OUTPUT] = {y, w, x},
                                          [TBK_CONVOLUTION_INPUT] = {x, w, y},
                                          [TBK_CONVOLUTION_WEIGHT] = {w, y, x}};
  emit_view_t* const views[] = {&out->written, &out->walked, &out->found};
  tbk_status_t status = TBK_OK;
  for (int i = 0; i < 3 && status == TBK_OK; i++) {
    status = emit_describe(roles[args->mode][i], is_bound, views[i], error);
    if (status == TBK_OK) spread(views[i]);
  }
  memset(&out->bias, 0, sizeof out->bias);
  if (status == TBK_OK && args->bias != NULL)
    status = emit_describe(args->bias, is_bound, &out->bias, error);
  return status;
}

/* Where an element's sums begin, by its first two indices, its group and its place therein; and how far the
 * channels, filters or images lie apart that are summed over. */
static void write_sums(const tbk_args_convolution_t* args, const roles_t* r, int64_t* words) {
  const int64_t channels = args->input->sizes[1] / args->groups;
  const int64_t filters = args->output->sizes[1] / args->groups;
  const int64_t *walked = r->walked.strides, *found = r->found.strides;
  int64_t *walked_base = words + W_WALKED_BASE, *found_base = words + W_FOUND_BASE;
  enum { FIRST, SECOND, GROUP, WITHIN };
  const bool by_weight = args->mode == TBK_CONVOLUTION_WEIGHT;
  const bool is_output = args->mode == TBK_CONVOLUTION_OUTPUT;
  words[W_IS_FIRST] = by_weight;
  words[W_PER_GROUP] = args->mode == TBK_CONVOLUTION_INPUT ? channels : filters;
  words[W_STEPS] = by_weight ? args->input->sizes[0] : is_output ? channels : filters;
  words[W_WALKED_STEP] = walked[is_output ? 1 : 0];
  words[W_FOUND_STEP] = found[by_weight ? 0 : 1];
  if (by_weight) {
    walked_base[FIRST] = walked[1];
    found_base[GROUP] = channels * found[1];
    found_base[SECOND] = found[1];
    return;
  }
  found_base[FIRST] = found[0];
  found_base[GROUP] = (is_output ? channels : filters) * found[1];
  walked_base[SECOND] = is_output ? walked[0] : 0;
  walked_base[GROUP] = is_output ? 0 : filters * walked[0];
  walked_base[WITHIN] = is_output ? 0 : walked[1];
}

/* The place that is found, as (written * a + walked * b + c) / d. */
static void write_places(const tbk_args_convolution_t* args, int64_t* words) {
  const int32_t missing = SPATIAL - (args->input->rank - 2);
  for (int32_t d = 0; d < SPATIAL; d++) {
    const bool own = d >= missing;
    const int64_t stride = own ? args->stride[d - missing] : 1;
    const int64_t padding = own ? args->padding[d - missing] : 0;
    const int64_t dilation = own ? args->dilation[d - missing] : 1;
    const bool by_input = args->mode == TBK_CONVOLUTION_INPUT;
    const bool by_weight = args->mode == TBK_CONVOLUTION_WEIGHT;
    words[W_BY_WRITTEN + d] = by_input ? 1 : by_weight ? dilation : stride;
    words[W_BY_WALKED + d] = by_input ? -dilation : by_weight ? stride : dilation;
    words[W_PLUS + d] = by_input ? padding : -padding;
    words[W_DIVISOR + d] = by_input ? stride : 1;
  }
}

static void write_words(const tbk_args_convolution_t* args, const roles_t* r, int64_t* words) {
  const size_t spatial = SPATIAL * sizeof(int64_t);
  words[W_COUNT] = r->written.count;
  words[W_HAS_BIAS] = args->bias != NULL;
  words[W_BIAS_STRIDE] = r->bias.strides[0];
  words[W_OFFSETS] = r->written.offset;
  words[W_OFFSETS + 1] = r->walked.offset;
  words[W_OFFSETS + 2] = r->found.offset;
  words[W_OFFSETS + 3] = r->bias.offset;
  memcpy(words + W_SIZES, r->written.sizes, DIMENSIONS * sizeof(int64_t));
  memcpy(words + W_STRIDES, r->written.strides, DIMENSIONS * sizeof(int64_t));
  memcpy(words + W_WALKED_SIZES, r->walked.sizes + 2, spatial);
  memcpy(words + W_WALKED_STRIDES, r->walked.strides + 2, spatial);
  memcpy(words + W_FOUND_SIZES, r->found.sizes + 2, spatial);
  memcpy(words + W_FOUND_STRIDES, r->found.strides + 2, spatial);
  write_sums(args, r, words);
  write_places(args, words);
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_convolution_t* args = arguments;
  roles_t roles;
  (void)set;
  if (WORD_COUNT > limits->most_words)
    return emit_fail(error, TBK_UNSUPPORTED, "%d parameters, and %d are possible", WORD_COUNT,
                     limits->most_words);
  tbk_status_t status = describe(args, limits->is_bound, &roles, error);
  if (status != TBK_OK) return status;
  const emit_view_t* const views[] = {&roles.written, &roles.walked, &roles.found, &roles.bias};
  out->word_count = WORD_COUNT;
  out->pointer_count = 4;
  for (int i = 0; i < 4; i++)
    out->memory[i] = views[i]->count > 0 ? views[i]->memory : 0;
  out->class.outer = 1;
  out->class.index_bits = 64;
  write_words(args, &roles, out->words);
  snprintf(out->name, sizeof out->name, "convolution-%d", args->input->dtype);
  out->groups = emit_groups(roles.written.count);
  return TBK_OK;
}

/* ----------------------------------------------------------------------------------- the source -- */

/* Integers are summed as words, which wrap. */
static void write_sum(uint16_t dtype, FILE* out) {
  const char* value = emit_value_type(dtype);
  const bool is_real = emit_suffix(dtype)[0] == 'f';
  fprintf(out, "#define SUM %s\n", is_real ? value : dtype == TBK_INT64 ? "u64" : "u32");
  fprintf(out, "#define LOADED(v) (SUM)%s(v)\n#define STORED(v) %s((%s)(v))\n",
          emit_load_name(dtype), emit_store_name(dtype), value);
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const uint16_t dtype = (uint16_t)((const tbk_args_convolution_t*)arguments)->input->dtype;
  const char* stored = emit_stored_type(dtype);
  (void)class;
#define WORD_LINE(name, count) fprintf(out, "#define W_" #name " %d\n", W_##name);
  WORDS(WORD_LINE)
  fprintf(out, "typedef struct { i64 w[%d]; } parameters_t;\n", WORD_COUNT);
  write_sum(dtype, out);
  fprintf(out, "#define POINTERS(X) X(0, %s) X(1, %s) X(2, %s) X(3, %s)\n", stored, stored, stored,
          stored);
  fputs(emit_convolution_kernel, out);
}

static bool has_double(const void* arguments) {
  return ((const tbk_args_convolution_t*)arguments)->input->dtype == TBK_FLOAT64;
}

const emit_generic_t emit_convolution = {TBK_NAME_convolution,
                                         TBK_VERSION_convolution,
                                         sizeof(tbk_args_convolution_t),
                                         check,
                                         set_count,
                                         launch,
                                         write,
                                         has_double};
