/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * routine_lane.c: what works along dimensions: lanes, and reductions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"

uint32_t sim_lane_dims(const sim_run_t* run, int64_t dim) {
  const int rank = run->in[0]->rank;
  uint32_t dims = 0;
  if (rank == 0) return 0;
  if (dim != LISTED) return UINT32_C(1) << (dim < 0 ? dim + rank : dim);
  if (run->call->lists == 0 || run->call->list[0].count == 0) return (UINT32_C(1) << rank) - 1;
  for (int i = 0; i < run->call->list[0].count; i++) {
    const int64_t one = run->call->list[0].items[i];
    dims |= UINT32_C(1) << (one < 0 ? one + rank : one);
  }
  return dims;
}

/* Where element `k` of lane `l` lies in dense values of these sizes. */
static int64_t place(const sim_argument_t* shape, uint32_t dims, int64_t l, int64_t k) {
  int64_t at = 0, step = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    int64_t* rest = dims >> d & 1 ? &k : &l;
    at += *rest % shape->sizes[d] * step;
    *rest /= shape->sizes[d];
    step *= shape->sizes[d];
  }
  return at;
}

static int64_t along(const sim_argument_t* shape, uint32_t dims) {
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++)
    if (dims >> d & 1) count *= shape->sizes[d];
  return count;
}

static bool run_lanes(sim_run_t* run, uint32_t dims, lane_routine_t routine, lane_t* lane,
                      sim_number_t* room, sim_number_t* const* mapped) {
  const sim_argument_t* space = run->in[0];
  const int64_t lanes = lane->count > 0 ? space->count / lane->count : run->out[0]->count;
  for (int64_t l = 0; l < lanes; l++) {
    for (int which = 0; which < 2; which++) {
      sim_number_t* values = room + which * lane->count;
      lane->in[which] = values;
      for (int64_t k = 0; mapped[which] != NULL && k < lane->count; k++)
        values[k] = mapped[which][place(space, dims, l, k)];
    }
    for (int i = 0; i < SIM_RESULTS; i++)
      lane->out[i] = room + 2 * lane->count + i * lane->length;
    if (!routine(lane)) return false;
    /* A result of one element per lane lies in the order of the lanes, with its dimensions or without. */
    for (int i = 0; i < run->results; i++)
      for (int64_t k = 0; k < lane->length; k++)
        run->to[i][lane->length == 1 ? l : place(run->out[i], dims, l, k)] = lane->out[i][k];
  }
  return true;
}

bool sim_lanes(sim_run_t* run, uint32_t dims, lane_routine_t routine) {
  const sim_argument_t* space = run->in[0];
  lane_t lane = {.count = along(space, dims), .call = run->call};
  if (sim_element_arithmetic(run->out[0]->dtype) == SIM_WHOLE) lane.arithmetic = SIM_WHOLE;
  lane.length =
      run->out[0]->count * lane.count == 0 ? 1 : run->out[0]->count / (space->count / lane.count);
  const bool has_second = run->inputs > 1 && run->from[1] != NULL;
  if (lane.length < 1 || (has_second && run->in[1]->count != space->count)) return false;
  sim_number_t* room =
      malloc(sizeof *room * (size_t)(2 * lane.count + SIM_RESULTS * lane.length + 1));
  sim_number_t* values = malloc(sizeof *values * (size_t)(space->count + 1));
  lane.order = malloc(sizeof *lane.order * (size_t)(2 * lane.count + 1));
  bool done = room != NULL && values != NULL && lane.order != NULL;
  if (done) {
    sim_number_t* const mapped[2] = {values, has_second ? run->from[1] : NULL};
    sim_run_formula(run, 0, run->from, space, space->count, values);
    done = run_lanes(run, dims, routine, &lane, room, mapped);
  }
  free(room);
  free(values);
  free(lane.order);
  return done;
}

/* ----------------------------------------------------------------------------------- reductions -- */

