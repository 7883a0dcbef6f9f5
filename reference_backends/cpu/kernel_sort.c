/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_sort.c: the arguments of tbk::sort, checked and made a job.
 */
#include <stdlib.h>
#include <tbk/program.h>

#include "sort.h"

static void compute(const cpu_job_t* job) {
  cpu_sort_compute(job->sort, job->workspace);
}

static tbk_status_t resolve(vdev_arena_t* arena, const tbk_args_sort_t* args, cpu_sort_t* sort,
                            tbk_error_t* error) {
  tbk_status_t status = cpu_resolve(arena, args->input, &sort->input, error);
  if (status == TBK_OK && args->values)
    status = cpu_resolve(arena, args->values, &sort->values, error);
  if (status == TBK_OK && args->indices)
    status = cpu_resolve(arena, args->indices, &sort->indices, error);
  return status;
}

tbk_status_t cpu_build_sort(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                            tbk_error_t* error) {
  const tbk_args_sort_t* args = arguments;
  tbk_status_t status = tbk_sort_check(args, error);
  if (status != TBK_OK) return status;
  cpu_sort_t* sort = calloc(1, sizeof *sort);
  if (!sort) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a launch");
  job->compute = compute;
  job->sort = sort; /* the job's from here on, also where this fails */
  status = resolve(arena, args, sort, error);
  if (status != TBK_OK) return status;
  const cpu_view_t* written = args->values ? &sort->values : &sort->indices;
  sort->descending = (args->flags & TBK_SORT_DESCENDING) != 0;
  sort->length = sort->input.sizes[sort->input.rank - 1];
  sort->kept = written->sizes[written->rank - 1];
  job->workspace_bytes = sort->input.count ? cpu_sort_bytes(sort) : 0;
  job->shapes = vdev_mix(args->flags << 2 | (args->values != NULL) << 1 | (args->indices != NULL));
  job->shapes = cpu_hash_view(job->shapes, &sort->input);
  job->shapes = cpu_hash_view(job->shapes, &sort->values);
  job->shapes = cpu_hash_view(job->shapes, &sort->indices);
  return TBK_OK;
}
