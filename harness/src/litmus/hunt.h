/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hunt.h: worker processes that run programs, and what they leave in memory that the parent sees.
 */
#ifndef TBK_HARNESS_LITMUS_HUNT_H
#define TBK_HARNESS_LITMUS_HUNT_H

#include "coverage.h"
#include "execute.h"

typedef enum hunt_state {
  HUNT_STARTING, /* loading, opening */
  HUNT_RUNNING,
  HUNT_FOUND, /* `program` and `result` say what */
  HUNT_OVER,  /* nothing was found in what was asked for */
  HUNT_BAD_LIBRARY,
  HUNT_NO_DEVICE,
  HUNT_NOTHING_TO_ORDER, /* no streams, or no events */
  HUNT_INTERRUPTED
} hunt_state_t;

/* Of one kind of edge. */
typedef struct hunt_edge {
  uint64_t programs; /* that had such an edge, of those that were looked at for one */
  uint64_t tried;    /* programs that were looked at for one */
  uint64_t controls; /* that ran without it */
  uint64_t shown;    /* and saw what the edge forbids */
} hunt_edge_t;

typedef struct hunt_stats {
  uint64_t programs, controls, calls, looks, no_room;
  uint64_t polls, polls_not_ready;
  uint64_t found; /* findings, where the run goes on after them */
  hunt_edge_t edges[LITMUS_EDGES];
  litmus_coverage_t coverage;
} hunt_stats_t;

/* Programs `first` to `last`, until one shows something or the time is over. */
typedef struct hunt_range {
  uint64_t first, last;
  uint64_t until_ns;
  uint64_t slice_ns; /* of the time once the device is open; 0: all until then */
  bool counts;       /* goes on after a finding */
  bool coverage;     /* counts which pairs of edges there are */
} hunt_range_t;

enum { HUNT_PATH = 4096, HUNT_OPTIONS = 2048 };
/* What a worker is to do, as it finds it after exec. */
typedef struct hunt_job {
  char library[HUNT_PATH], options[HUNT_OPTIONS]; /* where it is not PyTorch that runs programs */
  uint64_t seed;
  unsigned repeats; /* of one program; 0: it is `range` that is asked for */
  hunt_range_t range;
} hunt_job_t;

typedef struct hunt_shared {
  int fd; /* of this memory */
  hunt_job_t job;
  litmus_progress_t progress;
  volatile int32_t state;
  volatile uint64_t index;  /* of the program that runs */
  volatile uint64_t ran_ns; /* how long programs of the range ran */
  volatile uint32_t runs;   /* of one program, so far */
  volatile int32_t is_control;
  volatile int32_t is_between; /* a program runs that is not asked for: its end says nothing */
  volatile int32_t executor;   /* the process that PyTorch runs in; 0: none yet */
  volatile int32_t awaited;    /* its end is yet to be told */
  volatile int32_t in_gate;    /* it is within calls of the gate, which is none of the device's */
  bool gate;                   /* it holds streams */
  litmus_offers_t offers;
  litmus_program_t program;
  litmus_result_t result;
  hunt_stats_t stats;
  char reason[512];
} hunt_shared_t;

enum { HUNT_IMPORTS = 16 };
typedef struct hunt_subject {
  bool torch;         /* through PyTorch: a device, or a library by way of the bridge */
  const char* python; /* that PyTorch is installed for */
  const char* device; /* NULL: the one that the library registers */
  const char* imports[HUNT_IMPORTS];
  unsigned import_count;
  const char* library; /* or NULL */
  const char* gate;    /* or NULL: a library as of tbk/gate.h */
  const char* options; /* or NULL */
  uint64_t seed;
  double open_timeout_s, call_timeout_s;
} hunt_subject_t;

/* Runs a range in a worker. What died or hung in a call is `found`, too. */
hunt_state_t hunt_range(const hunt_subject_t* subject, const hunt_range_t* range,
                        hunt_shared_t* shared);
/* The same, and goes on after what it finds: how often a fault shows. */
hunt_state_t hunt_count(const hunt_subject_t* subject, const hunt_range_t* range,
                        hunt_shared_t* shared);
/* Runs one program, up to `repeats` times with others between, until it shows something, and no more
   once that time is over. */
hunt_state_t hunt_one(const hunt_subject_t* subject, const litmus_program_t* program,
                      unsigned repeats, uint64_t until_ns, hunt_shared_t* shared);

/* Memory that a worker shares with its parent; ends the process where there is none. */
hunt_shared_t* hunt_share(void);
/* What a process does that was started as a worker, with that memory as `fd`. */
_Noreturn void hunt_serve(int fd);
/* Words of the command that starts such a process; those of no user. */
#define HUNT_WORKER "--worker"
/* A signal came that ends the run. */
extern volatile int hunt_interrupted;

#endif /* TBK_HARNESS_LITMUS_HUNT_H */