LANE_FOLD(sum, 0, sim_add(lane->arithmetic, folded, x), 0)
LANE_FOLD(prod, 1, sim_multiply(lane->arithmetic, folded, x), 0)
LANE_FOLD(max, lane->in[0][0], isnan(folded) || folded >= x ? folded : x, 0)
LANE_FOLD(min, lane->in[0][0], isnan(folded) || folded <= x ? folded : x, 0)

static bool lane_mean(const lane_t* lane) {
  lane_sum(lane);
  lane->out[0][0] /= (sim_number_t)lane->count;
  return true;
}

bool lane_logsumexp(const lane_t* lane) {
  sim_number_t sum = 0;
  lane_max(lane);
  const sim_number_t most = isfinite(lane->out[0][0]) ? lane->out[0][0] : 0;
  for (int64_t i = 0; i < lane->count; i++)
    sum += expl(lane->in[0][i] - most);
  lane->out[0][0] = most + logl(sum);
  return true;
}

static bool lane_norm(const lane_t* lane) {
  const sim_number_t order = isnan(lane->call->scalar[0]) ? 2 : lane->call->scalar[0];
  sim_number_t sum = 0;
  if (isinf(order)) return order > 0 ? lane_max(lane) : lane_min(lane);
  for (int64_t i = 0; i < lane->count; i++)
    sum += order == 0 ? lane->in[0][i] != 0 : powl(lane->in[0][i], order);
  lane->out[0][0] = order == 0 ? sum : powl(sum, 1 / order);
  return true;
}

/* The correction is the first whole number. */
static bool lane_var(const lane_t* lane) {
  sim_number_t sum = 0;
  lane_mean(lane);
  for (int64_t i = 0; i < lane->count; i++)
    sum += powl(lane->in[0][i] - lane->out[0][0], 2);
  const int64_t freedom = lane->count - lane->call->whole[0];
  lane->out[0][0] = sum / (sim_number_t)(freedom > 0 ? freedom : 0);
  return true;
}

static bool lane_std(const lane_t* lane) {
  lane_var(lane);
  lane->out[0][0] = sqrtl(lane->out[0][0]);
  return true;
}

static int64_t best(const lane_t* lane, bool largest) {
  int64_t at = 0;
  for (int64_t i = 1; i < lane->count; i++) {
    const sim_number_t x = lane->in[0][i], y = lane->in[0][at];
    if (!isnan(y) && (isnan(x) || (largest ? x > y : x < y))) at = i;
  }
  return at;
}

/* The value is left out where there is one result. */
static bool give_best(const lane_t* lane, bool largest, bool has_value) {
  const int64_t at = best(lane, largest);
  if (has_value) lane->out[0][0] = lane->in[0][at];
  lane->out[has_value][0] = (sim_number_t)at;
  return lane->count > 0;
}

#define BEST(name, ...)                         \
  static bool lane_##name(const lane_t* lane) { \
    return give_best(lane, __VA_ARGS__);        \
  }
BEST(argmax, true, false)
BEST(argmin, false, false)
BEST(max_at, true, true)
BEST(min_at, false, true)
#undef BEST

static bool lane_min_max(const lane_t* lane) {
  lane_max(lane);
  lane->out[1][0] = lane->out[0][0];
  return lane_min(lane) && lane->count > 0;
}

static bool lane_std_mean(const lane_t* lane) {
  lane_mean(lane);
  lane->out[1][0] = lane->out[0][0];
  return lane_std(lane);
}

/* ----------------------------------------------------------------------- by name, and where along -- */

ALONG(sum, LISTED)
ALONG(mean, LISTED)
ALONG(prod, run->call->wholes > 2 ? run->call->whole[0] : LISTED)
ALONG(max, LISTED)
ALONG(min, LISTED)
ALONG(logsumexp, LISTED)
ALONG(norm, LISTED)
ALONG(var, LISTED)
ALONG(std, LISTED)
ALONG(argmax, run->call->whole[0])
ALONG(argmin, run->call->whole[0])
ALONG(max_at, run->call->whole[0])
ALONG(min_at, run->call->whole[0])
ALONG(min_max, LISTED)
ALONG(std_mean, LISTED)
