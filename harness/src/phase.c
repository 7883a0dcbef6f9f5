/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * phase.c: see phase.h. The file is open for no longer than a line takes, so that no worker has it.
 */
#include "phase.h"

#include <stdio.h>

void tbk_phase_tell(const tbk_options_t* options, const char* phase) {
  FILE* file = options->phases != NULL ? fopen(options->phases, "ae") : NULL;
  if (file == NULL) return;
  (void)fprintf(file, "%s\n", phase);
  (void)fclose(file);
}
