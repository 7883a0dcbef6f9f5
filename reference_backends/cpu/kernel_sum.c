/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_sum.c: sum.dim_IntList, by a reduction of tbk::reduce; complex numbers, and what has more dimensions
 * than a reduction may have, are added one by one.
 */
#include "kernel.h"

/* --------------------------------------------------------------------------------- one by one -- */

/* One element of the output: `data` is where its first summand lies. */
static cpu_number_t sum_from(const cpu_view_t* in, const char* data, const int64_t* extents) {
  int64_t index[CPU_MAX_RANK] = {0};
  uint64_t integer = 0;
  long double real = 0, imaginary = 0;
  do {
    const char* at = data;
    for (int32_t d = 0; d < in->rank; d++)
      at += index[d] * in->strides[d];
    cpu_number_t number = cpu_load(at, in->dtype);
    integer += (uint64_t)number.integer;
    real += (long double)number.real;
    imaginary += (long double)number.imaginary;
  } while (cpu_next_index(index, extents, in->rank));
  return (cpu_number_t){tbk_dtype_kind(in->dtype), (int64_t)integer, (double)real,
                        (double)imaginary};
}

/* The output's strides, one for each dimension of the input, 0 where it is summed over. */
static void spread_strides(const cpu_job_t* job, int64_t* strides) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  bool kept_all = out->rank == in->rank;
  for (int32_t d = 0, next = 0; d < in->rank; d++) {
    bool summed = job->reduced >> d & 1;
    strides[d] = summed ? 0 : out->strides[kept_all ? d : next];
    next += !summed;
  }
}

static void compute_one_by_one(const cpu_job_t* job) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  if (out->count == 0) return;
  int64_t index[CPU_MAX_RANK] = {0}, strides[CPU_MAX_RANK] = {0};
  int64_t kept[CPU_MAX_RANK], summed[CPU_MAX_RANK];
  spread_strides(job, strides);
  for (int32_t d = 0; d < in->rank; d++) {
    bool reduced = job->reduced >> d & 1;
    kept[d] = reduced ? 1 : in->sizes[d];
    summed[d] = reduced ? in->sizes[d] : 1;
  }
  const cpu_number_t nothing = {.kind = tbk_dtype_kind(in->dtype)};
  do {
    char* to = out->data;
    const char* from = in->data;
    for (int32_t d = 0; d < in->rank; d++) {
      to += index[d] * strides[d];
      if (from) from += index[d] * in->strides[d];
    }
    cpu_store(to, out->dtype, in->count ? sum_from(in, from, summed) : nothing);
  } while (cpu_next_index(index, kept, in->rank));
}

/* ------------------------------------------------------------------------------ as a reduction -- */

/* One program of a reduction, with what it points at. */
typedef struct program {
  tbk_program_t program;
  tbk_program_input_t input;
  tbk_instruction_t instructions[3];
  uint16_t parameters[2];
  uint32_t operands[2], result;
} program_t;

/* Its operands are the first values. */
static void add_instruction(program_t* p, uint16_t opcode, int32_t dtype, uint32_t operands) {
  p->instructions[p->program.instruction_count] =
      (tbk_instruction_t){.opcode = opcode, .dtype = (uint16_t)dtype, .operand_count = operands};
  p->result = (uint32_t)p->program.instruction_count++;
  if (operands) p->program.operand_count = operands;
}

static void begin(program_t* p) {
  *p = (program_t){.program = {.struct_size = sizeof p->program, .version = TBK_PROGRAM_VERSION}};
  p->operands[1] = 1;
  p->program.instructions = p->instructions;
  p->program.operands = p->operands;
  p->program.results = &p->result;
  p->program.result_count = 1;
}

static void add_parameter(program_t* p, int32_t dtype) {
  const size_t slot = p->program.parameter_count++;
  p->program.parameters = p->parameters;
  p->parameters[slot] = (uint16_t)dtype;
  add_instruction(p, TBK_OPCODE_PARAMETER, dtype, 0);
  p->instructions[slot].slot = (uint16_t)slot;
}

/* Loads an element as what is added. */
static void make_map(program_t* p, int32_t from, int32_t state) {
  begin(p);
  p->input.dtype = (uint16_t)from;
  p->program.inputs = &p->input;
  p->program.input_count = 1;
  add_instruction(p, TBK_OPCODE_LOAD, from, 0);
  if (from != state) add_instruction(p, TBK_OPCODE_CAST, state, 1);
}

static void make_combine(program_t* p, int32_t state) {
  begin(p);
  add_parameter(p, state);
  add_parameter(p, state);
  add_instruction(p, TBK_OPCODE_ADD, state, 2);
}

static void make_finish(program_t* p, int32_t state, int32_t to) {
  begin(p);
  add_parameter(p, state);
  if (to != state) add_instruction(p, TBK_OPCODE_CAST, to, 1);
}

/* The tensors of the reduction: without dimensions of one element, those that stay before those that go. */
typedef struct tensors {
  tbk_tensor_t out, in;
  int64_t sizes[CPU_MAX_RANK], out_strides[CPU_MAX_RANK], in_strides[CPU_MAX_RANK];
  int32_t kept, rank;
} tensors_t;

