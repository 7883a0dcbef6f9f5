/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * lane.h: what works along dimensions. A lane is what lies along them at one place of the others.
 */
#ifndef SIM_LANE_H
#define SIM_LANE_H

#include "element.h"
#include "routine.h"

#define LISTED INT64_MAX /* the dimensions of the list; without one, all */

/* A lane of each of two inputs, of `count` elements, and what comes of it, of `length`. */
typedef struct lane {
  const sim_number_t* in[2];
  int64_t count;
  sim_number_t* out[SIM_RESULTS];
  int64_t length;
  const sim_call_t* call;
  sim_arithmetic_t arithmetic; /* of sums and products: SIM_WIDE or SIM_WHOLE */
  int64_t* order;              /* room for twice `count` places */
} lane_t;

typedef bool (*lane_routine_t)(const lane_t* lane);

/* Returns dimensions as a set of bits: one, or LISTED. */
uint32_t sim_lane_dims(const sim_run_t* run, int64_t dim);

/* Runs the routine on each lane of the values of the formula; the second input, where there is one, is as large. */
bool sim_lanes(sim_run_t* run, uint32_t dims, lane_routine_t routine);

/* Defines a routine by its name, what it does with a lane, and the dimension. */
#define ALONG_AS(name, lane, dim) \
  SIM_ROUTINE(name, sim_lanes(run, sim_lane_dims(run, dim), lane_##lane))
#define ALONG(name, dim) ALONG_AS(name, name, dim)

/* Defines what folds a lane, one `x` after another, into its result at a place: one for all, or one for each. */
#define LANE_FOLD(name, first, step, place)          \
  static bool lane_##name(const lane_t* lane) {      \
    sim_number_t folded = lane->out[0][0] = (first); \
    for (int64_t i = 0; i < lane->count; i++) {      \
      const sim_number_t x = lane->in[0][i];         \
      lane->out[0][place] = folded = (step);         \
    }                                                \
    return true;                                     \
  }

bool lane_logsumexp(const lane_t* lane);

#endif /* SIM_LANE_H */
