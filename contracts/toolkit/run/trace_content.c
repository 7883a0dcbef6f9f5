/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trace_content.h"

#include <string.h>

#include <tbk/program.h>

static const struct {
  const char* name;
  uint16_t number;
} rows[] = {
#define X(name, number, operands, takes, gives, bound, meaning) {"opcode:" #name, number},
    TBK_OPCODE_MAP(X)
#undef X
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
  const char *kernel, *name;
  uint64_t flag;
} flags[] = {
    {TBK_NAME_sort, "flag:DESCENDING", TBK_SORT_DESCENDING},
    {TBK_NAME_sort, "flag:STABLE", TBK_SORT_STABLE},
    {TBK_NAME_scan, "flag:REVERSE", TBK_SCAN_REVERSE},
    {TBK_NAME_index, "flag:NEGATIVE", TBK_INDEX_NEGATIVE},
    {TBK_NAME_index, "flag:ORDERED", TBK_INDEX_ORDERED},
    {TBK_NAME_index, "flag:FLAT", TBK_INDEX_FLAT},
};
enum { FLAGS = sizeof flags / sizeof *flags };

const char* tbk_content_name(size_t row) {
  if (row < ROWS) return rows[row].name;
  return row < ROWS + FLAGS ? flags[row - ROWS].name : NULL;
}

static void note_program(const tbk_program_t* program, tbk_content_place_t place,
                         tbk_content_note_t note) {
  if (program == NULL || tbk_program_check(program, NULL) != TBK_OK) return;
  for (size_t i = 0; i < program->instruction_count; i++) {
    for (size_t row = 0; row < ROWS; row++) {
      if (rows[row].number == program->instructions[i].opcode) note(row, place);
    }
  }
}

static void note_reduction(const tbk_reduction_t* reduction, tbk_content_place_t place,
                           tbk_content_note_t note) {
  if (reduction == NULL || reduction->struct_size < sizeof *reduction) return;
  note_program(reduction->map, place, note);
  note_program(reduction->combine, place, note);
  note_program(reduction->finish, place, note);
}

#define IF_GIVEN(operator, member)                                                         \
  if (strcmp(kernel, TBK_NAME_##operator) == 0 && size >= sizeof(tbk_args_##operator##_t)) \
  return ((const tbk_args_##operator##_t*)arguments)->member
static uint64_t flags_of(const char* kernel, const void* arguments) {
  const size_t size = *(const size_t*)arguments;
  IF_GIVEN(sort, flags);
  IF_GIVEN(scan, flags);
  IF_GIVEN(index, flags);
  return 0;
}
static const tbk_program_t* program_of(const char* kernel, const void* arguments) {
  const size_t size = *(const size_t*)arguments;
  IF_GIVEN(pointwise, program);
  return NULL;
}
static const tbk_reduction_t* reduction_of(const char* kernel, const void* arguments) {
  const size_t size = *(const size_t*)arguments;
  IF_GIVEN(reduce, reduction);
  IF_GIVEN(scan, reduction);
  return NULL;
}
#undef IF_GIVEN

void tbk_content_of(const char* kernel, const void* arguments, tbk_content_note_t note) {
  if (arguments == NULL) return;
  const bool scans = strcmp(kernel, TBK_NAME_scan) == 0;
  note_program(program_of(kernel, arguments), TBK_CONTENT_PLAIN, note);
  note_reduction(reduction_of(kernel, arguments), scans ? TBK_CONTENT_SCAN : TBK_CONTENT_REDUCTION,
                 note);
  const uint64_t given = flags_of(kernel, arguments);
  for (size_t i = 0; i < FLAGS && given != 0; i++) {
    if (strcmp(flags[i].kernel, kernel) == 0 && (given & flags[i].flag) != 0)
      note(ROWS + i, TBK_CONTENT_PLAIN);
  }
}
