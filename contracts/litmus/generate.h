/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generate.h: programs drawn at random.
 */
#ifndef TBK_LITMUS_GENERATE_H
#define TBK_LITMUS_GENERATE_H

#include "model.h"

/* What the device offers; a program uses nothing else. Streams and events it must have. */
typedef struct litmus_offers {
  bool torch;       /* programs are PyTorch's */
  uint32_t devices; /* 1 or 2 */
  uint64_t granularity;
  uint64_t most_bytes;
  bool fill, kernel, pinned, callback, peer, async_memory, cross_device_wait;
  bool autograd;       /* of PyTorch */
  bool gradients;      /* likewise: those of several streams can be added up */
  bool cache;          /* likewise: that of its allocator can be emptied */
  uint32_t threads;    /* of the host */
  uint32_t threads_in; /* of so many programs one has more than one; 0: none */
  uint32_t parts_in;   /* of so many programs one has cells of several parts; 0: none */
  bool races;  /* threads need not take turns: of no use where a program is to end in one way */
  bool delays; /* callbacks that sleep let work pile up: of no use where callers run the work */
  uint32_t bytes_per_us; /* of PyTorch, where a delay is a long fill */
} litmus_offers_t;

/* Returns whether programs may have the operation. */
bool litmus_is_offered(const litmus_offers_t* offers, litmus_op_t op);

/* Draws program `index` of the sequence that `seed` stands for: the same one each time. `out_model` is
   its model as far as it has grown: all calls, with no poll answered OK, and without the end. */
void litmus_generate(litmus_program_t* program, const litmus_offers_t* offers, uint64_t seed,
                     uint64_t index, litmus_model_t* out_model);

#endif /* TBK_LITMUS_GENERATE_H */
