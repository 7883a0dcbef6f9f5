/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * options.h: the command line of tbk-run.
 */
#ifndef TBK_HARNESS_OPTIONS_H
#define TBK_HARNESS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tbk_timings;

typedef enum tbk_exit {
  TBK_EXIT_PASS = 0,
  TBK_EXIT_FINDINGS = 1,
  TBK_EXIT_USAGE = 2,
  TBK_EXIT_NOTHING = 3,
  TBK_EXIT_LIBRARY = 4,
  TBK_EXIT_DEVICE = 5,
  TBK_EXIT_SUITE = 6,
  TBK_EXIT_INTERRUPTED = 7,
  TBK_EXIT_RESULTS = 8
} tbk_exit_t;

typedef enum tbk_isolation {
  TBK_ISOLATION_AUTO = 0,
  TBK_ISOLATION_FORK,
  TBK_ISOLATION_BATCH
} tbk_isolation_t;

typedef enum tbk_tier { TBK_TIER_QUICK = 0, TBK_TIER_THOROUGH } tbk_tier_t;

typedef struct tbk_words {
  const char** items;
  size_t count;
} tbk_words_t;

typedef struct tbk_options {
  const char* library;       /* as given; of the torch layer: what the device is, if it is a file */
  char* path;                /* absolute where it has a slash, so that a worker may chdir */
  bool torch;                /* judge a device of PyTorch, by the contracts of the torch layer */
  const char* torch_device;  /* NULL: the one that the library registers */
  tbk_words_t torch_imports; /* modules that make PyTorch know it */
  const char* python;        /* the interpreter that has PyTorch */
  const char* declared;      /* file with the capabilities that the vendor declares; NULL */
  tbk_words_t only;          /* empty: everything */
  tbk_words_t backend_options; /* "key=value" each */
  char* backend_option_text;   /* joined by commas; NULL for none */
  tbk_words_t require;
  const char* output;
  uint32_t jobs; /* 0: as the machine has cores */
  uint32_t shard_index, shard_count;
  bool is_sharded;                   /* --shard was given, be it 1/1 */
  const char* timings_path;          /* NULL: shards take one test after the other */
  const struct tbk_timings* timings; /* what is in it; else NULL */
  const char* phases;                /* file that is told of each phase; NULL */
  uint32_t repeat;
  bool shuffle;
  uint64_t shuffle_seed;
  uint64_t seed;
  bool resume;
  bool list;
  bool check_options; /* and nothing else */
  bool quiet;
  tbk_isolation_t isolation;
  tbk_tier_t tier;
  const char* sweep_case;   /* NULL: all */
  uint64_t timeout_ns;      /* of one test; with a budget, at most a tenth of that */
  uint64_t load_timeout_ns; /* the same without regard to a budget */
  bool cut_by_budget;
  uint64_t open_timeout_ns;
  uint32_t most_hangs;
  uint64_t budget_ns;         /* 0: none; else no test begins later than this after the start */
  uint64_t failing_budget_ns; /* 0: the same; else what it is once a test has failed */
  uint64_t memory_limit;      /* bytes, resident, of one test process */
  int argc;
  char** argv;
} tbk_options_t;

/* "quick" or "thorough". */
const char* tbk_tier_name(tbk_tier_t tier);

/* Returns what is judged, as a person would name it. */
const char* tbk_options_subject(const tbk_options_t* options);

/* Exits with TBK_EXIT_USAGE where the command line can't be understood. */
void tbk_options_parse(tbk_options_t* options, int argc, char** argv);

#endif /* TBK_HARNESS_OPTIONS_H */
