/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * forward.h: what the hostile libraries share: a reference backend behind each, and the options that
 * are for it.
 */
#ifndef TBK_HOSTILE_FORWARD_H
#define TBK_HOSTILE_FORWARD_H

#include <stdbool.h>

#include <tbk/tbk.h>

/* What goes to the reference backend. */
typedef struct forward {
  char options[1024];
  tbk_host_t host;
} forward_t;

/* Returns the entry of a library that lies one folder up: lib/hostile/this, lib/NAME. NULL: none. */
tbk_backend_create_fn forward_entry(const char* name);

/* Returns whether `host` reaches as far as its options. */
bool forward_can_read(const tbk_host_t* host);

/* Copies `host`, without the options that `take` has taken. */
void forward_begin(forward_t* forward, const tbk_host_t* host, bool (*take)(const char* part));

#endif /* TBK_HOSTILE_FORWARD_H */
