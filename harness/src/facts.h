/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * facts.h: what the preflight found out about a library and its device, before any test.
 */
#ifndef TBK_HARNESS_FACTS_H
#define TBK_HARNESS_FACTS_H

#include "contract.h"
#include "options.h"

#include <jansson.h>

typedef struct tbk_facts {
  json_t* backend;      /* name, version, abi_version; NULL where it did not get that far */
  json_t* devices;      /* array of objects */
  json_t* capabilities; /* word: bool */
  uint64_t held;        /* the same as a mask */
  tbk_gate_kind_t gate;
  int wait_blocks;
  uint64_t open_ns;
  bool exclusive;
  bool sound;           /* the health probe succeeded before any test */
  char health[256];     /* why not */
  tbk_exit_t exit_code; /* PASS, or why no test can run */
  char reason[768];     /* in one line */
} tbk_facts_t;

#endif /* TBK_HARNESS_FACTS_H */
