/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scan.c: tbk::scan. An item goes through a segment of few elements, else a group does, in chunks: each item
 * combines a run of RUN neighbours, one item gives each of them what stands before its run, and each goes through its
 * run again. So the order stays, and an element is read for the last time before it is written.
 */
#include "reduction.h"

#include <string.h>

#define RUN "16"
#define CHUNK "1024" /* 64 items with a run each */

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  const tbk_args_scan_t* args = arguments;
  if (args->reduction == NULL) return emit_fail(error, TBK_INVALID, "there is no reduction");
  tbk_status_t status = tbk_reduction_check(args->reduction, error);
  return status == TBK_OK ? tbk_scan_check(args, error) : status;
}

static size_t set_count(const void* arguments) {
  return ((const tbk_args_scan_t*)arguments)->set_count;
}

static bool is_reversed(const tbk_args_scan_t* args) {
  return (args->flags & TBK_SCAN_REVERSE) != 0;
}

/* The last dimension is the inner space. */
static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_scan_t* args = arguments;
  const tbk_operand_set_t* operands = args->sets[set];
  const tbk_tensor_t* shape = operands->outputs[0];
  emit_parts_t parts;
  emit_find_parts(args->reduction, EMIT_BOTH, &parts);
  const emit_space_t space = {.sizes = shape->sizes,
                              .rank = shape->rank - 1,
                              .inner_sizes = shape->sizes + shape->rank - 1,
                              .inner_rank = 1,
                              .most_words = limits->most_words,
                              .is_bound = limits->is_bound,
                              .index_bits = args->index_bits};
  tbk_status_t status = emit_launch_parts(&parts, operands, space, out, error);
  if (status != TBK_OK) return status;
  const size_t used = strlen(out->name);
  snprintf(out->name + used, sizeof out->name - used, is_reversed(args) ? "-back" : "-scan");
  if (shape->sizes[shape->rank - 1] == 0) out->groups = 0;
  return TBK_OK;
}

/* Combines element number `n` of the segment into "s", and makes its outputs where it is written. */
static void write_step(const emit_parts_t* parts, bool reversed, bool is_written, FILE* out) {
  if (reversed)
    fprintf(out, "    const ix j = (ix)(p.w[%d] - 1 - n);\n", EMIT_WORD_INNER);
  else
    fputs("    const ix j = (ix)n;\n", out);
  emit_write_element(parts, "s", out);
  if (!is_written) return;
  fputs("    {\n", out); /* values of the map and of finish have the same numbers */
  emit_write_finish(parts, "j", "j", out);
  fputs("    }\n", out);
}

static void write_each(const emit_parts_t* parts, bool reversed, FILE* out) {
  fputs("  PHASE\n    const ix i = (ix)(GROUP * 64 + ITEM);\n", out);
  fprintf(out, "    if (GROUP * 64 + ITEM < p.w[%d]) {\n", EMIT_WORD_COUNT);
  emit_write_split(out, 'o', "i", parts->class->outer, parts->layout.sizes);
  emit_write_state(parts, 's', out);
  fprintf(out, "    for (i64 n = 0; n < p.w[%d]; n++) {\n", EMIT_WORD_INNER);
  write_step(parts, reversed, true, out);
  fputs("    }\n    }\n  END\n", out);
}

/* The run of an item in the chunk that begins at `from`. */
static void write_run(const emit_parts_t* parts, bool reversed, bool is_written, FILE* out) {
  fputs("    const i64 own = from + ITEM * " RUN ";\n", out);
  fprintf(out, "    for (i64 n = own; n < own + " RUN " && n < p.w[%d]; n++) {\n", EMIT_WORD_INNER);
  write_step(parts, reversed, is_written, out);
  fputs("    }\n", out);
}

/* Gives each item the state before its run, and keeps that behind the chunk. */
static void write_before(const emit_parts_t* parts, FILE* out) {
  fputs("  PHASE\n    if (ITEM == 0) {\n", out);
  emit_write_each_state(parts, "@ s# = before#[0];", out);
  fputs("    for (int k = 0; k < 64; k++) {\n", out);
  emit_write_each_state(parts, "const @ t# = shared#[k]; shared#[k] = s#;", out);
  emit_write_combine(parts, "s", "t", out);
  fputs("    }\n", out);
  emit_write_each_state(parts, "before#[0] = s#;", out);
  fputs("    }\n  BARRIER\n", out);
}

static void write_grouped(const emit_parts_t* parts, bool reversed, FILE* out) {
  emit_write_each_state(parts, "SHARED(@, shared#); SHARED(@, before#);", out);
  fputs("  const ix i = (ix)GROUP;\n", out);
  emit_write_split(out, 'o', "i", parts->class->outer, parts->layout.sizes);
  fputs("  PHASE\n", out);
  emit_write_state(parts, 's', out);
  emit_write_each_state(parts, "before#[ITEM] = s#;", out);
  fputs("  BARRIER\n", out);
  fprintf(out, "  for (i64 from = 0; from < p.w[%d]; from += " CHUNK ") {\n  PHASE\n",
          EMIT_WORD_INNER);
  emit_write_state(parts, 's', out);
  write_run(parts, reversed, false, out);
  emit_write_each_state(parts, "shared#[ITEM] = s#;", out);
  fputs("  BARRIER\n", out);
  write_before(parts, out);
  fputs("  PHASE\n", out);
  emit_write_each_state(parts, "@ s# = shared#[ITEM];", out);
  write_run(parts, reversed, true, out);
  fputs("  BARRIER\n  }\n", out);
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const tbk_args_scan_t* args = arguments;
  emit_parts_t parts = {.class = class};
  emit_find_parts(args->reduction, EMIT_BOTH, &parts);
  emit_lay_out(&parts.pointers, class, args->reduction->map->number_count, &parts.layout);
  emit_write_head(out, &parts.pointers, &parts.layout, class);
  if (class->is_grouped)
    write_grouped(&parts, is_reversed(args), out);
  else
    write_each(&parts, is_reversed(args), out);
  fputs("KERNEL_END\n", out);
}

static bool has_double(const void* arguments) {
  return emit_reduction_has_double(((const tbk_args_scan_t*)arguments)->reduction);
}

const emit_generic_t emit_scan = {TBK_NAME_scan, TBK_VERSION_scan, sizeof(tbk_args_scan_t),
                                  check,         set_count,        launch,
                                  write,         has_double};
