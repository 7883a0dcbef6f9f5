/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * frame.c: what stands around programs in a kernel: parameters, coordinates and offsets.
 */
#include "generic.h"

void emit_add_pointer(emit_pointers_t* pointers, uint16_t dtype, uint16_t rank,
                      emit_access_t access) {
  pointers->of[pointers->count].dtype = dtype;
  pointers->of[pointers->count].rank = rank;
  pointers->of[pointers->count].access = access;
  pointers->count++;
}

void emit_add_inputs(emit_pointers_t* pointers, const tbk_program_t* program,
                     emit_access_t aligned) {
  for (size_t i = 0; i < program->input_count; i++) {
    const tbk_program_input_t* input = &program->inputs[i];
    emit_add_pointer(pointers, input->dtype, input->rank,
                     input->kind == TBK_INPUT_INDEXED ? EMIT_INDEXED : aligned);
  }
}

static int32_t words_of(const emit_pointers_t* pointers, int32_t pointer,
                        const emit_class_t* class) {
  switch (pointers->of[pointer].access) {
    case EMIT_OUTER:
      return class->outer;
    case EMIT_BOTH:
      return class->outer + class->inner;
    default:
      return 2 * pointers->of[pointer].rank;
  }
}

void emit_lay_out(const emit_pointers_t* pointers, const emit_class_t* class, size_t number_count,
                  emit_layout_t* out) {
  int32_t next = EMIT_WORD_SIZES;
  out->sizes = next;
  out->inner_sizes = next += class->outer;
  next += class->inner;
  for (int32_t k = 0; k < pointers->count; k++) {
    out->strides[k] = next;
    next += words_of(pointers, k, class);
  }
  out->offsets = next;
  out->numbers = next += pointers->count;
  out->count = next + (int32_t)number_count;
}

void emit_write_head(FILE* out, const emit_pointers_t* pointers, const emit_layout_t* layout,
                     const emit_class_t* class) {
  fprintf(out, "typedef struct { i64 w[%d]; } parameters_t;\n", layout->count);
  fprintf(out, "#define ZERO_WORD p.w[%d]\n", EMIT_WORD_ZERO);
  fprintf(out, "typedef i%d ix;\n#define POINTERS(X)", class->index_bits);
  for (int32_t k = 0; k < pointers->count; k++)
    fprintf(out, " X(%d, %s)", k, emit_stored_type(pointers->of[k].dtype));
  fputs("\nPROGRAM_BEGIN(POINTERS)\n", out);
}

/* The last dimension steps first. */
void emit_write_split(FILE* out, char letter, const char* position, int32_t rank, int32_t sizes) {
  if (rank == 1) {
    fprintf(out, "    const ix %c0 = %s;\n", letter, position);
    return;
  }
  fprintf(out, "    ix rest_%c = %s;\n", letter, position);
  for (int32_t d = rank - 1; d > 0; d--)
    fprintf(out, "    const ix %c%d = rest_%c %% (ix)p.w[%d]; rest_%c /= (ix)p.w[%d];\n", letter, d,
            letter, sizes + d, letter, sizes + d);
  fprintf(out, "    const ix %c0 = rest_%c;\n", letter, letter);
}

static void write_terms(FILE* out, char letter, int32_t rank, int32_t strides) {
  for (int32_t d = 0; d < rank; d++)
    fprintf(out, " + %c%d * (ix)p.w[%d]", letter, d, strides + d);
}

void emit_write_offset(FILE* out, const emit_scope_t* scope, int32_t pointer) {
  const emit_class_t* class = scope->class;
  const int32_t strides = scope->layout->strides[pointer];
  fprintf(out, "    const ix a%d = (ix)p.w[%d]", pointer, scope->layout->offsets + pointer);
  write_terms(out, 'o', class->outer, strides);
  if (scope->pointers->of[pointer].access == EMIT_BOTH)
    write_terms(out, 'j', class->inner, strides + class->outer);
  fputs(";\n", out);
}

bool emit_program_has(const tbk_program_t* program, uint16_t opcode) {
  for (size_t i = 0; i < program->instruction_count; i++)
    if (program->instructions[i].opcode == opcode) return true;
  return false;
}

bool emit_program_has_double(const tbk_program_t* program) {
  for (size_t i = 0; i < program->instruction_count; i++)
    if (program->instructions[i].dtype == TBK_FLOAT64) return true;
  for (size_t i = 0; i < program->input_count; i++)
    if (program->inputs[i].dtype == TBK_FLOAT64) return true;
  return false;
}
