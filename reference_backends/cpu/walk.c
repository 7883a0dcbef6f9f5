/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * walk.c: blocks of the elements of some operands, and their ways into buffers and back.
 */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

/* Dimension 0 is the innermost. */
typedef struct space {
  int operands;
  bool in_order; /* row by row of the last dimension, as indices count */
  int32_t rank;  /* at least 2 */
  int64_t sizes[CPU_MAX_RANK];
  int64_t strides[CPU_MAX_RANK][CPU_OPERANDS_MOST];
} space_t;

/* The bytes that a tensor lies in. */
typedef struct extent {
  const char *low, *high;
} extent_t;

static extent_t extent_of(const cpu_view_t* view) {
  extent_t extent = {view->data, view->data + view->element_bytes};
  for (int32_t d = 0; d < view->rank; d++) {
    const int64_t reach = (view->sizes[d] - 1) * view->strides[d];
    *(reach < 0 ? &extent.low : &extent.high) += reach;
  }
  return extent;
}

static bool is_same_place(const cpu_view_t* one, const cpu_view_t* other) {
  bool same = one->data == other->data;
  for (int32_t d = 0; d < one->rank; d++)
    same = same && (one->sizes[d] == 1 || one->strides[d] == other->strides[d]);
  return same;
}

/* Whether an input may lie in the output in part. No host may ask for that, but one that does, as with a row that
 * is added to a matrix of its own, expects of each row what PyTorch's CPU makes of it, which goes in order. */
static bool may_overlap(const cpu_job_t* job) {
  const cpu_view_t* out = &job->operands[0];
  const extent_t written = extent_of(out);
  for (int i = 1; i < job->operand_count; i++) {
    const extent_t read = extent_of(&job->operands[i]);
    if (read.low < written.high && written.low < read.high &&
        !is_same_place(out, &job->operands[i]))
      return true;
  }
  return false;
}

/* The dimensions that are more than one element, those that the output goes farthest in first. */
static int32_t sort_dimensions(const cpu_view_t* out, bool in_order, int32_t* order) {
  int32_t rank = 0;
  for (int32_t d = 0; d < out->rank; d++) {
    if (out->sizes[d] == 1) continue;
    int32_t at = rank++;
    for (; at > 0 && !in_order && llabs(out->strides[order[at - 1]]) < llabs(out->strides[d]); at--)
      order[at] = order[at - 1];
    order[at] = d;
  }
  return rank;
}

/* Whether dimension `d` of the operands goes on where the outermost of the space ends. */
static bool goes_on(const space_t* space, const cpu_view_t* operands, int32_t d) {
  const int32_t last = space->rank - 1;
  if (last < 0 || space->in_order) return false;
  for (int i = 0; i < space->operands; i++)
    if (operands[i].strides[d] != space->strides[last][i] * space->sizes[last]) return false;
  return true;
}

static void add_dimension(space_t* space, int64_t size) {
  space->sizes[space->rank] = size;
  for (int i = 0; i < space->operands; i++)
    space->strides[space->rank][i] = 0;
  space->rank++;
}

static void make_space(const cpu_job_t* job, space_t* space) {
  int32_t order[CPU_MAX_RANK];
  const cpu_view_t* operands = job->operands;
  space->operands = job->operand_count;
  space->rank = 0;
  space->in_order = may_overlap(job);
  for (int32_t k = sort_dimensions(&operands[0], space->in_order, order) - 1; k >= 0; k--) {
    const int32_t d = order[k];
    if (goes_on(space, operands, d)) {
      space->sizes[space->rank - 1] *= operands[0].sizes[d];
      continue;
    }
    add_dimension(space, operands[0].sizes[d]);
    for (int i = 0; i < space->operands; i++)
      space->strides[space->rank - 1][i] = operands[i].strides[d];
  }
  while (space->rank < 2)
    add_dimension(space, 1);
}

