/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_index.c: the arguments of tbk::index, checked and made a job.
 */
#include <stdlib.h>
#include <tbk/program.h>

#include "index.h"

static void compute(const cpu_job_t* job) {
  cpu_index_compute(job->index);
}

/* Of all but memory and offsets. */
static uint64_t hash_of(const tbk_args_index_t* args, const cpu_index_t* one) {
  uint64_t hash = vdev_mix((uint64_t)args->mode << 32 | args->flags << 8 | (uint64_t)args->bounds);
  hash = vdev_mix(hash ^ (args->report != NULL) ^ args->index_count << 8);
  hash = cpu_hash_view(cpu_hash_view(hash, &one->table), &one->values);
  for (size_t k = 0; k < one->index_count; k++)
    hash = cpu_hash_view(hash, &one->indices[k]);
  for (int32_t d = 0; !one->flat && d < one->table.rank; d++)
    hash = vdev_mix(hash ^ (uint64_t)one->places[d]);
  return hash;
}

static tbk_status_t resolve(vdev_arena_t* arena, const tbk_args_index_t* args, cpu_index_t* one,
                            tbk_error_t* error) {
  tbk_status_t status = cpu_resolve(arena, args->table, &one->table, error);
  if (status == TBK_OK) status = cpu_resolve(arena, args->values, &one->values, error);
  for (size_t k = 0; status == TBK_OK && k < args->index_count; k++)
    status = cpu_resolve(arena, args->indices[k], &one->indices[k], error);
  if (status == TBK_OK && args->report)
    status = cpu_resolve(arena, args->report, &one->report, error);
  return status;
}

tbk_status_t cpu_build_index(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                             tbk_error_t* error) {
  const tbk_args_index_t* args = arguments;
  tbk_status_t status = tbk_index_check(args, error);
  if (status != TBK_OK) return status;
  cpu_index_t* one = calloc(1, sizeof *one);
  if (!one) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a launch");
  one->mode = args->mode;
  one->flat = (args->flags & TBK_INDEX_FLAT) != 0;
  one->negative = (args->flags & TBK_INDEX_NEGATIVE) != 0;
  one->index_count = args->index_count;
  for (int32_t d = 0; !one->flat && d < args->table->rank; d++)
    one->places[d] = args->places[d];
  job->compute = compute;
  job->index = one; /* the job's from here on, also where this fails */
  status = resolve(arena, args, one, error);
  if (status == TBK_OK) job->shapes = hash_of(args, one);
  return status;
}
