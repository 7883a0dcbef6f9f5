/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sure.c: decision 99 says why it is computed so.
 */
#include "sure.h"

#include <math.h>

/* What some processes have is asked about at so many edges that each would be expected to see it so often:
   what one process can hardly see is no matter of how many have it. */
#define SEEN_BY_EACH 4.0
#define Z 1.645 /* 95 %, one side */

static sure_process_t sum_of(const sure_process_t* processes, size_t count) {
  sure_process_t sum = {0};
  for (size_t i = 0; i < count; i++) {
    sum.tried += processes[i].tried;
    sum.shown += processes[i].shown;
  }
  return sum;
}

/* How many programs are worth as much as one that is independent of all others: the variance between
   processes by that of a binomial distribution, and never below 1. */
static double design_effect(const sure_process_t* processes, size_t count, sure_process_t sum) {
  const double n = (double)sum.tried, p = (double)sum.shown / n;
  if (count < 2 || p <= 0 || p >= 1) return 1;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    const double rest = (double)processes[i].shown - p * (double)processes[i].tried;
    squares += rest * rest;
  }
  const double between = squares * (double)count / (double)(count - 1);
  return fmax(1, between / (n * p * (1 - p)));
}

/* Wilson's interval. */
double sure_rate(const sure_process_t* processes, size_t count) {
  const sure_process_t sum = sum_of(processes, count);
  if (sum.shown == 0) return 0;
  const double z = Z, p = (double)sum.shown / (double)sum.tried;
  const double n = (double)sum.tried / design_effect(processes, count, sum);
  const double spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return (p + z * z / (2 * n) - spread) / (1 + z * z / n);
}

/* The upper end (95 %) of how far rates of processes are from each other: their variance, by the square
   of their mean. Each process tells it by the square of its distance from what it should have shown,
   weighted by how well it can tell; whether they agree says how well it is known. */
static double spread_of_rates(const sure_process_t* processes, size_t count, sure_process_t sum) {
  const double p = (double)sum.shown / (double)sum.tried;
  double told = 0, weights = 0, noise = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    const double mean = p * (double)processes[i].tried, rest = (double)processes[i].shown - mean;
    if (mean <= 0) continue;
    const double weight = 1 / (mean + 2 * mean * mean);
    told += weight * (rest * rest - mean * (1 - p));
    weights += weight * mean * mean;
    noise += weight;
  }
  const double found = told / weights;
  for (size_t i = 0; i < count; i++) {
    const double mean = p * (double)processes[i].tried, rest = (double)processes[i].shown - mean;
    if (mean <= 0) continue;
    const double weight = 1 / (mean + 2 * mean * mean);
    const double own = weight * (rest * rest - mean * (1 - p) - found * mean * mean);
    squares += own * own;
  }
  return fmax(0, found) + Z * sqrt(fmax(noise, squares)) / weights;
}

/* A share of processes in which all of it shows, and none in the others: of all distributions of rates
   with this mean and spread the one by which most is missed. */
static double visible_share(const sure_process_t* processes, size_t count, sure_process_t sum) {
  return count < 2 ? 1 : 1 / (1 + spread_of_rates(processes, count, sum));
}

/* The logarithm of the chance that nothing is seen, where a fault that all processes have would be
   expected to be seen so many times. */
static double log_miss(const sure_process_t* processes, size_t count, double sightings,
                       double share) {
  const sure_process_t sum = sum_of(processes, count);
  const double visible = sum.shown > 0 ? visible_share(processes, count, sum) : 0;
  double log_sum = 0;
  for (size_t i = 0; i < count && visible > 0; i++) {
    const double own = sightings * (double)processes[i].tried / (double)sum.tried;
    log_sum += log1p(share * visible * expm1(-own / visible));
  }
  return log_sum;
}

double sure_miss(const sure_process_t* processes, size_t count, uint64_t programs, double share,
                 double one_in) {
  const double sightings = (double)programs * sure_rate(processes, count) / one_in;
  return exp(log_miss(processes, count, sightings, share));
}

sure_t sure_of(const sure_process_t* processes, size_t count, uint64_t programs, double miss) {
  const double sightings = (double)programs * sure_rate(processes, count);
  sure_t sure = {.one_in = floor(sightings / -log(miss)), .share = 1};
  const double seen_by_each = sightings / (double)count / SEEN_BY_EACH;
  sure.share_one_in = floor(fmin(sure.one_in, fmax(1, seen_by_each)));
  if (sure.one_in < 1) return (sure_t){.share = 1};
  for (double low = 0; sure.share - low > 1e-4;) {
    const double middle = (low + sure.share) / 2;
    if (log_miss(processes, count, sightings / sure.share_one_in, middle) <= log(miss))
      sure.share = middle;
    else
      low = middle;
  }
  return sure;
}
