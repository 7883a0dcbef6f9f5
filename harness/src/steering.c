/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * steering.c: see steering.h.
 */
#include "steering.h"

#include "shell.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* TBK_<NAME>_SIMULATOR, as recorded.py has it. */
static bool steers(const char* variable) {
  static const char begins[] = "TBK_", ends[] = "_SIMULATOR";
  const size_t head = sizeof begins - 1, tail = sizeof ends - 1;
  const size_t length = strspn(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return length > head + tail && variable[length] == '=' && variable[length + 1] != '\0' &&
         strncmp(variable, begins, head) == 0 && strncmp(variable + length - tail, ends, tail) == 0;
}

const char* tbk_steering_next(const char* last) {
  char** variable = environ;
  if (variable == NULL) return NULL;
  while (last != NULL && *variable != NULL && *variable++ != last) {
  }
  while (*variable != NULL && !steers(*variable))
    variable++;
  return *variable;
}

void tbk_steering_add(char* out, size_t size) {
  const char* variable = tbk_steering_next(NULL);
  if (variable != NULL) tbk_shell_add(out, size, "env");
  for (; variable != NULL; variable = tbk_steering_next(variable))
    tbk_shell_add(out, size, variable);
}
