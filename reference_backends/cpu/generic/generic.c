/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic.c: the arguments of tbk::pointwise, tbk::reduce and tbk::scan, checked and made a job.
 */
#include "generic.h"

#include <stdlib.h>
#include <string.h>

/* What all buffers of a frame may take together, so that they stay in a cache near by. */
enum { NEAR_BYTES = 128 << 10, LANES_LEAST = 128, LINE = 64 };
/* The same of a reduction, of whose three programs only two go through all elements, and whose states take less than a
 * word mostly. */
enum { NEAR_BYTES_OF_STATES = 256 << 10 };

space_rules_t generic_rules(const kernel_code_t* code, bool scans) {
  const code_t *map = code->parts[0], *finish = code->parts[CODE_FINISH];
  bool coordinates = map->reads_coordinates, outer_index = map->reads_linear_index;
  bool inner_index = false, ordered = false;
  if (code->reduction) {
    coordinates = coordinates || finish->reads_coordinates;
    inner_index = map->reads_linear_index;
    outer_index = finish->reads_linear_index && !scans;
    ordered = !(code->reduction->flags & TBK_REDUCTION_COMMUTATIVE);
  }
  return (space_rules_t){.merge_outer = !coordinates,
                         .merge_inner = !coordinates && !scans,
                         .sort_outer = !coordinates && !outer_index,
                         .sort_inner = !coordinates && !inner_index && !ordered};
}

void cpu_generic_free(cpu_generic_t* generic) {
  if (!generic) return;
  code_drop(generic->code);
  free(generic->scratch);
  free(generic);
}

/* One block: the job, its spaces, their tensors and their numbers. */
static cpu_generic_t* new_generic(cpu_generic_t kind) {
  const size_t tensors = space_outputs(kind.code) + space_inputs(kind.code);
  const size_t numbers = space_numbers(kind.code);
  const size_t each = sizeof(space_t) + tensors * sizeof(access_t) + numbers * sizeof(uint64_t);
  size_t bytes;
  if (__builtin_mul_overflow(kind.set_count, each, &bytes) || bytes > SIZE_MAX / 2) return NULL;
  cpu_generic_t* generic = calloc(1, sizeof *generic + bytes);
  if (!generic) return NULL;
  *generic = kind;
  generic->spaces = (space_t*)(generic + 1);
  return generic;
}

static uint64_t shape_hash(const space_t* space) {
  uint64_t hash = vdev_mix((uint64_t)space->outer_rank << 32 | (uint64_t)space->inner_rank);
  for (int32_t d = 0; d < space->outer_rank + space->inner_rank; d++)
    hash = vdev_mix(hash ^ (uint64_t)space->sizes[d]);
  for (size_t i = 0; i < space->output_count + space->input_count; i++) {
    const access_t* access = &space->accesses[i];
    hash = vdev_mix(hash ^ (uint64_t)access->dtype);
    const int32_t rank =
        access->own_rank < 0 ? space->outer_rank + space->inner_rank : access->own_rank;
    for (int32_t d = 0; d < rank; d++)
      hash = vdev_mix(hash ^ (uint64_t)access->strides[d]);
    for (int32_t d = 0; d < access->own_rank; d++)
      hash = vdev_mix(hash ^ (uint64_t)access->own_sizes[d]);
  }
  return hash;
}

static tbk_status_t make_spaces(vdev_arena_t* arena, cpu_generic_t* generic,
                                const tbk_operand_set_t* const* sets, uint64_t* hash,
                                tbk_error_t* error) {
  const size_t tensors = space_outputs(generic->code) + space_inputs(generic->code);
  access_t* accesses = (access_t*)(generic->spaces + generic->set_count);
  uint64_t* numbers = (uint64_t*)(accesses + generic->set_count * tensors);
  const space_rules_t rules = generic_rules(generic->code, generic->scans);
  for (size_t i = 0; i < generic->set_count; i++) {
    space_t* space = &generic->spaces[i];
    tbk_status_t status =
        space_make(arena, generic->code, sets[i], accesses, numbers, space, error);
    if (status != TBK_OK) return status;
    *hash = vdev_mix(*hash ^ shape_hash(space));
    if (generic->scans) scan_turn(space, generic->reversed);
    space_simplify(space, rules);
    accesses += tensors;
    numbers += space_numbers(generic->code);
  }
  return TBK_OK;
}

/* As many lanes as there are elements, as fit near by, and as a tile has at most. */
static size_t choose_lanes(const cpu_generic_t* generic) {
  size_t buffers = 0, lanes = FRAME_LANES_MOST;
  int64_t most = 1;
  for (int i = 0; i < 3 && generic->code->parts[i]; i++)
    buffers += generic->code->parts[i]->buffer_count;
  for (size_t i = 0; i < generic->set_count; i++) {
    const space_t* space = &generic->spaces[i];
    if (space->outer_count > most) most = space->outer_count;
    if (space->outer_count && space->inner_count > most) most = space->inner_count;
  }
  const size_t near_by = generic->code->reduction ? NEAR_BYTES_OF_STATES : NEAR_BYTES;
  while (lanes > LANES_LEAST && buffers * lanes * sizeof(uint64_t) > near_by)
    lanes /= 2;
  return (uint64_t)most < lanes ? cpu_whole_lanes((size_t)most) : lanes;
}

