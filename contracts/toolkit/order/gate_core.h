/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * gate_core.h: the part of a gate that its callback sees. It is on the heap, because a test that
 * leaves early takes its stack along while the device still holds the callback.
 */
#ifndef TBK_CONTRACTS_GATE_CORE_H
#define TBK_CONTRACTS_GATE_CORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fixture.h"

struct tbk_gate_core {
  atomic_int opened;
  atomic_int entered;   /* the callback is running */
  atomic_int left;      /* the callback has returned */
  atomic_int expired;   /* nobody opened it */
  atomic_int enqueuing; /* `caller` is in callback_enqueue */
  atomic_int inlined;   /* the callback ran in that call */
  pthread_t caller;
  atomic_int armed; /* the callback was enqueued */
  int reported;
  tbk_stream_t* stream;
};

struct tbk_gate_core* tbk_gate_core_new(tbk_fixture_t* fx);
tbk_status_t tbk_gate_core_enqueue(tbk_fixture_t* fx, struct tbk_gate_core* core,
                                   tbk_stream_t* stream);

#endif /* TBK_CONTRACTS_GATE_CORE_H */
