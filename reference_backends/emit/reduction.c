/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduction.c: tbk::reduce. An item makes an output where few elements go into one, else a group does. An
 * item combines in runs of RUN elements, so that rounding errors grow with the length of a run and the
 * number of runs, and not with their product. Whatever is not commutative stays in order.
 */
#include "generic.h"

#define RUN "256"

typedef struct parts {
  const tbk_reduction_t* reduction;
  const emit_class_t* class;
  emit_pointers_t pointers;
  emit_layout_t layout;
  int32_t first_map, first_finish; /* pointers */
} parts_t;

static void find_parts(const tbk_reduction_t* reduction, parts_t* out) {
  const tbk_program_t* finish = reduction->finish;
  out->reduction = reduction;
  out->pointers.count = 0;
  for (size_t k = 0; k < finish->result_count; k++)
    emit_add_pointer(&out->pointers, finish->instructions[finish->results[k]].dtype, 0, EMIT_OUTER);
  out->first_map = out->pointers.count;
  emit_add_inputs(&out->pointers, reduction->map, EMIT_BOTH);
  out->first_finish = out->pointers.count;
  emit_add_inputs(&out->pointers, finish, EMIT_OUTER);
}

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  const tbk_args_reduce_t* args = arguments;
  if (args->reduction == NULL) return emit_fail(error, TBK_INVALID, "there is no reduction");
  tbk_status_t status = tbk_reduction_check(args->reduction, error);
  return status == TBK_OK ? tbk_reduce_check(args, error) : status;
}

static size_t set_count(const void* arguments) {
  return ((const tbk_args_reduce_t*)arguments)->set_count;
}

static bool has_coordinates(const tbk_reduction_t* reduction) {
  return emit_program_has(reduction->map, TBK_OPCODE_COORDINATE) ||
         emit_program_has(reduction->finish, TBK_OPCODE_COORDINATE);
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_reduce_t* args = arguments;
  const tbk_operand_set_t* operands = args->sets[set];
  parts_t parts;
  find_parts(args->reduction, &parts);
  emit_space_t space = {.sizes = operands->outputs[0]->sizes,
                        .rank = operands->outputs[0]->rank,
                        .inner_sizes = operands->inner_sizes,
                        .inner_rank = (int32_t)operands->inner_rank,
                        .output_count = parts.first_map,
                        .most_words = limits->most_words,
                        .is_bound = limits->is_bound,
                        .is_reduction = true,
                        .has_coordinates = has_coordinates(args->reduction),
                        .index_bits = args->index_bits,
                        .numbers = operands->numbers,
                        .number_count = args->reduction->map->number_count,
                        .hash = tbk_reduction_hash(args->reduction)};
  for (int32_t k = 0; k < parts.pointers.count; k++)
    space.tensors[k] =
        k < parts.first_map ? operands->outputs[k] : operands->inputs[k - parts.first_map];
  return emit_make_launch(&parts.pointers, &space, out, error);
}

static uint16_t state_dtype(const tbk_reduction_t* reduction, size_t k) {
  const tbk_program_t* map = reduction->map;
  return map->instructions[map->results[k]].dtype;
}

/* Declares a state, "s0", "s1", ..., that is the identity. */
static void write_state(const parts_t* parts, char letter, FILE* out) {
  for (size_t k = 0; k < parts->reduction->map->result_count; k++) {
    const uint16_t dtype = state_dtype(parts->reduction, k);
    fprintf(out, "    %s %c%zu = ", emit_value_type(dtype), letter, k);
    emit_write_literal(out, dtype, parts->reduction->identity[k]);
    fputs(";\n", out);
  }
}

/* Combines the states of two letters into the first. */
static void write_combine(const parts_t* parts, const char* into, const char* with, FILE* out) {
  const tbk_program_t* combine = parts->reduction->combine;
  const emit_scope_t scope = {.pointers = &parts->pointers,
                              .layout = &parts->layout,
                              .class = parts->class,
                              .letter = 'c',
                              .linear = "0",
                              .parameters = {into, with},
                              .state_count = parts->reduction->map->result_count};
  fputs("    {\n", out);
  emit_write_values(out, combine, &scope);
  for (size_t k = 0; k < combine->result_count; k++)
    fprintf(out, "    %s%zu = c%u;\n", into, k, (unsigned)combine->results[k]);
  fputs("    }\n", out);
}

/* Maps element `j` and combines it into "t". */
static void write_element(const parts_t* parts, FILE* out) {
  const tbk_program_t* map = parts->reduction->map;
  const emit_scope_t scope = {.pointers = &parts->pointers,
                              .layout = &parts->layout,
                              .class = parts->class,
                              .first_input = parts->first_map,
                              .letter = 'm',
                              .linear = "j",
                              .inner_letter = "j"};
  emit_write_split(out, 'j', "j", parts->class->inner, parts->layout.inner_sizes);
  emit_write_values(out, map, &scope);
  for (size_t k = 0; k < map->result_count; k++)
    fprintf(out, "    const %s e%zu = m%u;\n", emit_value_type(state_dtype(parts->reduction, k)), k,
            (unsigned)map->results[k]);
  write_combine(parts, "t", "e", out);
}

