/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * list.c: tbk-mutants prints the tables as JSON lines, one row each, for the kill matrix; those
 * of rare.c only when they are asked for.
 */
#include <stdio.h>
#include <string.h>

#include "wrap.h"

/* Names and notes are ours: plain ASCII in which only quotes and backslashes need care. */
static void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    putchar(*text);
  }
  putchar('"');
}

static void print_row(const mutant_t* row, const char* kind) {
  printf("{\"name\":");
  print_text(row->name);
  printf(",\"clause\":");
  if (row->clause == NULL) {
    printf("null");
  } else {
    print_text(row->clause);
  }
  printf(",\"kind\":\"%s\",\"operator\":\"%s\",\"narrow\":%s,\"note\":", kind,
         mutant_operator_name(row->operation), row->narrow ? "true" : "false");
  print_text(row->note);
  printf("}\n");
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : NULL;
  if (argc > 2 || (kind != NULL && kind[0] == '-')) {
    fprintf(stderr, "usage: %s [mutant|anti|cheat|pair|frozen|rare]\n", argv[0]);
    return 2;
  }
  for (size_t t = 0; mutant_tables[t] != NULL; ++t) {
    for (const mutant_t* row = mutant_tables[t]; row->name != NULL; ++row) {
      const char* its = t < mutant_first_frozen ? mutant_kind_name(row->kind) : "frozen";
      const bool asked = kind == NULL ? row->kind != RARE : strcmp(kind, its) == 0;
      if (asked) print_row(row, its);
    }
  }
  return 0;
}
