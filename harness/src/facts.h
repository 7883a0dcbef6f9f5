/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * facts.h: what the preflight found out about a library and its device, before any test.
 */
#ifndef TBK_HARNESS_FACTS_H
#define TBK_HARNESS_FACTS_H

#include "contract.h"
#include "launcher.h"
#include "options.h"

#include <jansson.h>

typedef struct tbk_facts {
  json_t* backend;          /* name, version, abi_version; NULL where it did not get that far */
  json_t* devices;          /* array of objects */
  json_t* unverified;       /* array of sentences, of the backend's own */
  json_t* capabilities;     /* word: bool */
  json_t* capability_notes; /* word: text, where a probe has something to tell; or NULL */
  tbk_need_set_t held;      /* of the C layer, the same as a set */
  bool warm; /* of the torch layer: a process may fork after it has imported the device's module */
  tbk_gate_kind_t gate;
  int wait_blocks;
  uint64_t open_ns;
  uint64_t import_ns; /* of the torch layer: of the modules that make PyTorch know the device */
  bool exclusive;
  uint32_t jobs;        /* tests at a time; 0: not known yet */
  bool sound;           /* the health probe succeeded before any test */
  char health[256];     /* why not */
  tbk_exit_t exit_code; /* PASS, or why no test can run */
  char reason[1024];    /* in one line */
} tbk_facts_t;

/* Makes an order for tests, with what was found. */
void tbk_facts_order(const tbk_facts_t* facts, tbk_order_t* order, const uint32_t* items,
                     uint32_t count);

/* Returns whether a device of the run says that it is simulated: no flag of ours decides that. */
bool tbk_facts_simulated(const tbk_facts_t* facts);

#endif /* TBK_HARNESS_FACTS_H */
