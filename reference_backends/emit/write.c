/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * write.c: programs written as source, a line for each value. A value of a narrow format is held in the
 * next wider type, and is always one that the format has.
 */
#include <inttypes.h>

#include "generic.h"

typedef struct form {
  const char *integer, *real; /* NULL where the opcode does not take such */
} form_t;

/* %0 to %2 are the operands, %t names their type, %F makes a function's name of it. */
static const form_t forms[TBK_OPCODE_LIMIT] = {
    [TBK_OPCODE_SELECT] = {"%0 ? %1 : %2", "%0 ? %1 : %2"},
    [TBK_OPCODE_ADD] = {"add_%t(%0, %1)", "%0 + %1"},
    [TBK_OPCODE_SUB] = {"sub_%t(%0, %1)", "%0 - %1"},
    [TBK_OPCODE_MUL] = {"mul_%t(%0, %1)", "%0 * %1"},
    [TBK_OPCODE_DIV] = {NULL, "%0 / %1"},
    [TBK_OPCODE_DIV_TRUNC] = {"div_trunc_%t(%0, %1)", NULL},
    [TBK_OPCODE_DIV_FLOOR] = {"div_floor_%t(%0, %1)", NULL},
    [TBK_OPCODE_REM_TRUNC] = {"rem_trunc_%t(%0, %1)", "%F(fmod)(%0, %1)"},
    [TBK_OPCODE_REM_FLOOR] = {"rem_floor_%t(%0, %1)", "rem_floor_%t(%0, %1)"},
    [TBK_OPCODE_NEG] = {"neg_%t(%0)", "-%0"},
    [TBK_OPCODE_ABS] = {"abs_%t(%0)", "%F(fabs)(%0)"},
    [TBK_OPCODE_MIN] = {"min_%t(%0, %1)", "min_%t(%0, %1)"},
    [TBK_OPCODE_MAX] = {"max_%t(%0, %1)", "max_%t(%0, %1)"},
    [TBK_OPCODE_FMA] = {NULL, "%F(fma)(%0, %1, %2)"},
    [TBK_OPCODE_COPYSIGN] = {NULL, "%F(copysign)(%0, %1)"},
    [TBK_OPCODE_AND] = {"%0 & %1", NULL},
    [TBK_OPCODE_OR] = {"%0 | %1", NULL},
    [TBK_OPCODE_XOR] = {"%0 ^ %1", NULL},
    [TBK_OPCODE_NOT] = {"~%0", NULL},
    [TBK_OPCODE_SHL] = {"shl_%t(%0, %1)", NULL},
    [TBK_OPCODE_SHR] = {"shr_%t(%0, %1)", NULL},
    [TBK_OPCODE_EQ] = {"%0 == %1", "%0 == %1"},
    [TBK_OPCODE_NE] = {"%0 != %1", "%0 != %1"},
    [TBK_OPCODE_LT] = {"%0 < %1", "%0 < %1"},
    [TBK_OPCODE_LE] = {"%0 <= %1", "%0 <= %1"},
    [TBK_OPCODE_GT] = {"%0 > %1", "%0 > %1"},
    [TBK_OPCODE_GE] = {"%0 >= %1", "%0 >= %1"},
    [TBK_OPCODE_ISNAN] = {NULL, "%0 != %0"},
    [TBK_OPCODE_SIGNBIT] = {NULL, "signbit_%t(%0)"},
    [TBK_OPCODE_FLOOR] = {NULL, "%F(floor)(%0)"},
    [TBK_OPCODE_CEIL] = {NULL, "%F(ceil)(%0)"},
    [TBK_OPCODE_TRUNC] = {NULL, "%F(trunc)(%0)"},
    [TBK_OPCODE_ROUND] = {NULL, "%F(rint)(%0)"},
    [TBK_OPCODE_SQRT] = {NULL, "%F(sqrt)(%0)"},
    [TBK_OPCODE_EXP] = {NULL, "%F(exp)(%0)"},
    [TBK_OPCODE_EXPM1] = {NULL, "%F(expm1)(%0)"},
    [TBK_OPCODE_LOG] = {NULL, "%F(log)(%0)"},
    [TBK_OPCODE_LOG1P] = {NULL, "%F(log1p)(%0)"},
    [TBK_OPCODE_LOG2] = {NULL, "%F(log2)(%0)"},
    [TBK_OPCODE_LOG10] = {NULL, "%F(log10)(%0)"},
    [TBK_OPCODE_POW] = {NULL, "%F(pow)(%0, %1)"},
    [TBK_OPCODE_SIN] = {NULL, "%F(sin)(%0)"},
    [TBK_OPCODE_COS] = {NULL, "%F(cos)(%0)"},
    [TBK_OPCODE_TAN] = {NULL, "%F(tan)(%0)"},
    [TBK_OPCODE_ASIN] = {NULL, "%F(asin)(%0)"},
    [TBK_OPCODE_ACOS] = {NULL, "%F(acos)(%0)"},
    [TBK_OPCODE_ATAN] = {NULL, "%F(atan)(%0)"},
    [TBK_OPCODE_ATAN2] = {NULL, "%F(atan2)(%0, %1)"},
    [TBK_OPCODE_SINH] = {NULL, "%F(sinh)(%0)"},
    [TBK_OPCODE_COSH] = {NULL, "%F(cosh)(%0)"},
    [TBK_OPCODE_TANH] = {NULL, "%F(tanh)(%0)"},
    [TBK_OPCODE_ASINH] = {NULL, "%F(asinh)(%0)"},
    [TBK_OPCODE_ACOSH] = {NULL, "%F(acosh)(%0)"},
    [TBK_OPCODE_ATANH] = {NULL, "%F(atanh)(%0)"},
    [TBK_OPCODE_ERF] = {NULL, "%F(erf)(%0)"},
    [TBK_OPCODE_ERFC] = {NULL, "%F(erfc)(%0)"},
    [TBK_OPCODE_LGAMMA] = {NULL, "%F(lgamma)(%0)"},
};

