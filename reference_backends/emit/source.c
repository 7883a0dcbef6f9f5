/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * source.c: the generic kernels as backends see them.
 */
#include <stdlib.h>
#include <string.h>

#include "generic.h"

static tbk_status_t check(const emit_generic_t* generic, const void* arguments,
                          tbk_error_t* error) {
  size_t struct_size = 0;
  if (arguments != NULL) memcpy(&struct_size, arguments, sizeof struct_size);
  if (generic == NULL || struct_size < generic->arguments_bytes)
    return emit_fail(error, TBK_INVALID, "no kernel, no arguments, or their struct_size too small");
  return generic->check(arguments, error);
}

tbk_status_t emit_generic_launches(const emit_generic_t* generic, const void* arguments,
                                   const emit_limits_t* limits, emit_launch_t** out_launches,
                                   size_t* out_count, tbk_error_t* error) {
  tbk_status_t status = check(generic, arguments, error);
  *out_launches = NULL;
  *out_count = 0;
  if (status != TBK_OK || generic->set_count(arguments) == 0) return status;
  const size_t count = generic->set_count(arguments);
  emit_launch_t* launches = calloc(count, sizeof *launches);
  if (launches == NULL) return emit_fail(error, TBK_OUT_OF_MEMORY, "no host memory for launches");
  for (size_t i = 0; i < count && status == TBK_OK; i++) {
    launches[i].hash = launches[0].hash;
    status = generic->launch(arguments, i, limits, &launches[i], error);
  }
  if (status != TBK_OK) {
    free(launches);
    return status;
  }
  *out_launches = launches;
  *out_count = count;
  return TBK_OK;
}

char* emit_generic_source(const emit_generic_t* generic, const void* arguments,
                          const emit_launch_t* launch, const char* prelude) {
  char* text = NULL;
  size_t size;
  FILE* out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  fputs(prelude, out);
  generic->write(arguments, &launch->class, out);
  const bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}

uint64_t emit_generic_workspace(const emit_launch_t* launches, size_t count) {
  uint64_t most = 0;
  for (size_t i = 0; i < count; i++)
    if (launches[i].workspace_bytes > most) most = launches[i].workspace_bytes;
  return most;
}

bool emit_generic_has_double(const emit_generic_t* generic, const void* arguments) {
  return generic->has_double(arguments);
}
