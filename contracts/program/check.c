/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check.c: whether a program is well formed. Each function reads what the ones before it found sound.
 */
#include "bits.h"
#include "fail.h"
#include "opcode.h"

typedef struct view {
  const tbk_program_t* program;
  size_t index; /* of the instruction */
  const tbk_instruction_t* instruction;
  const program_opcode_t* opcode;
  tbk_error_t* error;
} view_t;

#define WRONG(view, format, ...)                                              \
  program_fail((view)->error, "instruction %zu (%s): " format, (view)->index, \
               (view)->opcode->name != NULL ? (view)->opcode->name : "?", __VA_ARGS__)

static const char* name_of(uint32_t dtype) {
  const char* name = program_dtype_name(dtype);
  return name != NULL ? name : "no dtype";
}

/* ------------------------------------------------------------------------------- declarations - */

static tbk_status_t check_count(const char* what, size_t count, size_t most, const void* items,
                                tbk_error_t* error) {
  if (count > most) return program_fail(error, "%zu %s; at most %zu", count, what, most);
  if (count > 0 && items == NULL) return program_fail(error, "%zu %s at NULL", count, what);
  return TBK_OK;
}

static tbk_status_t check_counts(const tbk_program_t* p, tbk_error_t* error) {
  const struct {
    const char* what;
    size_t count, most;
    const void* items;
  } rows[] = {
      {"inputs", p->input_count, TBK_PROGRAM_MOST_INPUTS, p->inputs},
      {"numbers", p->number_count, TBK_PROGRAM_MOST_NUMBERS, p->numbers},
      {"parameters", p->parameter_count, TBK_PROGRAM_MOST_PARAMETERS, p->parameters},
      {"instructions", p->instruction_count, TBK_PROGRAM_MOST_INSTRUCTIONS, p->instructions},
      {"operands", p->operand_count, TBK_PROGRAM_MOST_OPERANDS, p->operands},
      {"results", p->result_count, TBK_PROGRAM_MOST_RESULTS, p->results},
  };
  tbk_status_t status = TBK_OK;
  for (size_t i = 0; status == TBK_OK && i < sizeof rows / sizeof *rows; ++i)
    status = check_count(rows[i].what, rows[i].count, rows[i].most, rows[i].items, error);
  return status;
}

static tbk_status_t check_inputs(const tbk_program_t* p, tbk_error_t* error) {
  for (size_t i = 0; i < p->input_count; ++i) {
    const tbk_program_input_t* input = &p->inputs[i];
    unsigned most = input->kind == TBK_INPUT_INDEXED ? TBK_PROGRAM_MOST_RANK : 0;
    if (!program_dtype_in(input->dtype, PROGRAM_ANY))
      return program_fail(error, "input %zu: dtype %d is none of a program", i, input->dtype);
    if (input->kind != TBK_INPUT_ALIGNED && input->kind != TBK_INPUT_INDEXED)
      return program_fail(error, "input %zu: kind %d is not known", i, input->kind);
    if (input->rank > most)
      return program_fail(error, "input %zu: rank %d; at most %u", i, input->rank, most);
    if (input->zero != 0) return program_fail(error, "input %zu: `zero` is not 0", i);
  }
  return TBK_OK;
}

static tbk_status_t check_dtypes(const char* what, const uint16_t* dtypes, size_t count,
                                 uint64_t set, tbk_error_t* error) {
  for (size_t i = 0; i < count; ++i)
    if (!program_dtype_in(dtypes[i], set))
      return program_fail(error, "%s %zu: dtype %d is none that it may have", what, i, dtypes[i]);
  return TBK_OK;
}

/* ------------------------------------------------------------------------------- instructions - */

/* Returns the dtype of operand `which`, which is known to be an earlier value. */
static uint16_t operand_dtype(const view_t* v, size_t which) {
  uint32_t value = v->program->operands[v->instruction->operand_first + which];
  return v->program->instructions[value].dtype;
}

