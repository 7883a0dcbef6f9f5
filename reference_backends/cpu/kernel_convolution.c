/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_convolution.c: the arguments of tbk::convolution, checked and made a job: group by group, by products of
 * matrices where that can be.
 */
#include <stdlib.h>
#include <tbk/program.h>

#include "convolution.h"

cpu_number_t cpu_convolution_bias(const cpu_convolution_t* one, int64_t channel) {
  if (one->bias.rank == 0) return (cpu_number_t){.kind = tbk_dtype_kind(one->input.dtype)};
  return cpu_load(one->bias.data + channel * one->bias.strides[0], one->bias.dtype);
}

static void compute(const cpu_job_t* job) {
  const cpu_convolution_t* one = job->convolution;
  const cpu_view_t* const written[] = {&one->output, &one->input, &one->weight};
  if (written[one->mode]->count == 0) return;
  for (int64_t g = 0; g < one->groups; g++)
    if (job->workspace == NULL || !cpu_convolution_blas(one, g, job->workspace))
      cpu_convolution_loop(one, g);
}

/* Three spatial dimensions, the last where they are. */
static void spread(cpu_view_t* view) {
  const int32_t missing = 2 + CPU_SPATIAL - view->rank;
  for (int32_t d = view->rank - 1; d >= 2; d--) {
    view->sizes[d + missing] = view->sizes[d];
    view->strides[d + missing] = view->strides[d];
  }
  for (int32_t d = 2; d < 2 + missing; d++) {
    view->sizes[d] = 1;
    view->strides[d] = 0;
  }
  view->rank = 2 + CPU_SPATIAL;
}

static tbk_status_t resolve(vdev_arena_t* arena, const tbk_args_convolution_t* args,
                            cpu_convolution_t* one, tbk_error_t* error) {
  tbk_status_t status = cpu_resolve(arena, args->input, &one->input, error);
  if (status == TBK_OK) status = cpu_resolve(arena, args->weight, &one->weight, error);
  if (status == TBK_OK) status = cpu_resolve(arena, args->output, &one->output, error);
  if (status == TBK_OK && args->bias) status = cpu_resolve(arena, args->bias, &one->bias, error);
  if (status != TBK_OK) return status;
  spread(&one->input);
  spread(&one->weight);
  spread(&one->output);
  return TBK_OK;
}

static int64_t places_of(const cpu_view_t* view) {
  return view->count ? view->sizes[2] * view->sizes[3] * view->sizes[4] : 0;
}

static void describe(const tbk_args_convolution_t* args, cpu_convolution_t* one) {
  const int32_t missing = CPU_SPATIAL - (args->input->rank - 2);
  one->mode = args->mode;
  one->groups = args->groups;
  one->images = one->input.sizes[0];
  one->channels = one->input.sizes[1] / one->groups;
  one->filters = one->output.sizes[1] / one->groups;
  one->taps = places_of(&one->weight);
  one->input_places = places_of(&one->input);
  one->output_places = places_of(&one->output);
  for (int32_t d = 0; d < CPU_SPATIAL; d++) {
    const bool own = d >= missing;
    one->stride[d] = own ? args->stride[d - missing] : 1;
    one->padding[d] = own ? args->padding[d - missing] : 0;
    one->dilation[d] = own ? args->dilation[d - missing] : 1;
    const int64_t last = (one->output.sizes[2 + d] - 1) * one->stride[d] +
                         (one->weight.sizes[2 + d] - 1) * one->dilation[d] - one->padding[d];
    if (one->padding[d] > 0 || last >= one->input.sizes[2 + d]) one->meets_padding = true;
  }
}

static uint64_t hash_view(uint64_t hash, const cpu_view_t* view) {
  hash = vdev_mix(hash ^ (uint64_t)view->dtype << 32 ^ (uint64_t)view->rank);
  for (int32_t d = 0; d < view->rank; d++)
    hash = vdev_mix(vdev_mix(hash ^ (uint64_t)view->sizes[d]) ^ (uint64_t)view->strides[d]);
  return hash;
}

/* Of all but memory and offsets. */
static uint64_t hash_of(const cpu_convolution_t* one) {
  uint64_t hash = vdev_mix((uint64_t)one->mode ^ (uint64_t)one->groups << 8);
  hash = hash_view(hash_view(hash, &one->input), &one->weight);
  hash = hash_view(hash_view(hash, &one->output), &one->bias);
  for (int32_t d = 0; d < CPU_SPATIAL; d++) {
    hash = vdev_mix(vdev_mix(hash ^ (uint64_t)one->stride[d]) ^ (uint64_t)one->padding[d]);
    hash = vdev_mix(hash ^ (uint64_t)one->dilation[d]);
  }
  return hash;
}

tbk_status_t cpu_build_convolution(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                                   tbk_error_t* error) {
  const tbk_args_convolution_t* args = arguments;
  tbk_status_t status = tbk_convolution_check(args, error);
  if (status != TBK_OK) return status;
  cpu_convolution_t* one = calloc(1, sizeof *one);
  if (!one) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a launch");
  job->compute = compute;
  job->convolution = one; /* the job's from here on, also where this fails */
  status = resolve(arena, args, one, error);
  if (status != TBK_OK) return status;
  describe(args, one);
  job->workspace_bytes = cpu_convolution_plan(one);
  job->shapes = hash_of(one);
  return TBK_OK;
}
