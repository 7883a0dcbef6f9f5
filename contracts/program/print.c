/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * print.c: a program as text. parse.c reads what this writes:
 *
 *   program 1
 *   input 0 FLOAT32
 *   input 1 INT64 indexed 2
 *   number 0 FLOAT64
 *   v0 = LINEAR_INDEX INT64
 *   v1 = LOAD INT64 slot 1 clamp v0 v0
 *   v2 = CONSTANT FLOAT32 bits 0x3f800000
 *   result 0 v2
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "opcode.h"
#include "text.h"

const char* const program_bounds_names[] = {"trusted", "clamp", "zero"};

typedef struct writer {
  char* out;
  size_t capacity, length;
} writer_t;

__attribute__((format(printf, 2, 3))) static void say(writer_t* w, const char* format, ...) {
  size_t left = w->length < w->capacity ? w->capacity - w->length : 0;
  va_list values;
  va_start(values, format);
  int length = vsnprintf(left > 0 ? w->out + w->length : NULL, left, format, values);
  va_end(values);
  if (length > 0) w->length += (size_t)length;
}

static void say_declarations(writer_t* w, const tbk_program_t* p) {
  for (size_t i = 0; i < p->input_count; ++i) {
    say(w, "input %zu %s", i, program_dtype_name(p->inputs[i].dtype));
    if (p->inputs[i].kind == TBK_INPUT_INDEXED) say(w, " indexed %d", p->inputs[i].rank);
    say(w, "\n");
  }
  for (size_t i = 0; i < p->number_count; ++i)
    say(w, "number %zu %s\n", i, program_dtype_name(p->numbers[i]));
  for (size_t i = 0; i < p->parameter_count; ++i)
    say(w, "parameter %zu %s\n", i, program_dtype_name(p->parameters[i]));
}

static void say_instruction(writer_t* w, const tbk_program_t* p, size_t index) {
  const tbk_instruction_t* i = &p->instructions[index];
  say(w, "v%zu = %s %s", index, tbk_opcode_name(i->opcode), program_dtype_name(i->dtype));
  if (program_uses_slot(i->opcode)) say(w, " slot %d", i->slot);
  if (i->opcode == TBK_OPCODE_LOAD && i->operand_count > 0)
    say(w, " %s", program_bounds_names[i->bounds]);
  if (i->opcode == TBK_OPCODE_CONSTANT) say(w, " bits 0x%" PRIx64, i->immediate);
  for (uint32_t k = 0; k < i->operand_count; ++k)
    say(w, " v%u", p->operands[i->operand_first + k]);
  say(w, "\n");
}

size_t tbk_program_print(const tbk_program_t* p, char* out, size_t capacity) {
  writer_t w = {out, out == NULL ? 0 : capacity, 0};
  say(&w, "program %llu\n", (unsigned long long)p->version);
  say_declarations(&w, p);
  for (size_t i = 0; i < p->instruction_count; ++i)
    say_instruction(&w, p, i);
  for (size_t i = 0; i < p->result_count; ++i)
    say(&w, "result %zu v%u\n", i, p->results[i]);
  return w.length;
}
