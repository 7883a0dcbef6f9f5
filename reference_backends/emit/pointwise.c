/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pointwise.c: tbk::pointwise, an item for each place of the space.
 */
#include "generic.h"

static void find_pointers(const tbk_program_t* program, emit_pointers_t* out) {
  out->count = 0;
  for (size_t k = 0; k < program->result_count; k++)
    emit_add_pointer(out, program->instructions[program->results[k]].dtype, 0, EMIT_OUTER);
  emit_add_inputs(out, program, EMIT_OUTER);
}

static tbk_status_t check(const void* arguments, tbk_error_t* error) {
  const tbk_args_pointwise_t* args = arguments;
  if (args->program == NULL) return emit_fail(error, TBK_INVALID, "there is no program");
  tbk_status_t status = tbk_program_check(args->program, error);
  return status == TBK_OK ? tbk_pointwise_check(args, error) : status;
}

static size_t set_count(const void* arguments) {
  return ((const tbk_args_pointwise_t*)arguments)->set_count;
}

static tbk_status_t launch(const void* arguments, size_t set, const emit_limits_t* limits,
                           emit_launch_t* out, tbk_error_t* error) {
  const tbk_args_pointwise_t* args = arguments;
  const tbk_program_t* program = args->program;
  const tbk_operand_set_t* operands = args->sets[set];
  emit_pointers_t pointers;
  const tbk_tensor_t* tensors[EMIT_POINTERS];
  const emit_space_t space = {.tensors = tensors,
                              .sizes = operands->outputs[0]->sizes,
                              .rank = operands->outputs[0]->rank,
                              .output_count = (int32_t)program->result_count,
                              .most_words = limits->most_words,
                              .is_bound = limits->is_bound,
                              .has_coordinates = emit_program_has(program, TBK_OPCODE_COORDINATE),
                              .index_bits = args->index_bits,
                              .numbers = operands->numbers,
                              .number_count = program->number_count,
                              .hash = out->hash != 0 ? out->hash : tbk_program_hash(program)};
  find_pointers(program, &pointers);
  for (int32_t k = 0; k < pointers.count; k++)
    tensors[k] =
        k < space.output_count ? operands->outputs[k] : operands->inputs[k - space.output_count];
  return emit_make_launch(&pointers, &space, out, error);
}

static void write(const void* arguments, const emit_class_t* class, FILE* out) {
  const tbk_program_t* program = ((const tbk_args_pointwise_t*)arguments)->program;
  emit_pointers_t pointers;
  emit_layout_t layout;
  find_pointers(program, &pointers);
  emit_lay_out(&pointers, class, program->number_count, &layout);
  const emit_scope_t scope = {.pointers = &pointers,
                              .layout = &layout,
                              .class = class,
                              .first_input = (int32_t)program->result_count,
                              .letter = 'v',
                              .linear = "i"};
  emit_write_head(out, &pointers, &layout, class);
  fputs("  PHASE\n    const ix i = (ix)(GROUP * 64 + ITEM);\n", out);
  fprintf(out, "    if (GROUP * 64 + ITEM < p.w[%d]) {\n", EMIT_WORD_COUNT);
  emit_write_split(out, 'o', "i", class->outer, layout.sizes);
  emit_write_values(out, program, &scope);
  emit_write_stores(out, program, &scope);
  fputs("    }\n  END\nKERNEL_END\n", out);
}

static bool has_double(const void* arguments) {
  return emit_program_has_double(((const tbk_args_pointwise_t*)arguments)->program);
}

const emit_generic_t emit_pointwise = {TBK_NAME_pointwise,
                                       TBK_VERSION_pointwise,
                                       sizeof(tbk_args_pointwise_t),
                                       check,
                                       set_count,
                                       launch,
                                       write,
                                       has_double};
