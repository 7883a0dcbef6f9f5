/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tables.h: what a program makes of a few coordinates alone, computed once a launch. A window's places
 * along one dimension are the same for each row, so that tiles take them from a table; a load at such
 * places is a table of offsets, and goes row by row.
 */
#ifndef TBK_CPU_TABLES_H
#define TBK_CPU_TABLES_H

#include "frame.h"

enum { TABLES_MOST = 24 };

/* Which dimensions the tiles of a frame go through, and which stay meanwhile. */
typedef enum tables_walk {
  TABLES_OUTER,  /* the outer ones; there are no others */
  TABLES_ACROSS, /* the outer ones; the inner ones stay */
  TABLES_ALONG   /* the inner ones; the outer ones stay */
} tables_walk_t;

/* Values of a step, or, where there is an access, how far from its beginning those are that the step's
 * values are indices of. */
typedef struct table {
  int32_t step;
  int32_t next; /* of the same step, or -1 */
  uint8_t coordinates;
  const access_t* access;
  int32_t dimension; /* of the access */
  uint16_t bounds;
  int64_t element_bytes;
  int64_t count;
  int64_t strides[SPACE_RANK]; /* in elements; 0 where it does not depend on the coordinate */
  int32_t row;                 /* the last dimension of a tile that it depends on, or -1 */
  int64_t run;                 /* so many lanes have the same */
  bool is_even;                /* offsets: what is not outside lies together, in equal steps */
  int64_t even_step;
  char* data;
} table_t;

/* Returned by a table of offsets where there is no element. */
#define TABLE_OUTSIDE INT64_MIN

/* How a step is run. */
enum { STEP_RUNS, STEP_RESTS, STEP_SPREADS, STEP_GATHERS };

struct tables {
  uint8_t kinds[TBK_PROGRAM_MOST_INSTRUCTIONS];
  int8_t first[TBK_PROGRAM_MOST_INSTRUCTIONS]; /* table of a step that spreads or gathers */
  int8_t made[TBK_PROGRAM_MOST_INSTRUCTIONS];  /* first table that holds what a step gives, or -1 */
  int32_t count;
  table_t tables[TABLES_MOST];
  int32_t walked_first, walked_rank, fixed_first, fixed_rank;
  int64_t walked_count, fixed_count;
  int32_t row; /* the last dimension of more than one place that tiles go through */
};

/* Returns the size of what tables_make needs; 0 where no step is worth a table. */
size_t tables_bytes(const code_t* code, const space_t* space, tables_walk_t walk);
/* Gives a frame that was begun its tables, in that much memory; with none it runs without. */
void tables_make(frame_t* frame, const space_t* space, tables_walk_t walk, size_t lanes,
                 char* memory);

/* spread.c: what tables hold for the lanes of a tile. */
void table_spread(const table_t* table, const tile_t* tile, void* buffer);
void tables_gather(const tables_t* tables, const table_t* first, const tile_t* tile,
                   const access_t* access, void* buffer);

#endif /* TBK_CPU_TABLES_H */
