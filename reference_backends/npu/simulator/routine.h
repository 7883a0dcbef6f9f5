/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * routine.h: what computes results where a formula for each element cannot say it. Each is a sim_routine_t.
 */
#ifndef SIM_ROUTINE_H
#define SIM_ROUTINE_H

#include "function.h"

/* X(name): sim_<name>, the word before ':' in a meaning */
/* clang-format off */
#define SIM_ROUTINES(X) \
  X(pointwise) X(each) X(loss) X(loss_backward) X(sum) X(mean) X(prod) X(max) X(min) \
  X(logsumexp) X(norm) X(std) X(var) X(argmax) X(argmin) X(max_at) X(min_at) X(min_max) \
  X(std_mean) X(median) X(kth) X(softmax) X(log_softmax) X(softmax_backward) \
  X(log_softmax_backward) X(cumsum) X(cumprod) X(cummax) X(cummin) X(sort) X(topk) X(layer_norm) \
  X(flip) X(roll) X(repeat) X(pad_constant) X(pad_reflect) X(pad_replicate) X(cat) X(stack) \
  X(gather) X(index_select) X(embedding) X(take) X(scatter) X(scatter_add) X(index_add) \
  X(embedding_backward) X(bucketize) X(nearest) X(adaptive_mean) X(matmul) X(addmatmul) X(glu) \
  X(glu_backward)
/* clang-format on */

#define SIM_DECLARE_ROUTINE(name) bool sim_##name(sim_run_t* run);
SIM_ROUTINES(SIM_DECLARE_ROUTINE)
#undef SIM_DECLARE_ROUTINE

/* Defines one that is said in an expression of `run`. */
#define SIM_ROUTINE(name, value)    \
  bool sim_##name(sim_run_t* run) { \
    return (value);                 \
  }

#endif /* SIM_ROUTINE_H */
