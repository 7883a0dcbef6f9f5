/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * backend.h: the library: what the host passes in, what it gets, and the one exported symbol.
 */
#ifndef TBK_BACKEND_H
#define TBK_BACKEND_H

/* clang-format off */
#include <tbk/types.h>         /* status, error, handles, dtypes */
#include <tbk/device.h>        /* what a device says of itself */
#include <tbk/core.h>          /* mandatory: devices, memory, copies */
#include <tbk/stream.h>        /* optional, like all that follow: queues of work */
#include <tbk/event.h>         /* points in streams */
#include <tbk/callback.h>      /* calls of the host */
#include <tbk/pinned.h>        /* host memory for copies */
#include <tbk/peer.h>          /* copies between devices */
#include <tbk/async_memory.h>  /* memory in the order of a stream */
#include <tbk/kernel.h>        /* operators */
#include <tbk/random.h>        /* random numbers */
#include <tbk/fault.h>         /* faults on request, to show what is said about errors */
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

/* What a backend relies on and nobody has shown, it may say while it counts its devices: one sentence a
 * message, at TBK_LOG_INFO, behind this word. Hosts that judge show it beside their verdict. */
#define TBK_LOG_UNVERIFIED "unverified: "

enum { TBK_LOG_DEBUG = 0, TBK_LOG_INFO = 1, TBK_LOG_WARNING = 2, TBK_LOG_ERROR = 3 };

/* What the host offers. Lives until the instance is destroyed. */
typedef struct tbk_host {
  size_t struct_size;
  uint64_t abi_version;                                           /* TBK_ABI_VERSION of the host */
  void* context;                                                  /* handed back to `log` */
  void (*log)(void* context, int32_t level, const char* message); /* any thread; may be NULL */
  const char* options; /* "key=value,key=value", the backend's own keys; may be NULL */
} tbk_host_t;

/* What the backend offers. The first five members are never NULL or 0, but for `instance`. */
typedef struct tbk_backend {
  size_t struct_size;
  uint64_t abi_version; /* TBK_ABI_VERSION of the backend */
  const char* name;     /* what torch.device() will call it: [a-z][a-z_]{0,30} */
  const char* version;  /* of the backend, for people */
  const tbk_core_t* core;
  tbk_instance_t* instance; /* passed back as the first argument of every call; may be NULL */
  const tbk_stream_ops_t* stream;
  const tbk_event_ops_t* event;       /* needs stream */
  const tbk_callback_ops_t* callback; /* needs stream */
  const tbk_pinned_ops_t* pinned;
  const tbk_peer_ops_t* peer;
  const tbk_async_memory_ops_t* async_memory; /* needs stream */
  const tbk_kernel_ops_t* kernel;
  const tbk_random_ops_t* random;
  const tbk_fault_ops_t* fault; /* needs stream */
} tbk_backend_t;

/**
 * Create an instance of the backend: the one exported symbol, TBK_ENTRY_SYMBOL.
 * Requires:  host and out_backend != NULL; else INVALID (checked).                    [LIB-001]
 * Requires:  host->struct_size covers `options` or more; else INVALID (checked).      [LIB-002]
 * Requires:  host->abi_version is one that the backend knows; else UNSUPPORTED (checked). [LIB-003]
 * Requires:  every key of host->options is known to the backend; else INVALID (checked). [LIB-004]
 * Ensures:   the table has name, version, ABI version and ten core functions.         [LIB-005]
 * Ensures:   instances are independent, from first use to destruction.                [LIB-006]
 * Ensures:   nothing starts: no device opened, no thread or process created, fork stays safe. [LIB-007]
 * Ensures:   host->log may be NULL, and so may host->options.                         [LIB-008]
 * Ordering:  host-synchronous, in less than a second.                                 [LIB-009]
 * Threads:   any thread, concurrently with every other call.                          [THR-001]
 * Ownership: the instance owns *out_backend; core->destroy ends both.                 [LIB-010]
 * Errors:    a failure puts its reason, terminated, into error unless that is NULL.   [ERR-008]
 * On error:  out parameters are not written and nothing else has changed.             [ERR-001]
 * Since:     0
 */
TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error);

typedef tbk_status_t (*tbk_backend_create_fn)(const tbk_host_t* host,
                                              const tbk_backend_t** out_backend,
                                              tbk_error_t* error);

#ifdef __cplusplus
}
#endif

#endif /* TBK_BACKEND_H */
