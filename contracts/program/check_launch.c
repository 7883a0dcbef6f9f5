/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_launch.c: whether the sets of a launch are what its program declares. Handles and storages are
 * not looked at: a plan is made without.
 */
#include "bits.h"
#include "fail.h"
#include "opcode.h"
#include "tensors.h"

/* ---------------------------------------------------------------------------- one program ------ */

static tbk_status_t check_inputs(const tbk_program_t* p, const tbk_operand_set_t* set, size_t skip,
                                 const space_t* space, int64_t bits, place_t at) {
  at.kind = "input";
  for (size_t i = 0; i < p->input_count; ++i) {
    const tbk_tensor_t* tensor = set->inputs[skip + i];
    at.index = skip + i;
    tbk_status_t status = program_check_shape(&at, tensor, p->inputs[i].dtype);
    if (status == TBK_OK) status = program_check_extent(&at, tensor, bits);
    if (status == TBK_OK && p->inputs[i].kind == TBK_INPUT_ALIGNED)
      status = program_check_sizes(&at, tensor, space);
    if (status != TBK_OK) return status;
    if (p->inputs[i].kind == TBK_INPUT_INDEXED && tensor->rank != p->inputs[i].rank)
      return WRONG(&at, "rank %d; declared is %d", tensor->rank, p->inputs[i].rank);
  }
  return TBK_OK;
}

static tbk_status_t check_coordinates(const tbk_program_t* p, const space_t* space, place_t at) {
  at.kind = "instruction";
  for (at.index = 0; at.index < p->instruction_count; ++at.index) {
    const tbk_instruction_t* i = &p->instructions[at.index];
    if (i->opcode == TBK_OPCODE_COORDINATE && i->slot >= space->rank)
      return WRONG(&at, "COORDINATE of dimension %d of %d", i->slot, space->rank);
  }
  return TBK_OK;
}

/* Makes the space of the outputs, which all have the sizes of the first. */
static tbk_status_t check_outputs(const tbk_program_t* p, const tbk_operand_set_t* set,
                                  int64_t bits, place_t at, space_t* out_space) {
  at.kind = "output";
  for (size_t i = 0; i < p->result_count; ++i) {
    const tbk_tensor_t* tensor = set->outputs[i];
    at.index = i;
    tbk_status_t status = program_check_shape(&at, tensor, p->instructions[p->results[i]].dtype);
    if (status == TBK_OK) status = program_check_extent(&at, tensor, bits);
    if (status != TBK_OK) return status;
    if (i == 0) {
      out_space->rank = tensor->rank;
      for (int32_t d = 0; d < tensor->rank; ++d)
        out_space->sizes[d] = tensor->sizes[d];
    }
    status = program_check_sizes(&at, tensor, out_space);
    if (status != TBK_OK) return status;
  }
  return TBK_OK;
}

static tbk_status_t check_numbers(const tbk_program_t* p, const tbk_operand_set_t* set,
                                  place_t at) {
  at.kind = "number";
  for (at.index = 0; at.index < p->number_count; ++at.index)
    if (!program_bits_fit(p->numbers[at.index], set->numbers[at.index]))
      return WRONG(&at, "more bits than %s has", program_dtype_name(p->numbers[at.index]));
  return TBK_OK;
}

/* ---------------------------------------------------------------------------------- the sets --- */

static tbk_status_t check_set(const tbk_operand_set_t* set, size_t inputs, size_t numbers,
                              place_t at) {
  at.kind = "operands";
  if (set == NULL || set->struct_size < sizeof *set) return WRONG(&at, "they are not there");
  if (set->outputs == NULL) return WRONG(&at, "no outputs");
  if (inputs > 0 && set->inputs == NULL) return WRONG(&at, "no inputs");
  if (numbers > 0 && set->numbers == NULL) return WRONG(&at, "no numbers");
  if (set->inner_rank > 0 && set->inner_sizes == NULL) return WRONG(&at, "no inner sizes");
  return TBK_OK;
}

static tbk_status_t check_list(const tbk_operand_set_t* const* sets, size_t count, int64_t bits,
                               tbk_error_t* error) {
  if (bits != 32 && bits != 64) return program_fail(error, "index_bits is %lld", (long long)bits);
  return count > 0 && sets == NULL ? program_fail(error, "%zu sets at NULL", count) : TBK_OK;
}

static tbk_status_t pointwise_set(const tbk_args_pointwise_t* a, place_t at) {
  const tbk_operand_set_t* set = a->sets[at.set];
  space_t space = {{0}, 0};
  tbk_status_t status = check_set(set, a->program->input_count, a->program->number_count, at);
  if (status != TBK_OK) return status;
  if (set->inner_rank != 0) return WRONG(&at, "it has an inner space");
  status = check_outputs(a->program, set, a->index_bits, at, &space);
  if (status == TBK_OK) status = check_coordinates(a->program, &space, at);
  if (status == TBK_OK) status = check_inputs(a->program, set, 0, &space, a->index_bits, at);
  return status == TBK_OK ? check_numbers(a->program, set, at) : status;
}

