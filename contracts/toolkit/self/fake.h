/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fake.h: a backend inside this program, on host memory, with faults that a test of the contract
 * library can switch on.
 */
#ifndef TBK_SELF_FAKE_H
#define TBK_SELF_FAKE_H

#include <stdbool.h>

#include "resources.h"

typedef enum fake_callbacks {
  FAKE_NO_CALLBACKS,
  FAKE_INLINE,   /* run in callback_enqueue */
  FAKE_WAITING,  /* run on another thread, and callback_enqueue waits for the end */
  FAKE_ONE_QUEUE /* run on another thread; all streams wait for it */
} fake_callbacks_t;

typedef struct fake_settings {
  fake_callbacks_t callbacks;
  bool with_streams;
  bool overruns;         /* copies write one byte too many */
  bool overruns_host;    /* downloads write one byte too many */
  bool fails_to_free;    /* memory_free answers FAILED */
  bool fails_to_settle;  /* device_synchronize answers FAILED */
  bool fails_to_open;    /* device_open answers FAILED */
  bool waits_in_uploads; /* an upload to a stream waits for its callbacks */
} fake_settings_t;

extern fake_settings_t fake;
extern int fake_live; /* memory, streams and events that were not given back */
tbk_status_t fake_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                         tbk_error_t* error);
/* Returns a session with the fake, as `settings` say. */
tbk_session_t fake_session(fake_settings_t settings);

#endif /* TBK_SELF_FAKE_H */