typedef struct type {
  const char *value, *stored, *load, *store; /* load and store: what is called, or "" */
} type_t;

static const type_t types[] = {
    [TBK_UINT8] = {"i32", "u8", "", "(u8)"},
    [TBK_INT8] = {"i32", "i8", "", "(i8)"},
    [TBK_INT16] = {"i32", "i16", "", "(i16)"},
    [TBK_INT32] = {"i32", "i32", "", ""},
    [TBK_INT64] = {"i64", "i64", "", ""},
    [TBK_FLOAT16] = {"float", "u16", "float_of_half", "half_of_float"},
    [TBK_FLOAT32] = {"float", "float", "", ""},
    [TBK_FLOAT64] = {"double", "double", "", ""},
    [TBK_BOOL] = {"i32", "u8", "0 != ", "(u8)"},
    [TBK_BFLOAT16] = {"float", "u16", "float_of_bfloat", "bfloat_of_float"},
};

const char* emit_value_type(uint16_t dtype) {
  return types[dtype].value;
}

const char* emit_stored_type(uint16_t dtype) {
  return types[dtype].stored;
}

const char* emit_load_name(uint16_t dtype) {
  return types[dtype].load;
}

const char* emit_store_name(uint16_t dtype) {
  return types[dtype].store;
}

static bool is_real(uint16_t dtype) {
  return dtype == TBK_FLOAT16 || dtype == TBK_BFLOAT16 || dtype == TBK_FLOAT32 ||
         dtype == TBK_FLOAT64;
}

const char* emit_suffix(uint16_t dtype) {
  if (is_real(dtype)) return dtype == TBK_FLOAT64 ? "f64" : "f32";
  return dtype == TBK_INT64 ? "i64" : "i32";
}

void emit_write_literal(FILE* out, uint16_t dtype, uint64_t bits) {
  if (dtype == TBK_FLOAT32)
    fprintf(out, "FLOAT_OF_BITS((u32)HIDDEN(0x%" PRIx32 "u))", (uint32_t)bits);
  else if (dtype == TBK_FLOAT64)
    fprintf(out, "DOUBLE_OF_BITS(HIDDEN(0x%" PRIx64 "ul))", bits);
  else if (dtype == TBK_INT64)
    fprintf(out, "(i64)HIDDEN(0x%" PRIx64 "ul)", bits);
  else if (is_real(dtype))
    fprintf(out, "%s((u16)HIDDEN(0x%" PRIx64 "u))", types[dtype].load, bits);
  else
    fprintf(out, "(i32)%s(u32)HIDDEN(0x%" PRIx32 "u)", types[dtype].store, (uint32_t)bits);
}

static const uint32_t* operands_of(const tbk_program_t* program, const tbk_instruction_t* of) {
  return program->operands + of->operand_first;
}

static uint16_t operand_dtype(const tbk_program_t* program, const tbk_instruction_t* of,
                              int which) {
  return program->instructions[operands_of(program, of)[which]].dtype;
}

static void write_form(FILE* out, const char* form, const tbk_program_t* program,
                       const tbk_instruction_t* one, uint16_t dtype, char letter) {
  for (; *form != '\0'; form++) {
    if (*form != '%') {
      fputc(*form, out);
      continue;
    }
    form++;
    if (*form == 't')
      fputs(emit_suffix(dtype), out);
    else if (*form == 'F')
      fputs(dtype == TBK_FLOAT64 ? "F64" : "F32", out);
    else
      fprintf(out, "%c%" PRIu32, letter, operands_of(program, one)[*form - '0']);
  }
}