tbk_status_t tbk_pointwise_check(const tbk_args_pointwise_t* a, tbk_error_t* error) {
  if (a == NULL || a->struct_size < sizeof *a || a->program == NULL)
    return program_fail(error, "no arguments, or no program");
  if (a->program->parameter_count != 0) return program_fail(error, "the program has parameters");
  tbk_status_t status = check_list(a->sets, a->set_count, a->index_bits, error);
  for (size_t s = 0; status == TBK_OK && s < a->set_count; ++s)
    status = pointwise_set(a, (place_t){s, "operands", 0, error});
  return status;
}

/* Makes the space of the map: the outer one, and after it what goes. */
static tbk_status_t whole_space(const tbk_operand_set_t* set, const space_t* outer, int64_t bits,
                                place_t at, space_t* out_space) {
  at.kind = "inner sizes";
  at.index = 0;
  if (set->inner_rank > (uint64_t)(TBK_PROGRAM_MOST_RANK - outer->rank))
    return WRONG(&at, "%llu beside %d others", (unsigned long long)set->inner_rank, outer->rank);
  *out_space = *outer;
  for (; at.index < set->inner_rank; ++at.index) {
    if (set->inner_sizes[at.index] < 0)
      return WRONG(&at, "%lld", (long long)set->inner_sizes[at.index]);
    out_space->sizes[out_space->rank++] = set->inner_sizes[at.index];
  }
  int64_t count = program_places(out_space->sizes, out_space->rank);
  int64_t inner = program_places(set->inner_sizes, (int32_t)set->inner_rank);
  if (count < 0 || inner < 0) return WRONG(&at, "more elements than 63 bits hold");
  if (bits == 32 && (count > INT32_MAX || inner > INT32_MAX))
    return WRONG(&at, "index_bits is 32, and the space is larger");
  return TBK_OK;
}

static tbk_status_t reduce_set(const tbk_args_reduce_t* a, place_t at) {
  const tbk_reduction_t* r = a->reduction;
  const tbk_operand_set_t* set = a->sets[at.set];
  space_t outer = {{0}, 0}, whole;
  size_t inputs = r->map->input_count + r->finish->input_count;
  tbk_status_t status = check_set(set, inputs, r->map->number_count, at);
  if (status == TBK_OK) status = check_outputs(r->finish, set, a->index_bits, at, &outer);
  if (status == TBK_OK) status = whole_space(set, &outer, a->index_bits, at, &whole);
  if (status == TBK_OK) status = check_coordinates(r->map, &whole, at);
  if (status == TBK_OK) status = check_coordinates(r->finish, &outer, at);
  if (status == TBK_OK) status = check_inputs(r->map, set, 0, &whole, a->index_bits, at);
  if (status == TBK_OK)
    status = check_inputs(r->finish, set, r->map->input_count, &outer, a->index_bits, at);
  return status == TBK_OK ? check_numbers(r->map, set, at) : status;
}

tbk_status_t tbk_reduce_check(const tbk_args_reduce_t* a, tbk_error_t* error) {
  if (a == NULL || a->struct_size < sizeof *a || a->reduction == NULL)
    return program_fail(error, "no arguments, or no reduction");
  tbk_status_t status = check_list(a->sets, a->set_count, a->index_bits, error);
  for (size_t s = 0; status == TBK_OK && s < a->set_count; ++s)
    status = reduce_set(a, (place_t){s, "operands", 0, error});
  return status;
}

/* Outputs, and the inputs of map and finish, have one space. */
static tbk_status_t scan_set(const tbk_args_scan_t* a, place_t at) {
  const tbk_reduction_t* r = a->reduction;
  const tbk_operand_set_t* set = a->sets[at.set];
  space_t space = {{0}, 0};
  size_t inputs = r->map->input_count + r->finish->input_count;
  tbk_status_t status = check_set(set, inputs, r->map->number_count, at);
  if (status != TBK_OK) return status;
  if (set->inner_rank != 0) return WRONG(&at, "it has an inner space");
  status = check_outputs(r->finish, set, a->index_bits, at, &space);
  if (status != TBK_OK) return status;
  if (space.rank == 0) return WRONG(&at, "rank 0: there is no dimension to go along");
  status = check_coordinates(r->map, &space, at);
  if (status == TBK_OK) status = check_coordinates(r->finish, &space, at);
  if (status == TBK_OK) status = check_inputs(r->map, set, 0, &space, a->index_bits, at);
  if (status == TBK_OK)
    status = check_inputs(r->finish, set, r->map->input_count, &space, a->index_bits, at);
  return status == TBK_OK ? check_numbers(r->map, set, at) : status;
}

tbk_status_t tbk_scan_check(const tbk_args_scan_t* a, tbk_error_t* error) {
  if (a == NULL || a->struct_size < sizeof *a || a->reduction == NULL)
    return program_fail(error, "no arguments, or no reduction");
  if (a->flags > TBK_SCAN_REVERSE)
    return program_fail(error, "flags are 0x%llx", (unsigned long long)a->flags);
  tbk_status_t status = check_list(a->sets, a->set_count, a->index_bits, error);
  for (size_t s = 0; status == TBK_OK && s < a->set_count; ++s)
    status = scan_set(a, (place_t){s, "operands", 0, error});
  return status;
}
