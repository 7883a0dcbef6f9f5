/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * session.h: one use of the backend from beginning to end, whatever fails in between.
 */
#ifndef TBK_OPENCL_TESTS_SESSION_H
#define TBK_OPENCL_TESTS_SESSION_H

#include <stdbool.h>
#include <tbk/tbk.h>

typedef tbk_status_t (*session_create_fn)(const tbk_host_t*, const tbk_backend_t**, tbk_error_t*);

typedef struct session {
  const tbk_backend_t* backend;
  tbk_instance_t* self;
  tbk_error_t error;
  char told[4096];      /* errors and warnings, one after the other */
  char wrong[256];      /* what no driver's error excuses; empty where nothing is */
  int32_t device_count; /* and nothing more is done where there is none */
} session_t;

/* Uses every table of the backend; kernels too, where they are asked for. */
void session_run(session_t* session, session_create_fn create, const char* options, bool kernels);

#endif /* TBK_OPENCL_TESTS_SESSION_H */
