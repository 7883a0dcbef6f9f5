/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduction.c: tbk::reduce. An item makes an output where few elements go into one, else a group does. An
 * item combines in runs of RUN elements, so that rounding errors grow with the length of a run and the
 * number of runs, and not with their product. Whatever is not commutative stays in order.
 */
#include "reduction.h"

#define RUN "256"

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  const tbk_args_reduce_t* args = arguments;
  if (args->reduction == NULL) return emit_fail(error, TBK_INVALID, "there is no reduction");
  tbk_status_t status = tbk_reduction_check(args->reduction, error);
  return status == TBK_OK ? tbk_reduce_check(args, error) : status;
}

static size_t set_count(const void* arguments) {
  return ((const tbk_args_reduce_t*)arguments)->set_count;
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_reduce_t* args = arguments;
  const tbk_operand_set_t* operands = args->sets[set];
  emit_parts_t parts;
  emit_find_parts(args->reduction, EMIT_OUTER, &parts);
  const emit_space_t space = {.sizes = operands->outputs[0]->sizes,
                              .rank = operands->outputs[0]->rank,
                              .inner_sizes = operands->inner_sizes,
                              .inner_rank = (int32_t)operands->inner_rank,
                              .most_words = limits->most_words,
                              .is_bound = limits->is_bound,
                              .index_bits = args->index_bits};
  return emit_launch_parts(&parts, operands, space, out, error);
}

/* Combines elements number 0 to `turns` of an item into "s"; `element` is which one a number means. */
static void write_runs(const emit_parts_t* parts, const char* turns, const char* element,
                       FILE* out) {
  fprintf(out, "    for (i64 from = 0; from < %s; from += " RUN ") {\n", turns);
  emit_write_state(parts, 't', out);
  fprintf(out, "    for (i64 n = from; n < from + " RUN " && n < %s; n++) {\n", turns);
  fprintf(out, "    const ix j = (ix)(%s);\n    if (j < (ix)p.w[%d]) {\n", element,
          EMIT_WORD_INNER);
  emit_write_element(parts, "t", out);
  fputs("    }\n    }\n", out);
  emit_write_combine(parts, "s", "t", out);
  fputs("    }\n", out);
}

static void write_each(const emit_parts_t* parts, FILE* out) {
  char turns[32];
  snprintf(turns, sizeof turns, "p.w[%d]", EMIT_WORD_INNER);
  fputs("  PHASE\n    const ix i = (ix)(GROUP * 64 + ITEM);\n", out);
  fprintf(out, "    if (GROUP * 64 + ITEM < p.w[%d]) {\n", EMIT_WORD_COUNT);
  emit_write_split(out, 'o', "i", parts->class->outer, parts->layout.sizes);
  emit_write_state(parts, 's', out);
  write_runs(parts, turns, "n", out);
  emit_write_finish(parts, "i", NULL, out);
  fputs("    }\n  END\n", out);
}

static void write_tree(const emit_parts_t* parts, FILE* out) {
  fputs("  for (int step = 1; step < 64; step *= 2) {\n  PHASE\n", out);
  fputs("    if (ITEM % (2 * step) == 0) {\n", out);
  emit_write_each_state(parts, "@ s# = shared#[ITEM]; const @ t# = shared#[ITEM + step];", out);
  emit_write_combine(parts, "s", "t", out);
  emit_write_each_state(parts, "shared#[ITEM] = s#;", out);
  fputs("    }\n  BARRIER\n  }\n", out);
}

/* Neighbours are combined, so that the order stays; each item has neighbouring elements too, unless any
 * order will do: then those that items read together are neighbours. */
static void write_grouped(const emit_parts_t* parts, FILE* out) {
  const bool any_order = parts->reduction->flags & TBK_REDUCTION_COMMUTATIVE;
  emit_write_each_state(parts, "SHARED(@, shared#);", out);
  fprintf(out, "  const ix i = (ix)GROUP;\n  const i64 each = (p.w[%d] + 63) / 64;\n",
          EMIT_WORD_INNER);
  emit_write_split(out, 'o', "i", parts->class->outer, parts->layout.sizes);
  fputs("  PHASE\n", out);
  emit_write_state(parts, 's', out);
  write_runs(parts, "each", any_order ? "n * 64 + ITEM" : "ITEM * each + n", out);
  emit_write_each_state(parts, "shared#[ITEM] = s#;", out);
  fputs("  BARRIER\n", out);
  write_tree(parts, out);
  fputs("  PHASE\n    if (ITEM == 0) {\n", out);
  emit_write_each_state(parts, "const @ s# = shared#[0];", out);
  emit_write_finish(parts, "i", NULL, out);
  fputs("    }\n  END\n", out);
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const tbk_reduction_t* reduction = ((const tbk_args_reduce_t*)arguments)->reduction;
  emit_parts_t parts = {.class = class};
  emit_find_parts(reduction, EMIT_OUTER, &parts);
  emit_lay_out(&parts.pointers, class, reduction->map->number_count, &parts.layout);
  emit_write_head(out, &parts.pointers, &parts.layout, class);
  if (class->is_grouped)
    write_grouped(&parts, out);
  else
    write_each(&parts, out);
  fputs("KERNEL_END\n", out);
}

static bool has_double(const void* arguments) {
  return emit_reduction_has_double(((const tbk_args_reduce_t*)arguments)->reduction);
}

const emit_generic_t emit_reduce = {TBK_NAME_reduce, TBK_VERSION_reduce, sizeof(tbk_args_reduce_t),
                                    check,           set_count,          launch,
                                    write,           has_double};
