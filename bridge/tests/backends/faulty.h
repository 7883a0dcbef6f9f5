/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faulty.h: a backend that hands every call on to another one, and fails the k-th call of the
 * function that it is told to. Chosen while it runs, by the exported functions below, because a
 * process has one backend. The backend behind it: option inner=PATH.
 */
#ifndef TBK_FAULTY_H
#define TBK_FAULTY_H

#include <stdbool.h>
#include <tbk/tbk.h>

/* X(table, function): every function that answers with a status. */
#define FAULTY_CALLS(X)           \
  X(core, device_open)            \
  X(core, device_close)           \
  X(core, memory_alloc)           \
  X(core, memory_free)            \
  X(core, upload)                 \
  X(core, download)               \
  X(core, copy)                   \
  X(core, fill)                   \
  X(core, memory_info)            \
  X(stream, stream_create)        \
  X(stream, stream_query)         \
  X(stream, stream_synchronize)   \
  X(stream, device_synchronize)   \
  X(stream, stream_native_handle) \
  X(stream, stream_from_native)   \
  X(event, event_create)          \
  X(event, event_record)          \
  X(event, event_wait)            \
  X(event, event_query)           \
  X(event, event_synchronize)     \
  X(event, event_elapsed)         \
  X(callback, callback_enqueue)   \
  X(pinned, pinned_alloc)         \
  X(peer, peer_can_access)        \
  X(peer, peer_copy)              \
  X(random, random_bits)          \
  X(kernel, launch)               \
  X(kernel, prepare)              \
  X(kernel, launch_plan)

enum {
#define FAULTY_ENUM(table, function) FAULTY_##function,
  FAULTY_CALLS(FAULTY_ENUM)
#undef FAULTY_ENUM
      FAULTY_COUNT
};

/* What is alive of what can be created and given back. */
typedef struct faulty_live {
  int64_t memory, streams, events, pinned, plans;
} faulty_live_t;

/* The name of call `index`, or NULL behind the last. */
TBK_EXPORT const char* faulty_name(int index);
/* Let the `at`-th call (1 is the next) of function `name` answer `status`, without effect; 0 lets
   all of them through. Starts all counts anew. False for a name that there is not. */
TBK_EXPORT bool faulty_arm(const char* name, uint64_t at, int32_t status);
/* Calls of `name` since faulty_arm. */
TBK_EXPORT uint64_t faulty_calls(const char* name);
TBK_EXPORT faulty_live_t faulty_live(void);

#endif /* TBK_FAULTY_H */
