/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_reduction.c: whether the three programs of a reduction are well formed and fit together.
 */
#include "bits.h"
#include "fail.h"
#include "opcode.h"

static uint16_t result_dtype(const tbk_program_t* p, size_t which) {
  return p->instructions[p->results[which]].dtype;
}

static tbk_status_t check_part(const tbk_program_t* program, const char* name, tbk_error_t* error) {
  tbk_status_t status = tbk_program_check(program, error);
  if (status != TBK_OK) program_fail_in(error, "%s: ", name);
  return status;
}

static tbk_status_t check_state(const tbk_reduction_t* r, tbk_error_t* error) {
  size_t count = r->map->result_count;
  if (r->map->parameter_count != 0) return program_fail(error, "map: it has parameters");
  if (count > TBK_REDUCTION_MOST_STATES)
    return program_fail(error, "map: %zu states; at most %d", count, TBK_REDUCTION_MOST_STATES);
  for (size_t i = 0; i < count; ++i) {
    uint16_t dtype = result_dtype(r->map, i);
    if (!program_dtype_in(dtype, PROGRAM_V))
      return program_fail(error, "map: state %zu is %s", i, program_dtype_name(dtype));
    if (!program_bits_fit(dtype, r->identity[i]))
      return program_fail(error, "identity %zu: more bits than %s has", i,
                          program_dtype_name(dtype));
  }
  return TBK_OK;
}

/* The parameters are `copies` states, one after the other. */
static tbk_status_t check_takes_state(const tbk_reduction_t* r, const tbk_program_t* program,
                                      const char* name, size_t copies, tbk_error_t* error) {
  size_t count = r->map->result_count;
  if (program->parameter_count != copies * count)
    return program_fail(error, "%s: %zu parameters; %zu states make %zu", name,
                        program->parameter_count, count, copies * count);
  for (size_t i = 0; i < program->parameter_count; ++i)
    if (program->parameters[i] != result_dtype(r->map, i % count))
      return program_fail(error, "%s: parameter %zu is %s, the state %s", name, i,
                          program_dtype_name(program->parameters[i]),
                          program_dtype_name(result_dtype(r->map, i % count)));
  return TBK_OK;
}

/* What combines has no place in a space: in what order it is called is the backend's. */
static tbk_status_t check_combine(const tbk_reduction_t* r, tbk_error_t* error) {
  const tbk_program_t* p = r->combine;
  if (p->input_count != 0) return program_fail(error, "combine: it has inputs");
  for (size_t i = 0; i < p->instruction_count; ++i)
    if (p->instructions[i].opcode == TBK_OPCODE_COORDINATE ||
        p->instructions[i].opcode == TBK_OPCODE_LINEAR_INDEX)
      return program_fail(error, "combine: instruction %zu (%s): it has no place", i,
                          tbk_opcode_name(p->instructions[i].opcode));
  if (p->result_count != r->map->result_count)
    return program_fail(error, "combine: %zu results; %zu states", p->result_count,
                        r->map->result_count);
  for (size_t i = 0; i < p->result_count; ++i)
    if (result_dtype(p, i) != result_dtype(r->map, i))
      return program_fail(error, "combine: result %zu is %s, the state %s", i,
                          program_dtype_name(result_dtype(p, i)),
                          program_dtype_name(result_dtype(r->map, i)));
  return TBK_OK;
}

static bool same_numbers(const tbk_program_t* one, const tbk_program_t* other) {
  if (one->number_count != other->number_count) return false;
  for (size_t i = 0; i < one->number_count; ++i)
    if (one->numbers[i] != other->numbers[i]) return false;
  return true;
}

tbk_status_t tbk_reduction_check(const tbk_reduction_t* r, tbk_error_t* error) {
  if (r == NULL) return program_fail(error, "no reduction");
  if (r->struct_size < sizeof *r) return program_fail(error, "struct_size is %zu", r->struct_size);
  if (r->flags > TBK_REDUCTION_COMMUTATIVE) return program_fail(error, "a flag is not known");
  tbk_status_t status = check_part(r->map, "map", error);
  if (status == TBK_OK) status = check_part(r->combine, "combine", error);
  if (status == TBK_OK) status = check_part(r->finish, "finish", error);
  if (status != TBK_OK) return status;
  if (r->identity == NULL) return program_fail(error, "no identity");
  if (!same_numbers(r->map, r->combine) || !same_numbers(r->map, r->finish))
    return program_fail(error, "map, combine and finish declare other numbers");
  status = check_state(r, error);
  if (status == TBK_OK) status = check_takes_state(r, r->combine, "combine", 2, error);
  if (status == TBK_OK) status = check_combine(r, error);
  return status == TBK_OK ? check_takes_state(r, r->finish, "finish", 1, error) : status;
}