/* Rounds to a narrow format, from whatever type the operand is held in. */
static void write_narrow(FILE* out, uint16_t from, uint16_t to, const char* value) {
  const type_t* type = &types[to];
  if (from == TBK_FLOAT64)
    fprintf(out, "%s(%s(odd_of_real(%s)))", type->load, type->store, value);
  else if (is_real(from))
    fprintf(out, "%s(%s(%s))", type->load, type->store, value);
  else
    fprintf(out, "%s(%s(odd_of_i64((i64)%s)))", type->load, type->store, value);
}

static void write_integer_cast(FILE* out, uint16_t from, uint16_t to, const char* value) {
  const type_t* type = &types[to];
  if (!is_real(from))
    fprintf(out, "(%s)%s%s", type->value, type->store, value);
  else if (to == TBK_INT64)
    fprintf(out, "whole64_%s(%s)", emit_suffix(from), value);
  else
    fprintf(out, "(i32)%swhole32_%s(%s)", type->store, emit_suffix(from), value);
}

static void write_cast(FILE* out, uint16_t from, uint16_t to, const char* value) {
  if (to == TBK_BOOL)
    fprintf(out, "%s != 0", value);
  else if (to == TBK_FLOAT16 || to == TBK_BFLOAT16)
    write_narrow(out, from, to, value);
  else if (is_real(to))
    fprintf(out, "(%s)%s", types[to].value, value);
  else
    write_integer_cast(out, from, to, value);
}

static void write_bitcast(FILE* out, uint16_t from, uint16_t to, const char* value) {
  if (is_real(from) == is_real(to))
    fputs(value, out);
  else if (to == TBK_FLOAT32)
    fprintf(out, "FLOAT_OF_BITS((u32)%s)", value);
  else if (to == TBK_FLOAT64)
    fprintf(out, "DOUBLE_OF_BITS((u64)%s)", value);
  else
    fprintf(out, "(%s)BITS_OF_%s(%s)", types[to].value, to == TBK_INT64 ? "DOUBLE" : "FLOAT",
            value);
}

static void write_number(FILE* out, const emit_scope_t* scope, const tbk_instruction_t* one) {
  const int word = scope->layout->numbers + one->slot;
  if (one->dtype == TBK_FLOAT32)
    fprintf(out, "FLOAT_OF_BITS((u32)p.w[%d])", word);
  else if (one->dtype == TBK_FLOAT64)
    fprintf(out, "DOUBLE_OF_BITS((u64)p.w[%d])", word);
  else if (one->dtype == TBK_BOOL)
    fprintf(out, "p.w[%d] != 0", word);
  else
    fprintf(out, "(%s)p.w[%d]", types[one->dtype].value, word);
}

static void write_coordinate(FILE* out, const emit_scope_t* scope, const tbk_instruction_t* one) {
  const int outer = scope->class->rank;
  if (scope->inner_letter != NULL && one->slot >= outer)
    fprintf(out, "(i64)%s%d", scope->inner_letter, one->slot - outer);
  else
    fprintf(out, "(i64)o%d", one->slot);
}

static void write_parameter(FILE* out, const emit_scope_t* scope, const tbk_instruction_t* one) {
  const size_t which = one->slot >= scope->state_count;
  fprintf(out, "%s%d", scope->parameters[which],
          (int)(one->slot - (which ? scope->state_count : 0)));
}

/* The index of one dimension is moved into the input, or `in` becomes false. */
static void write_index(FILE* out, const emit_scope_t* scope, const tbk_instruction_t* one,
                        int pointer, int dimension, uint32_t value, size_t name) {
  const int rank = scope->pointers->of[pointer].rank;
  const int sizes = scope->layout->strides[pointer], strides = sizes + rank;
  char index[32];
  snprintf(index, sizeof index, "%c%" PRIu32, scope->letter, value);
  if (one->bounds == TBK_BOUNDS_TRUSTED) {
    fprintf(out, "    at%zu += (ix)%s * (ix)p.w[%d];\n", name, index, strides + dimension);
    return;
  }
  fprintf(out, "    { i64 x = %s; const i64 most = p.w[%d] - 1;\n", index, sizes + dimension);
  if (one->bounds == TBK_BOUNDS_CLAMP) fputs("      x = x < 0 ? 0 : x > most ? most : x;\n", out);
  fprintf(out, "      in%zu = in%zu && x >= 0 && x <= most;\n", name, name);
  fprintf(out, "      if (in%zu) at%zu += (ix)x * (ix)p.w[%d]; }\n", name, name,
          strides + dimension);
}

