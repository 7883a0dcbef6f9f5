/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic.h: a launch of tbk::pointwise, tbk::reduce or tbk::scan, as a job that refers to nothing of the caller's.
 */
#ifndef TBK_CPU_GENERIC_H
#define TBK_CPU_GENERIC_H

#include "fold.h"
#include "tables.h"

struct cpu_generic {
  kernel_code_t* code;
  size_t set_count;
  space_t* spaces;
  size_t lanes, levels;
  bool scans, reversed; /* tbk::scan */
  char* scratch;        /* NULL where only shapes are asked about */
  size_t frame_bytes;   /* of that; tables lie behind */
  size_t table_bytes[3];
};

/* Returns how the tiles of a part go through a space. */
tables_walk_t generic_walk(const cpu_generic_t* generic, const space_t* space, int part);
/* Returns where the tables of a part lie; NULL where it has none. */
char* generic_tables(const cpu_generic_t* generic, int part);

/* What may be done to the spaces of a program, of a reduction, or of a scan. */
space_rules_t generic_rules(const kernel_code_t* code, bool scans);

/* pointwise.c, reduce.c, scan.c: the bytes of scratch memory that a launch needs, and its work. */
size_t pointwise_bytes(const cpu_generic_t* generic);
void pointwise_compute(const cpu_generic_t* generic);
/* Returns whether rows are long, and nothing depends on where an element lies. */
bool strips_fit(const code_t* code, const space_t* space);
/* Computes such a space row by row. */
void strips_compute(const frame_t* frame, const space_t* space, size_t lanes);
size_t reduce_bytes(cpu_generic_t* generic); /* sets levels too */
void reduce_compute(const cpu_generic_t* generic);
/* Whether the lanes of a tile are elements of the inner space: there are many of them, and they lie together. */
bool reduce_goes_along(const cpu_generic_t* generic, const space_t* space);
size_t scan_bytes(const cpu_generic_t* generic);
void scan_compute(const cpu_generic_t* generic);
/* Makes the last dimension the inner space, and turns it round. */
void scan_turn(space_t* space, bool reversed);

#endif /* TBK_CPU_GENERIC_H */
