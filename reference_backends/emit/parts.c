/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * parts.c: the programs of a reduction as source.
 */
#include "reduction.h"

void emit_find_parts(const tbk_reduction_t* reduction, emit_access_t finish_access,
                     emit_parts_t* out) {
  const tbk_program_t* finish = reduction->finish;
  out->reduction = reduction;
  out->pointers.count = 0;
  for (size_t k = 0; k < finish->result_count; k++)
    emit_add_pointer(&out->pointers, finish->instructions[finish->results[k]].dtype, 0,
                     finish_access);
  out->first_map = out->pointers.count;
  emit_add_inputs(&out->pointers, reduction->map, EMIT_BOTH);
  out->first_finish = out->pointers.count;
  emit_add_inputs(&out->pointers, finish, finish_access);
}

bool emit_reduction_has_coordinates(const tbk_reduction_t* reduction) {
  return emit_program_has(reduction->map, TBK_OPCODE_COORDINATE) ||
         emit_program_has(reduction->finish, TBK_OPCODE_COORDINATE);
}

bool emit_reduction_has_double(const tbk_reduction_t* reduction) {
  return emit_program_has_double(reduction->map) || emit_program_has_double(reduction->combine) ||
         emit_program_has_double(reduction->finish);
}

static uint16_t state_dtype(const tbk_reduction_t* reduction, size_t k) {
  const tbk_program_t* map = reduction->map;
  return map->instructions[map->results[k]].dtype;
}

void emit_write_state(const emit_parts_t* parts, char letter, FILE* out) {
  for (size_t k = 0; k < parts->reduction->map->result_count; k++) {
    const uint16_t dtype = state_dtype(parts->reduction, k);
    fprintf(out, "    %s %c%zu = ", emit_value_type(dtype), letter, k);
    emit_write_literal(out, dtype, parts->reduction->identity[k]);
    fputs(";\n", out);
  }
}

void emit_write_combine(const emit_parts_t* parts, const char* into, const char* with, FILE* out) {
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

void emit_write_element(const emit_parts_t* parts, const char* into, FILE* out) {
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
  emit_write_combine(parts, into, "e", out);
}

void emit_write_each_state(const emit_parts_t* parts, const char* format, FILE* out) {
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

void emit_write_finish(const emit_parts_t* parts, const char* linear, const char* inner_letter,
                       FILE* out) {
  const tbk_program_t* finish = parts->reduction->finish;
  const emit_scope_t scope = {.pointers = &parts->pointers,
                              .layout = &parts->layout,
                              .class = parts->class,
                              .first_input = parts->first_finish,
                              .letter = 'v',
                              .linear = linear,
                              .inner_letter = inner_letter,
                              .parameters = {"s", "s"},
                              .state_count = parts->reduction->map->result_count};
  emit_write_values(out, finish, &scope);
  emit_write_stores(out, finish, &scope);
}

tbk_status_t emit_launch_parts(const emit_parts_t* parts, const tbk_operand_set_t* operands,
                               emit_space_t space, emit_launch_t* out, tbk_error_t* error) {
  const tbk_tensor_t* tensors[EMIT_POINTERS];
  space.tensors = tensors;
  space.output_count = parts->first_map;
  space.is_reduction = true;
  space.has_coordinates = emit_reduction_has_coordinates(parts->reduction);
  space.numbers = operands->numbers;
  space.number_count = parts->reduction->map->number_count;
  space.hash = out->hash != 0 ? out->hash : tbk_reduction_hash(parts->reduction);
  for (int32_t k = 0; k < parts->pointers.count; k++)
    tensors[k] =
        k < parts->first_map ? operands->outputs[k] : operands->inputs[k - parts->first_map];
  return emit_make_launch(&parts->pointers, &space, out, error);
}