/* An element where indices say; `name` is the number of the value. */
static void write_indexed(FILE* out, const tbk_program_t* program, const emit_scope_t* scope,
                          size_t name) {
  const tbk_instruction_t* one = &program->instructions[name];
  const int pointer = scope->first_input + one->slot;
  const type_t* type = &types[one->dtype];
  fprintf(out, "    ix at%zu = (ix)p.w[%d]; int in%zu = 1;\n", name,
          scope->layout->offsets + pointer, name);
  for (int d = 0; d < (int)one->operand_count; d++)
    write_index(out, scope, one, pointer, d, operands_of(program, one)[d], name);
  fprintf(out, "    %s %c%zu = 0;\n    if (in%zu) %c%zu = %s(ELEMENT(p%d, at%zu));\n", type->value,
          scope->letter, name, name, scope->letter, name, type->load, pointer, name);
}

static void write_computed(FILE* out, const tbk_program_t* program, const emit_scope_t* scope,
                           const tbk_instruction_t* one) {
  const int last = (int)one->operand_count - 1;
  const uint16_t dtype = operand_dtype(program, one, last < 0 ? 0 : last);
  const form_t* form = &forms[one->opcode];
  char value[32];
  snprintf(value, sizeof value, "%c%" PRIu32, scope->letter, operands_of(program, one)[0]);
  if (one->opcode == TBK_OPCODE_CAST)
    write_cast(out, dtype, one->dtype, value);
  else if (one->opcode == TBK_OPCODE_BITCAST)
    write_bitcast(out, dtype, one->dtype, value);
  else if (one->opcode == TBK_OPCODE_NOT && dtype == TBK_BOOL)
    fprintf(out, "!%s", value);
  else
    write_form(out, is_real(dtype) ? form->real : form->integer, program, one, dtype,
               scope->letter);
}

static void write_value(FILE* out, const tbk_program_t* program, const emit_scope_t* scope,
                        const tbk_instruction_t* one) {
  switch (one->opcode) {
    case TBK_OPCODE_CONSTANT:
      emit_write_literal(out, one->dtype, one->immediate);
      break;
    case TBK_OPCODE_NUMBER:
      write_number(out, scope, one);
      break;
    case TBK_OPCODE_PARAMETER:
      write_parameter(out, scope, one);
      break;
    case TBK_OPCODE_COORDINATE:
      write_coordinate(out, scope, one);
      break;
    case TBK_OPCODE_LINEAR_INDEX:
      fprintf(out, "(i64)%s", scope->linear);
      break;
    case TBK_OPCODE_LOAD:
      fprintf(out, "%s(ELEMENT(p%d, a%d))", types[one->dtype].load, scope->first_input + one->slot,
              scope->first_input + one->slot);
      break;
    case TBK_OPCODE_PHILOX:
      write_form(out, "philox(%0, %1, %2, ", program, one, TBK_INT64, scope->letter);
      fprintf(out, "%d)", one->slot);
      break;
    default:
      write_computed(out, program, scope, one);
  }
}

static bool is_indexed(const tbk_program_t* program, const tbk_instruction_t* one) {
  return one->opcode == TBK_OPCODE_LOAD && program->inputs[one->slot].kind == TBK_INPUT_INDEXED;
}

/* Marks the values that a result is made of: compilers warn of others. */
static void find_used(const tbk_program_t* program, bool* used) {
  for (size_t k = 0; k < program->result_count; k++)
    used[program->results[k]] = true;
  for (size_t i = program->instruction_count; i-- > 0;) {
    const tbk_instruction_t* one = &program->instructions[i];
    for (uint32_t k = 0; used[i] && k < one->operand_count; k++)
      used[operands_of(program, one)[k]] = true;
  }
}

void emit_write_values(FILE* out, const tbk_program_t* program, const emit_scope_t* scope) {
  bool used[TBK_PROGRAM_MOST_INSTRUCTIONS] = {false}, found[TBK_PROGRAM_MOST_INPUTS] = {false};
  find_used(program, used);
  for (size_t i = 0; i < program->instruction_count; i++) {
    const tbk_instruction_t* one = &program->instructions[i];
    if (!used[i]) continue;
    if (is_indexed(program, one)) {
      write_indexed(out, program, scope, i);
      continue;
    }
    if (one->opcode == TBK_OPCODE_LOAD && !found[one->slot]) {
      found[one->slot] = true;
      emit_write_offset(out, scope, scope->first_input + one->slot);
    }
    fprintf(out, "    const %s %c%zu = ", types[one->dtype].value, scope->letter, i);
    write_value(out, program, scope, one);
    fputs(";\n", out);
  }
}

void emit_write_stores(FILE* out, const tbk_program_t* program, const emit_scope_t* scope) {
  for (size_t k = 0; k < program->result_count; k++) {
    const uint32_t value = program->results[k];
    emit_write_offset(out, scope, (int32_t)k);
    fprintf(out, "    ELEMENT(p%zu, a%zu) = %s(%c%" PRIu32 ");\n", k, k,
            types[program->instructions[value].dtype].store, scope->letter, value);
  }
}
