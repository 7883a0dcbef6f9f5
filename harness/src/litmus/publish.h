/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * publish.h: results grow in a file aside, and take the place of the last run's when they are whole.
 */
#ifndef TBK_HARNESS_LITMUS_PUBLISH_H
#define TBK_HARNESS_LITMUS_PUBLISH_H

#include <stdbool.h>
#include <stdio.h>

typedef struct publishing {
  const char* path;
  FILE* file; /* NULL: it could not be made, or has been closed */
  bool is_aside;
  char aside[4096];
} publishing_t;

/* Returns false with errno where no file can be made. */
bool publish_begin(publishing_t* results, const char* path);
/* Puts what was written in its place; false where some of it could not be written. */
bool publish_end(publishing_t* results);
/* The results of the last run stay, and whatever this run did not make. */
void publish_nothing(publishing_t* results);

#endif /* TBK_HARNESS_LITMUS_PUBLISH_H */
