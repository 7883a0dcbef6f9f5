/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * routine_order.c: along dimensions, what depends on the order of elements, or gives as many: sorting, softmax, scans.
 */
#include <math.h>
#include <string.h>

#include "lane.h"

/* --------------------------------------------------------------------------------------- sorting -- */

/* NaN is greater than any number. */
static bool is_less(sim_number_t x, sim_number_t y) {
  return isnan(y) ? !isnan(x) : x < y;
}

/* Merges two ordered runs; of equal elements that of the first run comes first. */
static void merge(const lane_t* lane, bool descending, const int64_t* from, int64_t* to,
                  const int64_t ends[3]) {
  int64_t left = ends[0], right = ends[1];
  for (int64_t k = ends[0]; k < ends[2]; k++) {
    bool takes_right = left == ends[1];
    if (!takes_right && right < ends[2]) {
      const sim_number_t x = lane->in[0][from[left]], y = lane->in[0][from[right]];
      takes_right = descending ? is_less(x, y) : is_less(y, x);
    }
    to[k] = takes_right ? from[right++] : from[left++];
  }
}

static int64_t at_most_count(int64_t place, int64_t count) {
  return place < count ? place : count;
}

static void order(const lane_t* lane, bool descending) {
  const int64_t count = lane->count;
  int64_t *from = lane->order, *to = from + count;
  for (int64_t i = 0; i < count; i++)
    from[i] = i;
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t ends[] = {begin, at_most_count(begin + width, count),
                              at_most_count(begin + 2 * width, count)};
      merge(lane, descending, from, to, ends);
    }
    int64_t* other = from;
    from = to;
    to = other;
  }
  if (from != lane->order) memcpy(lane->order, from, sizeof *from * (size_t)count);
}

/* Sort takes stable, dim, descending; topk takes k, dim, largest, sorted. */
static bool lane_ordered(const lane_t* lane) {
  const bool descending = lane->call->whole[2] != 0;
  order(lane, descending);
  for (int64_t i = 0; i < lane->length && i < lane->count; i++) {
    lane->out[0][i] = lane->in[0][lane->order[i]];
    lane->out[1][i] = (sim_number_t)lane->order[i];
  }
  return lane->length <= lane->count;
}

static bool give_place(const lane_t* lane, int64_t rank) {
  order(lane, false);
  int64_t at = lane->order[rank];
  for (int64_t i = 0; i < lane->count; i++)
    if (isnan(lane->in[0][i])) at = i;
  lane->out[0][0] = lane->in[0][at];
  lane->out[1][0] = (sim_number_t)at;
  return true;
}

static bool lane_median(const lane_t* lane) {
  return lane->count > 0 && give_place(lane, (lane->count - 1) / 2);
}

static bool lane_kth(const lane_t* lane) {
  const int64_t k = lane->call->whole[0];
  return k > 0 && k <= lane->count && give_place(lane, k - 1);
}

/* ----------------------------------------------------------------------------- softmax and scans -- */

static bool lane_log_softmax(const lane_t* lane) {
  lane_logsumexp(lane);
  const sim_number_t total = lane->out[0][0];
  for (int64_t i = 0; i < lane->count; i++)
    lane->out[0][i] = lane->in[0][i] - total;
  return true;
}

static bool lane_softmax(const lane_t* lane) {
  lane_log_softmax(lane);
  for (int64_t i = 0; i < lane->count; i++)
    lane->out[0][i] = expl(lane->out[0][i]);
  return true;
}

static bool lane_softmax_backward(const lane_t* lane) {
  sim_number_t sum = 0;
  for (int64_t i = 0; i < lane->count; i++)
    sum += lane->in[0][i] * lane->in[1][i];
  for (int64_t i = 0; i < lane->count; i++)
    lane->out[0][i] = lane->in[1][i] * (lane->in[0][i] - sum);
  return true;
}

static bool lane_log_softmax_backward(const lane_t* lane) {
  sim_number_t sum = 0;
  for (int64_t i = 0; i < lane->count; i++)
    sum += lane->in[0][i];
  for (int64_t i = 0; i < lane->count; i++)
    lane->out[0][i] = lane->in[0][i] - expl(lane->in[1][i]) * sum;
  return true;
}

LANE_FOLD(cumsum, 0, sim_add(lane->arithmetic, folded, x), i)
LANE_FOLD(cumprod, 1, sim_multiply(lane->arithmetic, folded, x), i)

static bool cumulate(const lane_t* lane, bool largest) {
  int64_t at = 0;
  for (int64_t i = 0; i < lane->count; i++) {
    const sim_number_t x = lane->in[0][i], y = lane->in[0][at];
    if (isnan(x) || (!isnan(y) && (largest ? x >= y : x <= y))) at = i;
    lane->out[0][i] = lane->in[0][at];
    lane->out[1][i] = (sim_number_t)at;
  }
  return true;
}

static bool lane_cummax(const lane_t* lane) {
  return cumulate(lane, true);
}

static bool lane_cummin(const lane_t* lane) {
  return cumulate(lane, false);
}

/* ----------------------------------------------------------------------- by name, and where along -- */

ALONG(median, run->call->wholes > 0 ? run->call->whole[0] : LISTED)
ALONG(kth, run->call->whole[1])
ALONG(softmax, run->call->whole[0])
ALONG(log_softmax, run->call->whole[0])
ALONG(softmax_backward, run->call->whole[0])
ALONG(log_softmax_backward, run->call->whole[0])
ALONG(cumsum, run->call->whole[0])
ALONG(cumprod, run->call->scalars > 0 ? (int64_t)run->call->scalar[0] : run->call->whole[0])
ALONG(cummax, run->call->whole[0])
ALONG(cummin, run->call->whole[0])
ALONG_AS(sort, ordered, run->call->whole[1])
ALONG_AS(topk, ordered, run->call->whole[1])