/* The most that a set takes. */
static size_t most_table_bytes(const cpu_generic_t* generic, int part) {
  const code_t* code = generic->code->parts[part];
  size_t most = 0;
  if (generic->scans || !code || !code->reads_coordinates) return 0;
  for (size_t i = 0; i < generic->set_count; i++) {
    const size_t bytes =
        tables_bytes(code, &generic->spaces[i], generic_walk(generic, &generic->spaces[i], part));
    if (bytes > most) most = bytes;
  }
  return most;
}

tables_walk_t generic_walk(const cpu_generic_t* generic, const space_t* space, int part) {
  if (!generic->code->reduction || part != CODE_MAP) return TABLES_OUTER;
  return reduce_goes_along(generic, space) ? TABLES_ALONG : TABLES_ACROSS;
}

char* generic_tables(const cpu_generic_t* generic, int part) {
  size_t before = generic->frame_bytes;
  for (int i = 0; i < part; i++)
    before += generic->table_bytes[i];
  return generic->table_bytes[part] ? generic->scratch + before : NULL;
}

static tbk_status_t take_scratch(cpu_generic_t* generic, tbk_error_t* error) {
  generic->lanes = choose_lanes(generic);
  size_t bytes = generic->scans           ? scan_bytes(generic)
                 : generic->code->program ? pointwise_bytes(generic)
                                          : reduce_bytes(generic);
  generic->frame_bytes = bytes = (bytes + LINE) / LINE * LINE;
  for (int i = 0; i < 3; i++)
    bytes += generic->table_bytes[i] = most_table_bytes(generic, i);
  generic->scratch = aligned_alloc(LINE, bytes);
  if (!generic->scratch)
    return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for buffers of a program");
  memset(generic->scratch, 0,
         generic->frame_bytes); /* the lanes behind the last are computed too */
  return TBK_OK;
}

/* Takes the reference to the code, also on failure. */
static tbk_status_t build(vdev_arena_t* arena, cpu_generic_t kind,
                          const tbk_operand_set_t* const* sets, cpu_job_t* job,
                          tbk_error_t* error) {
  cpu_generic_t* generic = new_generic(kind);
  if (!generic) {
    code_drop(kind.code);
    return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a launch");
  }
  job->shapes = vdev_mix(kind.code->hash ^ (uint64_t)kind.reversed);
  tbk_status_t status = make_spaces(arena, generic, sets, &job->shapes, error);
  if (status == TBK_OK && arena) status = take_scratch(generic, error);
  if (status == TBK_OK)
    job->generic = generic;
  else
    cpu_generic_free(generic);
  return status;
}

static void compute_pointwise(const cpu_job_t* job) {
  pointwise_compute(job->generic);
}

static void compute_reduce(const cpu_job_t* job) {
  reduce_compute(job->generic);
}

static void compute_scan(const cpu_job_t* job) {
  scan_compute(job->generic);
}

tbk_status_t cpu_build_pointwise(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                                 tbk_error_t* error) {
  const tbk_args_pointwise_t* args = arguments;
  tbk_status_t status;
  job->compute = compute_pointwise;
  kernel_code_t* code = code_of_program(job->cache, args->program, &status, error);
  if (!code) return status;
  status = tbk_pointwise_check(args, error);
  if (status != TBK_OK) return code_drop(code), status;
  const cpu_generic_t kind = {.code = code, .set_count = args->set_count};
  return build(arena, kind, args->sets, job, error);
}

tbk_status_t cpu_build_reduce(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_reduce_t* args = arguments;
  tbk_status_t status;
  job->compute = compute_reduce;
  kernel_code_t* code = code_of_reduction(job->cache, args->reduction, &status, error);
  if (!code) return status;
  status = tbk_reduce_check(args, error);
  if (status != TBK_OK) return code_drop(code), status;
  const cpu_generic_t kind = {.code = code, .set_count = args->set_count};
  return build(arena, kind, args->sets, job, error);
}

tbk_status_t cpu_build_scan(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                            tbk_error_t* error) {
  const tbk_args_scan_t* args = arguments;
  tbk_status_t status;
  job->compute = compute_scan;
  kernel_code_t* code = code_of_reduction(job->cache, args->reduction, &status, error);
  if (!code) return status;
  status = tbk_scan_check(args, error);
  if (status != TBK_OK) return code_drop(code), status;
  const cpu_generic_t kind = {.code = code,
                              .set_count = args->set_count,
                              .scans = true,
                              .reversed = (args->flags & TBK_SCAN_REVERSE) != 0};
  return build(arena, kind, args->sets, job, error);
}
