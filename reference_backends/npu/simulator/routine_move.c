/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * routine_move.c: what gives elements another place: flips, padding, lists of tensors, indices.
 */
#include <string.h>

#include "element.h"
#include "routine.h"

typedef struct place {
  int64_t at[EMIT_MAX_RANK];
} place_t;

static place_t place_of(const sim_argument_t* shape, int64_t index) {
  place_t place = {{0}};
  for (int d = shape->rank - 1; d >= 0; d--) {
    place.at[d] = index % shape->sizes[d];
    index /= shape->sizes[d];
  }
  return place;
}

static int64_t index_of(const sim_argument_t* shape, const place_t* place) {
  int64_t index = 0;
  for (int d = 0; d < shape->rank; d++)
    index = index * shape->sizes[d] + place->at[d];
  return index;
}

/* A tensor without dimensions is taken as one of one element. */
static int dim_of(int64_t dim, int rank) {
  return rank == 0 ? 0 : (int)(dim < 0 ? dim + rank : dim);
}

static int64_t size_along(const sim_argument_t* shape, int dim) {
  return shape->rank == 0 ? 1 : shape->sizes[dim];
}

/* Where the element for a place of the result comes from; false where it comes from nowhere. */
typedef bool (*origin_t)(const sim_run_t* run, place_t* place);

static bool move(sim_run_t* run, origin_t origin, sim_number_t otherwise) {
  const sim_argument_t *in = run->in[0], *out = run->out[0];
  for (int64_t i = 0; i < out->count; i++) {
    place_t place = place_of(out, i);
    run->to[0][i] = origin(run, &place) ? run->from[0][index_of(in, &place)] : otherwise;
  }
  return true;
}

static bool origin_flip(const sim_run_t* run, place_t* place) {
  for (int k = 0; k < run->call->list[0].count; k++) {
    const int d = dim_of(run->call->list[0].items[k], run->in[0]->rank);
    place->at[d] = run->in[0]->sizes[d] - 1 - place->at[d];
  }
  return true;
}

static int64_t wrapped(int64_t index, int64_t size) {
  return (index % size + size) % size;
}

/* Without dimensions, the elements are rolled as one row. */
static bool origin_roll(const sim_run_t* run, place_t* place) {
  const sim_argument_t* in = run->in[0];
  if (run->call->list[1].count == 0)
    *place = place_of(in, wrapped(index_of(in, place) - run->call->list[0].items[0], in->count));
  for (int k = 0; k < run->call->list[1].count; k++) {
    const int d = dim_of(run->call->list[1].items[k], in->rank);
    place->at[d] = wrapped(place->at[d] - run->call->list[0].items[k], in->sizes[d]);
  }
  return true;
}

static bool origin_repeat(const sim_run_t* run, place_t* place) {
  const place_t from = *place;
  const int more = run->out[0]->rank - run->in[0]->rank;
  for (int d = 0; d < run->in[0]->rank; d++)
    place->at[d] = from.at[d + more] % run->in[0]->sizes[d];
  return true;
}

/* What stands before the first element of a dimension: pairs, the last dimension first. */
static int64_t before(const sim_run_t* run, int d) {
  const int pair = 2 * (run->in[0]->rank - 1 - d);
  return pair < run->call->list[0].count ? run->call->list[0].items[pair] : 0;
}

static bool origin_inside(const sim_run_t* run, place_t* place) {
  bool inside = true;
  for (int d = 0; d < run->in[0]->rank; d++) {
    place->at[d] -= before(run, d);
    inside = inside && place->at[d] >= 0 && place->at[d] < run->in[0]->sizes[d];
  }
  return inside;
}

static bool origin_reflected(const sim_run_t* run, place_t* place) {
  (void)origin_inside(run, place);
  for (int d = 0; d < run->in[0]->rank; d++) {
    const int64_t last = run->in[0]->sizes[d] - 1, at = place->at[d];
    place->at[d] = at < 0 ? -at : at > last ? 2 * last - at : at;
  }
  return true;
}

