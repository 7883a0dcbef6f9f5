/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shell.c: see shell.h.
 */
#include "shell.h"

#include "text.h"

#include <string.h>

void tbk_shell_add(char* out, size_t size, const char* word) {
  size_t used = strlen(out);
  if (word[0] != '\0' && strspn(word,
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./,:@%") == strlen(word)) {
    tbk_print(out + used, size - used, "%s%s", used ? " " : "", word);
    return;
  }
  tbk_print(out + used, size - used, "%s'", used ? " " : "");
  for (; *word != '\0' && (used = strlen(out)) + 6 < size; word++)
    tbk_print(out + used, size - used, *word == '\'' ? "'\\''" : "%c", *word);
  used = strlen(out);
  tbk_print(out + used, size - used, "'");
}

void tbk_shell_option(char* out, size_t size, const char* name, const char* value) {
  if (value == NULL) return;
  tbk_shell_add(out, size, name);
  tbk_shell_add(out, size, value);
}