/* Goes to the next plane of dimensions 0 and 1; false behind the last. */
static bool next_plane(const space_t* space, int64_t* index, char** at) {
  for (int32_t d = 2; d < space->rank; d++) {
    const bool ends = ++index[d] == space->sizes[d];
    const int64_t steps = ends ? 1 - space->sizes[d] : 1;
    for (int i = 0; i < space->operands; i++)
      at[i] += steps * space->strides[d][i];
    if (!ends) return true;
    index[d] = 0;
  }
  return false;
}

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

typedef struct walk {
  const cpu_job_t* job;
  space_t space;
  int64_t limit;
  cpu_block_fn compute;
  void* context;
} walk_t;

/* As many whole rows together as the limit allows, or parts of one. */
static void walk_plane(const walk_t* walk, char* const* at) {
  const space_t* space = &walk->space;
  const int64_t count = space->sizes[0], rows = space->sizes[1];
  const int64_t together = count < walk->limit && !space->in_order ? walk->limit / count : 1;
  cpu_block_t block;
  for (int i = 0; i < space->operands; i++) {
    block.steps[i] = space->strides[0][i];
    block.row_steps[i] = space->strides[1][i];
  }
  for (int64_t r = 0; r < rows; r += together)
    for (int64_t c = 0; c < count; c += walk->limit) {
      block.rows = lesser(together, rows - r);
      block.count = lesser(walk->limit, count - c);
      for (int i = 0; i < space->operands; i++)
        block.at[i] = at[i] + r * block.row_steps[i] + c * block.steps[i];
      walk->compute(walk->job, &block, walk->context);
      if (count - c <= walk->limit) break; /* the limit may be as large as a number is */
    }
}

void cpu_walk(const cpu_job_t* job, int64_t limit, cpu_block_fn compute, void* context) {
  walk_t walk = {.job = job, .limit = limit, .compute = compute, .context = context};
  char* at[CPU_OPERANDS_MOST];
  int64_t index[CPU_MAX_RANK] = {0};
  if (job->operands[0].count == 0) return;
  make_space(job, &walk.space);
  for (int i = 0; i < job->operand_count; i++)
    at[i] = job->operands[i].data;
  do
    walk_plane(&walk, at);
  while (next_plane(&walk.space, index, at));
}

/* Whether rows of an operand follow each other as its elements do. */
static bool is_one_row(const cpu_block_t* block, int operand) {
  return block->rows == 1 || block->row_steps[operand] == block->steps[operand] * block->count;
}

size_t cpu_block_load(const cpu_block_t* block, int operand, int64_t bytes, char* to) {
  const int64_t all = block->rows * block->count;
  const int64_t lanes = (int64_t)cpu_whole_lanes((size_t)all);
  const int64_t step = block->steps[operand];
  const char* at = block->at[operand];
  if (is_one_row(block, operand))
    cpu_row_load(to, at, step, all, bytes);
  else
    for (int64_t r = 0; r < block->rows; r++)
      cpu_row_load(to + r * block->count * bytes, at + r * block->row_steps[operand], step,
                   block->count, bytes);
  memset(to + all * bytes, 0, (size_t)((lanes - all) * bytes));
  return (size_t)lanes;
}

char* cpu_block_together(const cpu_block_t* block, int operand, int64_t bytes) {
  const bool whole = block->rows * block->count % CPU_LANE_STEP == 0;
  return whole && block->steps[operand] == bytes && is_one_row(block, operand) ? block->at[operand]
                                                                               : NULL;
}

void cpu_block_store(const cpu_block_t* block, int64_t bytes, const char* from) {
  if (is_one_row(block, 0)) {
    cpu_row_store(block->at[0], from, block->steps[0], block->rows * block->count, bytes);
    return;
  }
  for (int64_t r = 0; r < block->rows; r++)
    cpu_row_store(block->at[0] + r * block->row_steps[0], from + r * block->count * bytes,
                  block->steps[0], block->count, bytes);
}
