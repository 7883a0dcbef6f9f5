/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * alone.h: the file of a finding, and whether it shows the fault where nothing ran before.
 */
#ifndef TBK_HARNESS_LITMUS_ALONE_H
#define TBK_HARNESS_LITMUS_ALONE_H

#include "report.h"

enum { ALONE_INCLUDES = 2 };
/* Who gives a finding less time to be made smaller has its file not tried. */
enum { ALONE_LEAST_S = 1 };

/* Where the file goes, and what trying it takes. */
typedef struct alone_place {
  const char* path;
  const char* includes[ALONE_INCLUDES]; /* of a C file: folders of its headers; none: not tried */
  unsigned include_count;
  bool tries;
} alone_place_t;

/* Adds a folder of headers; returns false where there are too many. */
bool alone_include(alone_place_t* place, const char* folder);
/* Writes the file, runs it, and notes in the finding how often it showed the fault. Returns false where
   it could not be written. */
bool alone_write(const hunt_subject_t* subject, const litmus_offers_t* offers,
                 const alone_place_t* place, finding_t* finding);

/* Removes the file of an earlier run's finding; what is no file stays. */
void alone_remove(const char* path);

#endif /* TBK_HARNESS_LITMUS_ALONE_H */
