/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * build.c: operators' arguments made into jobs, what plans know of these, and products in place.
 */
#include <string.h>

#include "inside.h"

tbk_status_t emit_build(const emit_operator_t* made_by, const void* arguments, bool bound,
                        emit_job_t* job, tbk_error_t* error) {
  size_t struct_size = 0;
  memset(job, 0, sizeof *job); /* padding too: emit_fits compares bytes */
  if (arguments != NULL) memcpy(&struct_size, arguments, sizeof struct_size);
  if (made_by == NULL || struct_size < made_by->arguments_bytes)
    return emit_fail(error, TBK_INVALID, "no kernel, no arguments, or their struct_size too small");
  return made_by->build(arguments, bound, job, error);
}

void emit_strip(emit_job_t* job) {
  for (int i = 0; i < job->operand_count; i++) {
    job->operands[i].memory = 0;
    job->operands[i].offset = 0;
    job->shape.offsets[i] = 0;
  }
}

bool emit_fits(const emit_job_t* job, const emit_job_t* stripped) {
  emit_job_t bare = *job;
  emit_strip(&bare);
  return memcmp(&bare.shape, &stripped->shape, sizeof bare.shape) == 0 &&
         strcmp(bare.options, stripped->options) == 0;
}

bool emit_is_in_place_product(const emit_job_t* job) {
  const emit_view_t* views = job->operands;
  return strncmp(job->options, "-DMM ", 5) == 0 &&
         (views[0].memory == views[1].memory || views[0].memory == views[2].memory);
}

uint64_t emit_output_bytes(const emit_job_t* job) {
  return (uint64_t)(job->operands[0].count * job->operands[0].element_bytes);
}

void emit_set_apart(emit_job_t* job, tbk_memory_t memory, emit_job_t* out_copy) {
  emit_view_t view = job->operands[0];
  view.memory = memory;
  view.offset = 0;
  view.strides[0] = view.sizes[1];
  view.strides[1] = 1;
  memset(out_copy, 0, sizeof *out_copy);
  out_copy->operand_count = 2;
  out_copy->operands[0] = job->operands[0];
  out_copy->operands[1] = view;
  emit_set_raw(out_copy, "COPY");
  job->operands[0] = view;
  job->shape.offsets[0] = 0;
  memcpy(job->shape.strides[0], view.strides, sizeof view.strides);
}

emit_job_t emit_random(const tbk_generator_t* generator, tbk_memory_t memory, uint64_t offset,
                       uint64_t count) {
  emit_job_t job = {.options = "-DRANDOM -DBYTES=4", .operand_count = 1, .scalar_bytes = 4};
  job.operands[0] = (emit_view_t){.memory = memory, .count = (int64_t)count, .element_bytes = 4};
  job.shape.sizes[0] = (int64_t)generator->seed;
  job.shape.sizes[1] = (int64_t)(generator->offset / 4);
  job.shape.offsets[0] = (int64_t)(offset / 4);
  job.shape.count = (int64_t)count;
  job.groups = emit_groups((int64_t)(count / 4 + (count % 4 != 0)));
  return job;
}