static bool origin_nearest(const sim_run_t* run, place_t* place) {
  (void)origin_inside(run, place);
  for (int d = 0; d < run->in[0]->rank; d++) {
    const int64_t last = run->in[0]->sizes[d] - 1, at = place->at[d];
    place->at[d] = at < 0 ? 0 : at > last ? last : at;
  }
  return true;
}

static bool origin_scaled(const sim_run_t* run, place_t* place) {
  for (int d = 0; d < run->in[0]->rank; d++)
    place->at[d] = place->at[d] * run->in[0]->sizes[d] / run->out[0]->sizes[d];
  return true;
}

SIM_ROUTINE(flip, move(run, origin_flip, 0))
SIM_ROUTINE(roll, move(run, origin_roll, 0))
SIM_ROUTINE(repeat, move(run, origin_repeat, 0))
SIM_ROUTINE(nearest, move(run, origin_scaled, 0))
SIM_ROUTINE(pad_constant, move(run, origin_inside, run->call->scalar[0]))
SIM_ROUTINE(pad_reflect, move(run, origin_reflected, 0))
SIM_ROUTINE(pad_replicate, move(run, origin_nearest, 0))

/* -------------------------------------------------------------------------------- lists of tensors -- */

bool sim_cat(sim_run_t* run) {
  const sim_argument_t* out = run->out[0];
  const int dim = dim_of(run->call->whole[0], out->rank);
  int64_t begin = 0;
  for (int k = 0; k < run->inputs; k++) {
    const sim_argument_t* in = run->in[k];
    if (in->rank == 1 && in->count == 0) continue; /* the old empty tensor fits everywhere */
    for (int64_t i = 0; i < in->count; i++) {
      place_t place = place_of(in, i);
      place.at[dim] += begin;
      run->to[0][index_of(out, &place)] = run->from[k][i];
    }
    begin += in->sizes[dim];
  }
  return true;
}

bool sim_stack(sim_run_t* run) {
  const sim_argument_t* out = run->out[0];
  const int dim = dim_of(run->call->whole[0], out->rank);
  for (int64_t i = 0; i < out->count; i++) {
    place_t place = place_of(out, i);
    const int64_t k = place.at[dim];
    memmove(&place.at[dim], &place.at[dim + 1],
            sizeof *place.at * (size_t)(EMIT_MAX_RANK - 1 - dim));
    run->to[0][i] = run->from[k][index_of(run->in[k], &place)];
  }
  return true;
}

/* ---------------------------------------------------------------------------------------- indices -- */

/* Counts from the end where it is negative; false where it names nothing: then what is read is NaN, and nothing
 * is written. */
static bool resolve(sim_number_t value, int64_t size, int64_t* out) {
  *out = (int64_t)value;
  if (*out < 0) *out += size;
  return *out >= 0 && *out < size;
}

/* Which element of the index stands for a place: that at the same place, or of a row of indices, that of `dim`. */
typedef enum spread { EACH, ROW } spread_t;

static sim_number_t index_at(const sim_run_t* run, spread_t spread, int64_t i, const place_t* place,
                             int dim) {
  return run->from[1][spread == ROW ? place->at[dim] : i];
}

static bool pick(sim_run_t* run, spread_t spread) {
  const sim_argument_t *in = run->in[0], *out = run->out[0];
  const int dim = dim_of(run->call->whole[0], in->rank);
  for (int64_t i = 0; i < out->count; i++) {
    place_t place = place_of(out, i);
    const sim_number_t index = index_at(run, spread, i, &place, dim);
    const bool is_there = resolve(index, size_along(in, dim), &place.at[dim]);
    run->to[0][i] = is_there ? run->from[0][index_of(in, &place)] : sim_absent;
  }
  return true;
}

SIM_ROUTINE(gather, pick(run, EACH))
SIM_ROUTINE(index_select, pick(run, ROW))