/* Combines elements number 0 to `turns` of an item into "s"; `element` is which one a number means. */
static void write_runs(const parts_t* parts, const char* turns, const char* element, FILE* out) {
  fprintf(out, "    for (i64 from = 0; from < %s; from += " RUN ") {\n", turns);
  write_state(parts, 't', out);
  fprintf(out, "    for (i64 n = from; n < from + " RUN " && n < %s; n++) {\n", turns);
  fprintf(out, "    const ix j = (ix)(%s);\n    if (j < (ix)p.w[%d]) {\n", element,
          EMIT_WORD_INNER);
  write_element(parts, out);
  fputs("    }\n    }\n", out);
  write_combine(parts, "s", "t", out);
  fputs("    }\n", out);
}

static void write_finish(const parts_t* parts, FILE* out) {
  const tbk_program_t* finish = parts->reduction->finish;
  const emit_scope_t scope = {.pointers = &parts->pointers,
                              .layout = &parts->layout,
                              .class = parts->class,
                              .first_input = parts->first_finish,
                              .letter = 'v',
                              .linear = "i",
                              .parameters = {"s", "s"},
                              .state_count = parts->reduction->map->result_count};
  emit_write_values(out, finish, &scope);
  emit_write_stores(out, finish, &scope);
}

static void write_each(const parts_t* parts, FILE* out) {
  char turns[32];
  snprintf(turns, sizeof turns, "p.w[%d]", EMIT_WORD_INNER);
  fputs("  PHASE\n    const ix i = (ix)(GROUP * 64 + ITEM);\n", out);
  fprintf(out, "    if (GROUP * 64 + ITEM < p.w[%d]) {\n", EMIT_WORD_COUNT);
  emit_write_split(out, 'o', "i", parts->class->outer, parts->layout.sizes);
  write_state(parts, 's', out);
  write_runs(parts, turns, "n", out);
  write_finish(parts, out);
  fputs("    }\n  END\n", out);
}

/* Moves a state between the item's own variables and what the group shares. */
static void write_shared(const parts_t* parts, const char* format, FILE* out) {
  for (size_t k = 0; k < parts->reduction->map->result_count; k++) {
    fputs("    ", out);
    for (const char* next = format; *next != '\0'; next++) {
      if (*next == '#')
        fprintf(out, "%zu", k);
      else if (*next == '@')
        fputs(emit_value_type(state_dtype(parts->reduction, k)), out);
      else
        fputc(*next, out);
    }
    fputc('\n', out);
  }
}

static void write_tree(const parts_t* parts, FILE* out) {
  fputs("  for (int step = 1; step < 64; step *= 2) {\n  PHASE\n", out);
  fputs("    if (ITEM % (2 * step) == 0) {\n", out);
  write_shared(parts, "@ s# = shared#[ITEM]; const @ t# = shared#[ITEM + step];", out);
  write_combine(parts, "s", "t", out);
  write_shared(parts, "shared#[ITEM] = s#;", out);
  fputs("    }\n  BARRIER\n  }\n", out);
}

/* Neighbours are combined, so that the order stays; each item has neighbouring elements too, unless any
 * order will do: then those that items read together are neighbours. */
static void write_grouped(const parts_t* parts, FILE* out) {
  const bool any_order = parts->reduction->flags & TBK_REDUCTION_COMMUTATIVE;
  write_shared(parts, "SHARED(@, shared#);", out);
  fprintf(out, "  const ix i = (ix)GROUP;\n  const i64 each = (p.w[%d] + 63) / 64;\n",
          EMIT_WORD_INNER);
  emit_write_split(out, 'o', "i", parts->class->outer, parts->layout.sizes);
  fputs("  PHASE\n", out);
  write_state(parts, 's', out);
  write_runs(parts, "each", any_order ? "n * 64 + ITEM" : "ITEM * each + n", out);
  write_shared(parts, "shared#[ITEM] = s#;", out);
  fputs("  BARRIER\n", out);
  write_tree(parts, out);
  fputs("  PHASE\n    if (ITEM == 0) {\n", out);
  write_shared(parts, "const @ s# = shared#[0];", out);
  write_finish(parts, out);
  fputs("    }\n  END\n", out);
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const tbk_reduction_t* reduction = ((const tbk_args_reduce_t*)arguments)->reduction;
  parts_t parts = {.class = class};
  find_parts(reduction, &parts);
  emit_lay_out(&parts.pointers, class, reduction->map->number_count, &parts.layout);
  emit_write_head(out, &parts.pointers, &parts.layout, class);
  if (class->is_grouped)
    write_grouped(&parts, out);
  else
    write_each(&parts, out);
  fputs("KERNEL_END\n", out);
}

static bool has_double(const void* arguments) {
  const tbk_reduction_t* reduction = ((const tbk_args_reduce_t*)arguments)->reduction;
  return emit_program_has_double(reduction->map) || emit_program_has_double(reduction->combine) ||
         emit_program_has_double(reduction->finish);
}

const emit_generic_t emit_reduce = {TBK_NAME_reduce, TBK_VERSION_reduce, sizeof(tbk_args_reduce_t),
                                    check,           set_count,          launch,
                                    write,           has_double};