static void add_dimensions(const cpu_job_t* job, bool summed, tensors_t* t) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  int64_t strides[CPU_MAX_RANK];
  spread_strides(job, strides);
  for (int32_t d = 0; d < in->rank; d++) {
    if ((job->reduced >> d & 1) != summed || in->sizes[d] == 1) continue;
    t->sizes[t->rank] = in->sizes[d];
    t->out_strides[t->rank] = strides[d] / out->element_bytes;
    t->in_strides[t->rank++] = in->strides[d] / in->element_bytes;
  }
}

static void make_tensors(const tbk_args_sum_dim_IntList_t* args, const cpu_job_t* job,
                         tensors_t* t) {
  t->out = *args->out;
  t->in = *args->self;
  t->rank = 0;
  add_dimensions(job, false, t);
  t->kept = t->rank;
  add_dimensions(job, true, t);
  t->out.rank = t->kept;
  t->in.rank = t->rank;
  t->out.sizes = t->in.sizes = t->sizes;
  t->out.strides = t->out_strides;
  t->in.strides = t->in_strides;
}

static tbk_status_t build_reduction(vdev_arena_t* arena, const tensors_t* t, cpu_job_t* job,
                                    tbk_error_t* error) {
  static const uint64_t zero = 0;
  const int32_t from = t->in.dtype, to = t->out.dtype, state = cpu_summed_in(to);
  program_t map, combine, finish;
  make_map(&map, from, state);
  make_combine(&combine, state);
  make_finish(&finish, state, to);
  const tbk_reduction_t sum = {.struct_size = sizeof sum,
                               .map = &map.program,
                               .combine = &combine.program,
                               .finish = &finish.program,
                               .identity = &zero,
                               .flags = TBK_REDUCTION_COMMUTATIVE};
  const tbk_tensor_t *outputs[] = {&t->out}, *inputs[] = {&t->in};
  const tbk_operand_set_t set = {.struct_size = sizeof set,
                                 .outputs = outputs,
                                 .inputs = inputs,
                                 .inner_sizes = t->sizes + t->kept,
                                 .inner_rank = (uint64_t)(t->rank - t->kept)};
  const tbk_operand_set_t* sets[] = {&set};
  const tbk_args_reduce_t args = {sizeof args, &sum, sets, 1, 64};
  return cpu_build_reduce(arena, &args, job, error);
}

/* -------------------------------------------------------------------------------------- build -- */

static tbk_status_t find_reduced(const tbk_int_list_t* dim, int32_t rank, uint32_t* out_reduced,
                                 tbk_error_t* error) {
  *out_reduced = 0;
  if (!dim || dim->count == 0) {
    *out_reduced = (UINT32_C(1) << rank) - 1;
    return TBK_OK;
  }
  const int64_t limit = rank ? rank : 1;
  for (size_t i = 0; i < dim->count; i++) {
    int64_t d = dim->items[i] < 0 ? dim->items[i] + limit : dim->items[i];
    if (d < 0 || d >= limit || (*out_reduced >> d & 1))
      return cpu_fail(TBK_UNSUPPORTED, error, "dim is out of range, or named twice");
    *out_reduced |= UINT32_C(1) << d;
  }
  if (rank == 0) *out_reduced = 0;
  return TBK_OK;
}

static tbk_status_t want_sizes(const cpu_job_t* job, bool keepdim, tbk_error_t* error) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  bool right = true;
  int32_t next = 0;
  for (int32_t d = 0; d < in->rank && right; d++) {
    bool summed = job->reduced >> d & 1;
    if (summed && !keepdim) continue;
    right = next < out->rank && out->sizes[next] == (summed ? 1 : in->sizes[d]);
    next++;
  }
  if (right && next == out->rank) return TBK_OK;
  return cpu_fail(TBK_UNSUPPORTED, error, "the output has not the sizes of the sum");
}

static tbk_status_t want_dtypes(const cpu_job_t* job, const int64_t* dtype, tbk_error_t* error) {
  const int32_t out = job->operands[0].dtype, in = job->operands[1].dtype;
  bool widens = out == TBK_INT64 && tbk_dtype_kind(in) == TBK_KIND_INTEGER;
  if ((in == out || widens) && (!dtype || *dtype == out)) return TBK_OK;
  return cpu_fail(TBK_UNSUPPORTED, error, "a sum of dtype %d into dtype %d", in, out);
}

tbk_status_t cpu_build_sum(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                           tbk_error_t* error) {
  const tbk_args_sum_dim_IntList_t* args = arguments;
  tbk_status_t status = cpu_add_output(arena, args->out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->self, job, error);
  if (status == TBK_OK) status = want_dtypes(job, args->dtype, error);
  if (status == TBK_OK)
    status = find_reduced(args->dim, job->operands[1].rank, &job->reduced, error);
  if (status == TBK_OK) status = want_sizes(job, args->keepdim != 0, error);
  if (status != TBK_OK) return status;
  tensors_t tensors;
  make_tensors(args, job, &tensors);
  const bool is_complex = tbk_dtype_kind(job->operands[0].dtype) == TBK_KIND_COMPLEX;
  if (!is_complex && tensors.rank <= TBK_PROGRAM_MOST_RANK)
    return build_reduction(arena, &tensors, job, error);
  job->compute = compute_one_by_one;
  return TBK_OK;
}
