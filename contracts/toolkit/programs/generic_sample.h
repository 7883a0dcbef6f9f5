/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic_sample.h: a few small jobs of each generic kernel, for tests of what launches do to one another. Each
 * of them differs from another one of its kernel in a single thing that a key of a cache may forget.
 */
#ifndef TBK_CONTRACTS_GENERIC_SAMPLE_H
#define TBK_CONTRACTS_GENERIC_SAMPLE_H

#include "generic_call.h"
#include "tensor.h"

typedef struct generic_sample {
  const char* name;
  uint32_t version;
  size_t job_bytes;
  int forms;
  int32_t rank; /* the most that a form has */
  void (*make)(tbk_fixture_t* fx, void* job, int form);
  void (*ready)(tbk_fixture_t* fx, void* job);
  generic_call_t (*call)(void* job);
  bool (*check)(tbk_fixture_t* fx, void* job, tbk_here_t here);
  tensor_t* (*input)(void* job); /* one that is read, and not for indices */
} generic_sample_t;

/* All of INT64. */
extern const generic_sample_t generic_samples[];
extern const size_t generic_sample_count;

/* Returns whether the device offers the kernel, of such a rank. */
bool generic_sample_offered(const tbk_fixture_t* fx, const generic_sample_t* sample);
/* Returns a job, made and ready, which lives as long as the test or until room_release. */
void* generic_sample_make(tbk_fixture_t* fx, const generic_sample_t* sample, int form);
/* Describes the job and launches it. */
tbk_status_t generic_sample_launch(tbk_fixture_t* fx, const generic_sample_t* sample, void* job,
                                   tbk_stream_t* stream);

#endif /* TBK_CONTRACTS_GENERIC_SAMPLE_H */