static tbk_status_t check_slot(const view_t* v) {
  const tbk_program_t* p = v->program;
  size_t most = 1; /* who uses none has 0 there */
  switch (v->instruction->opcode) {
    case TBK_OPCODE_NUMBER:
      most = p->number_count;
      break;
    case TBK_OPCODE_PARAMETER:
      most = p->parameter_count;
      break;
    case TBK_OPCODE_COORDINATE:
      most = TBK_PROGRAM_MOST_RANK;
      break;
    case TBK_OPCODE_LOAD:
      most = p->input_count;
      break;
    case TBK_OPCODE_PHILOX:
      most = 4;
      break;
    default:
      break;
  }
  if (v->instruction->slot < most) return TBK_OK;
  return WRONG(v, "slot %d is not declared", v->instruction->slot);
}

static tbk_status_t check_unused(const view_t* v) {
  const tbk_instruction_t* i = v->instruction;
  bool bounds = i->opcode == TBK_OPCODE_LOAD && i->operand_count > 0;
  if (i->bounds > (bounds ? TBK_BOUNDS_ZERO : 0)) return WRONG(v, "bounds %d", i->bounds);
  if (i->opcode != TBK_OPCODE_CONSTANT && i->immediate != 0)
    return WRONG(v, "an immediate, of which it has %s", "none");
  if (i->operand_count == 0 && i->operand_first != 0)
    return WRONG(v, "operand_first is %u without operands", i->operand_first);
  return TBK_OK;
}

static size_t operands_wanted(const view_t* v) {
  if (v->opcode->operands >= 0) return (size_t)v->opcode->operands;
  return v->program->inputs[v->instruction->slot].rank; /* 0 where it is aligned */
}

static tbk_status_t check_operands(const view_t* v) {
  const tbk_instruction_t* i = v->instruction;
  size_t wanted = operands_wanted(v);
  if (i->operand_count != wanted)
    return WRONG(v, "%u operands; it has %zu", i->operand_count, wanted);
  if ((uint64_t)i->operand_first + i->operand_count > v->program->operand_count)
    return WRONG(v, "operands from %u on are not there", i->operand_first);
  for (size_t k = 0; k < i->operand_count; ++k)
    if (v->program->operands[i->operand_first + k] >= v->index)
      return WRONG(v, "operand %zu is value %u, which is not earlier", k,
                   v->program->operands[i->operand_first + k]);
  return TBK_OK;
}

/* SELECT's first operand is a BOOL, which says nothing of the others. */
static tbk_status_t check_takes(const view_t* v) {
  size_t first = v->instruction->opcode == TBK_OPCODE_SELECT ? 1 : 0;
  if (first == 1 && operand_dtype(v, 0) != TBK_BOOL)
    return WRONG(v, "operand 0 is %s, not BOOL", name_of(operand_dtype(v, 0)));
  for (size_t k = first; k < v->instruction->operand_count; ++k) {
    uint16_t dtype = operand_dtype(v, k);
    if (!program_dtype_in(dtype, v->opcode->takes))
      return WRONG(v, "operand %zu is %s, which it does not take", k, name_of(dtype));
    if (dtype != operand_dtype(v, first))
      return WRONG(v, "operand %zu is %s, another one %s", k, name_of(dtype),
                   name_of(operand_dtype(v, first)));
  }
  return TBK_OK;
}

static tbk_status_t check_is(const view_t* v, uint32_t dtype) {
  if (v->instruction->dtype == dtype) return TBK_OK;
  return WRONG(v, "dtype %s; it gives %s", name_of(v->instruction->dtype), name_of(dtype));
}

static tbk_status_t check_constant(const view_t* v) {
  if (program_bits_fit(v->instruction->dtype, v->instruction->immediate)) return TBK_OK;
  return WRONG(v, "more bits than %s has", name_of(v->instruction->dtype));
}

