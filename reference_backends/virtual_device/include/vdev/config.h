/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * config.h: what kind of devices a machine has, and how a face reads it from a text.
 */
#ifndef VDEV_CONFIG_H
#define VDEV_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/*
 * Who runs work: a thread for each queue; one thread that takes each choice from the seed; or, with
 * each choice from the seed too, whoever enqueues, asks or waits.
 */
enum { VDEV_THREADS, VDEV_SEEDED, VDEV_CALLER };

/* What runs when. */
enum {
  VDEV_FIFO,      /* each stream is a queue, in order */
  VDEV_LAZY,      /* nothing runs until it, or what waits for it, is asked for */
  VDEV_ONE_QUEUE, /* the streams of a device share one queue */
  VDEV_SHUFFLED,  /* queues are served in a strict order that changes now and then; needs a seed */
  VDEV_INLINE,    /* whoever enqueues runs it before the call returns */
};

typedef struct vdev_config {
  uint64_t devices;
  vdev_arena_config_t arena; /* of each device */
  uint64_t scheduler;        /* VDEV_THREADS or VDEV_SEEDED */
  uint64_t policy;           /* VDEV_FIFO ... VDEV_INLINE */
  uint64_t seed;             /* of the scheduler and of delay_us */
  uint64_t delay_us;         /* each piece of work is delayed by a random time up to this */
  uint64_t open_ms;          /* how long an open takes */
  uint64_t events;           /* most live events of a device */
  uint64_t pinned_bytes;     /* most bytes that are pinned at one time */
  uint64_t pinned_blocks;    /* most blocks of them */
  uint64_t sticky;           /* every fault is VDEV_FAULT_STICKY */
  char exclusive[256];       /* a path: one process at a time may open a device; or empty */
} vdev_config_t;

/* One key of a text: a number, or one of some words. */
typedef struct vdev_option {
  const char* key;
  size_t member; /* offset of a uint64_t */
  uint64_t least, most;
  const char* words; /* the values' names, in order, each ended by '|'; NULL: a number */
  bool power_of_two;
} vdev_option_t;

/* Keys that only a face knows, and the struct that their members are of. */
typedef struct vdev_own_options {
  const vdev_option_t* options;
  size_t count;
  void* values;
} vdev_own_options_t;

/* Returns two devices of 256 MiB each, with threads and no limit but memory. */
vdev_config_t vdev_config_default(void);

/*
 * Reads "key=value,key=value" over what `config` and `own` hold already. Numbers may end in K, M or G.
 * Requires: `bad` has 64 bytes. `own` may be NULL; its keys go before those of the same name.
 * Ensures: what is read fits together: memory in whole pages, and VDEV_SHUFFLED has its scheduler.
 * Ownership: nothing of `text` is kept. Threads: any.
 * Errors: false, with the item in `bad`, at an unknown key or what is no value for it; `config` and
 * `own` may then hold a part.
 */
bool vdev_config_parse(vdev_config_t* config, const vdev_own_options_t* own, const char* text,
                       char* bad);

#endif /* VDEV_CONFIG_H */