/* Of rows of a width, those that the indices name, one after another. */
static bool look_up(sim_run_t* run, int64_t rows, int64_t width) {
  for (int64_t i = 0; width > 0 && i < run->out[0]->count; i++) {
    int64_t at;
    const bool is_there = resolve(run->from[1][i / width], rows, &at);
    run->to[0][i] = is_there ? run->from[0][at * width + i % width] : sim_absent;
  }
  return true;
}

SIM_ROUTINE(take, look_up(run, run->in[0]->count, 1))
SIM_ROUTINE(embedding,
            look_up(run, run->in[0]->sizes[0], run->in[0]->rank == 2 ? run->in[0]->sizes[1] : 0))

/* The rows of the gradient are added to those that were looked up; that of the padding gets none. */
bool sim_embedding_backward(sim_run_t* run) {
  const int64_t width = run->out[0]->sizes[1], padding = run->call->whole[1];
  for (int64_t i = 0; i < run->in[0]->count; i++) {
    int64_t at;
    if (!resolve(run->from[1][i / width], run->out[0]->sizes[0], &at)) continue;
    if (at != padding) run->to[0][at * width + i % width] += run->from[0][i];
  }
  return true;
}

/* Puts values of the third input, or the first scalar, into a copy of the first; over the elements of `space`. */
static bool put(sim_run_t* run, const sim_argument_t* space, spread_t spread, bool adds,
                sim_number_t factor) {
  const sim_argument_t* out = run->out[0];
  const sim_arithmetic_t kind = sim_element_arithmetic(out->dtype);
  const int dim = dim_of(run->call->whole[0], out->rank);
  memcpy(run->to[0], run->from[0], sizeof *run->to[0] * (size_t)out->count);
  for (int64_t i = 0; i < space->count; i++) {
    place_t place = place_of(space, i);
    const sim_number_t index = index_at(run, spread, i, &place, dim);
    const sim_number_t value =
        run->inputs > 2 ? run->from[2][index_of(run->in[2], &place)] : run->call->scalar[0];
    if (!resolve(index, size_along(out, dim), &place.at[dim])) continue;
    sim_number_t* to = &run->to[0][index_of(out, &place)];
    *to = adds ? sim_add(kind, *to, sim_multiply(kind, factor, value)) : value;
  }
  return true;
}

SIM_ROUTINE(scatter, put(run, run->in[1], EACH, false, 1))
SIM_ROUTINE(scatter_add, put(run, run->in[1], EACH, true, 1))
SIM_ROUTINE(index_add, put(run, run->in[2], ROW, true, run->call->scalar[0]))

/* Boundaries ascend. The place of a value among them; out_int32, right. */
bool sim_bucketize(sim_run_t* run) {
  const bool right = run->call->whole[1] != 0;
  for (int64_t i = 0; i < run->out[0]->count; i++) {
    int64_t at = 0;
    const sim_number_t value = run->from[0][i];
    while (at < run->in[1]->count && (right ? run->from[1][at] <= value : run->from[1][at] < value))
      at++;
    run->to[0][i] = (sim_number_t)at;
  }
  return true;
}

/* -------------------------------------------------------------------------------------- other sizes -- */

/* Whether an element of the input counts for a place of the result. */
static bool counts(const sim_run_t* run, const place_t* from, const place_t* to) {
  for (int d = 0; d < run->in[0]->rank; d++) {
    const int64_t in = run->in[0]->sizes[d], out = run->out[0]->sizes[d];
    const int64_t begin = to->at[d] * in / out, end = ((to->at[d] + 1) * in + out - 1) / out;
    if (from->at[d] < begin || from->at[d] >= end) return false;
  }
  return true;
}

bool sim_adaptive_mean(sim_run_t* run) {
  for (int64_t i = 0; i < run->out[0]->count; i++) {
    const place_t to = place_of(run->out[0], i);
    sim_number_t sum = 0, count = 0;
    for (int64_t k = 0; k < run->in[0]->count; k++) {
      const place_t from = place_of(run->in[0], k);
      if (!counts(run, &from, &to)) continue;
      sum += run->from[0][k];
      count++;
    }
    run->to[0][i] = sum / count;
  }
  return true;
}