static tbk_status_t check_bitcast(const view_t* v) {
  uint16_t from = operand_dtype(v, 0), to = v->instruction->dtype;
  if (program_dtype_in(to, PROGRAM_N) && tbk_dtype_bytes(from) == tbk_dtype_bytes(to))
    return TBK_OK;
  return WRONG(v, "of %s to %s", name_of(from), name_of(to));
}

/* The dtype of the value is free but for what declares it. */
static tbk_status_t check_own(const view_t* v) {
  const tbk_instruction_t* i = v->instruction;
  if (!program_dtype_in(i->dtype, PROGRAM_ANY))
    return WRONG(v, "dtype %d is none of a program", i->dtype);
  switch (i->opcode) {
    case TBK_OPCODE_CONSTANT:
      return check_constant(v);
    case TBK_OPCODE_NUMBER:
      return check_is(v, v->program->numbers[i->slot]);
    case TBK_OPCODE_PARAMETER:
      return check_is(v, v->program->parameters[i->slot]);
    case TBK_OPCODE_LOAD:
      return check_is(v, v->program->inputs[i->slot].dtype);
    case TBK_OPCODE_BITCAST:
      return check_bitcast(v);
    default:
      return TBK_OK;
  }
}

static tbk_status_t check_gives(const view_t* v) {
  switch (v->opcode->gives) {
    case PROGRAM_GIVES_BOOL:
      return check_is(v, TBK_BOOL);
    case PROGRAM_GIVES_INT64:
      return check_is(v, TBK_INT64);
    case PROGRAM_GIVES_SAME:
      return check_is(v, operand_dtype(v, v->instruction->operand_count - 1));
    default:
      return check_own(v);
  }
}

static tbk_status_t check_instruction(const tbk_program_t* p, size_t index, tbk_error_t* error) {
  const tbk_instruction_t* instruction = &p->instructions[index];
  view_t view = {p, index, instruction, program_opcode(instruction->opcode), error};
  if (view.opcode->name == NULL) return WRONG(&view, "opcode %d is not known", instruction->opcode);
  tbk_status_t status = check_slot(&view);
  if (status == TBK_OK) status = check_unused(&view);
  if (status == TBK_OK) status = check_operands(&view);
  if (status == TBK_OK) status = check_takes(&view);
  return status == TBK_OK ? check_gives(&view) : status;
}

static tbk_status_t check_instructions(const tbk_program_t* p, tbk_error_t* error) {
  tbk_status_t status = TBK_OK;
  for (size_t i = 0; status == TBK_OK && i < p->instruction_count; ++i)
    status = check_instruction(p, i, error);
  return status;
}

static tbk_status_t check_results(const tbk_program_t* p, tbk_error_t* error) {
  if (p->result_count == 0) return program_fail(error, "no results");
  for (size_t i = 0; i < p->result_count; ++i)
    if (p->results[i] >= p->instruction_count)
      return program_fail(error, "result %zu is value %u, which is not there", i, p->results[i]);
  return TBK_OK;
}

tbk_status_t tbk_program_check(const tbk_program_t* p, tbk_error_t* error) {
  if (p == NULL) return program_fail(error, "no program");
  if (p->struct_size < sizeof *p) return program_fail(error, "struct_size is %zu", p->struct_size);
  if (p->version != TBK_PROGRAM_VERSION)
    return program_fail(error, "version %llu; known is %u", (unsigned long long)p->version,
                        TBK_PROGRAM_VERSION);
  tbk_status_t status = check_counts(p, error);
  if (status == TBK_OK) status = check_inputs(p, error);
  if (status == TBK_OK)
    status = check_dtypes("number", p->numbers, p->number_count, PROGRAM_NUMBER, error);
  if (status == TBK_OK)
    status = check_dtypes("parameter", p->parameters, p->parameter_count, PROGRAM_V, error);
  if (status == TBK_OK) status = check_instructions(p, error);
  return status == TBK_OK ? check_results(p, error) : status;
}
