/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * parse.c: a program of its text (print.c says how it looks). Blank lines, and what stands behind a #,
 * say nothing. A line is taken apart into words; what the words mean together, tbk_program_check says.
 */
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "opcode.h"
#include "pool.h"
#include "text.h"

enum { MOST_WORDS = 24, WORD_BYTES = 24 };

typedef struct line {
  char words[MOST_WORDS][WORD_BYTES];
  size_t count, next;
  size_t number; /* from 1 */
  tbk_error_t* error;
} line_t;

#define WRONG(line, ...) (program_fail((line)->error, __VA_ARGS__), tell_line((line)), TBK_INVALID)

static void tell_line(const line_t* line) {
  program_fail_in(line->error, "line %zu: ", line->number);
}

/* -------------------------------------------------------------------------------------- words -- */

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* Takes a line apart; returns where the next one begins, NULL where a word or a line is too long. */
static const char* split(const char* at, line_t* line) {
  bool comment = false;
  line->count = line->next = 0;
  while (*at != '\0' && *at != '\n') {
    size_t length = strcspn(at, " \t\r\n#");
    if (*at == '#') comment = true;
    if (comment || is_space(*at)) {
      ++at;
      continue;
    }
    if (length >= WORD_BYTES || line->count == MOST_WORDS) return NULL;
    memcpy(line->words[line->count], at, length);
    line->words[line->count++][length] = '\0';
    at += length;
  }
  return *at == '\n' ? at + 1 : at;
}

/* Returns the next word, "" behind the last. */
static const char* word(line_t* line) {
  return line->next < line->count ? line->words[line->next++] : "";
}

/* Takes the next word if it is this one. */
static bool is_next(line_t* line, const char* wanted) {
  if (line->next == line->count || strcmp(line->words[line->next], wanted) != 0) return false;
  ++line->next;
  return true;
}

static bool whole_number(const char* text, uint64_t most, uint64_t* out_value) {
  uint64_t value = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || value > most) return false;
    value = 10 * value + (uint64_t)(*text - '0');
  }
  *out_value = value;
  return value <= most;
}

static bool hexadecimal(const char* text, uint64_t* out_value) {
  static const char digits[] = "0123456789abcdef";
  uint64_t value = 0;
  if (strncmp(text, "0x", 2) != 0 || text[2] == '\0' || strlen(text) > 18) return false;
  for (text += 2; *text != '\0'; ++text) {
    const char* digit = strchr(digits, *text);
    if (digit == NULL) return false;
    value = value << 4 | (uint64_t)(digit - digits);
  }
  *out_value = value;
  return true;
}

static bool take_dtype(line_t* line, uint16_t* out_dtype) {
  const char* name = word(line);
  for (uint16_t dtype = 0; dtype < TBK_DTYPE_LIMIT; ++dtype) {
    const char* known = program_dtype_name(dtype);
    if (known != NULL && strcmp(known, name) == 0) return *out_dtype = dtype, true;
  }
  return false;
}

/* Takes a value, "v12", whose number fits into 32 bits. */
static bool take_value(line_t* line, uint32_t* out_value) {
  const char* name = word(line);
  uint64_t value;
  if (name[0] != 'v' || !whole_number(name + 1, UINT32_MAX, &value)) return false;
  return *out_value = (uint32_t)value, true;
}

/* Takes a number that must be `count`, which counts items of an array that holds `most`. */
static bool take_index(line_t* line, size_t count, size_t most) {
  uint64_t index;
  return count < most && whole_number(word(line), most, &index) && index == count;
}

/* -------------------------------------------------------------------------------------- lines -- */

static tbk_status_t parse_input(program_pool_t* pool, line_t* line) {
  tbk_program_input_t* input = &pool->inputs[pool->program.input_count];
  uint64_t rank = 0;
  if (!take_index(line, pool->program.input_count, TBK_PROGRAM_MOST_INPUTS))
    return WRONG(line, "inputs are counted from 0, to %d at most", TBK_PROGRAM_MOST_INPUTS - 1);
  *input = (tbk_program_input_t){0, TBK_INPUT_ALIGNED, 0, 0};
  if (!take_dtype(line, &input->dtype)) return WRONG(line, "a dtype must stand here");
  if (is_next(line, "indexed")) {
    if (!whole_number(word(line), UINT16_MAX, &rank)) return WRONG(line, "a rank must stand here");
    input->kind = TBK_INPUT_INDEXED;
    input->rank = (uint16_t)rank;
  }
  ++pool->program.input_count;
  return TBK_OK;
}

static tbk_status_t parse_dtype(line_t* line, const char* what, uint16_t* dtypes, size_t* count,
                                size_t most) {
  if (!take_index(line, *count, most))
    return WRONG(line, "%s are counted from 0, to %zu at most", what, most - 1);
  if (!take_dtype(line, &dtypes[*count])) return WRONG(line, "a dtype must stand here");
  ++*count;
  return TBK_OK;
}

static tbk_status_t parse_result(program_pool_t* pool, line_t* line) {
  size_t* count = &pool->program.result_count;
  if (!take_index(line, *count, TBK_PROGRAM_MOST_RESULTS))
    return WRONG(line, "results are counted from 0, to %d at most", TBK_PROGRAM_MOST_RESULTS - 1);
  if (!take_value(line, &pool->results[*count])) return WRONG(line, "a value must stand here");
  ++*count;
  return TBK_OK;
}

static bool take_opcode(line_t* line, uint16_t* out_opcode) {
  const char* name = word(line);
  for (uint16_t opcode = 0; opcode < TBK_OPCODE_LIMIT; ++opcode) {
    const char* known = tbk_opcode_name(opcode);
    if (known != NULL && strcmp(known, name) == 0) return *out_opcode = opcode, true;
  }
  return false;
}

/* Takes "slot 1", "clamp" and "bits 0x10", each where it stands. */
static tbk_status_t parse_members(line_t* line, tbk_instruction_t* i) {
  uint64_t slot = 0;
  if (is_next(line, "slot")) {
    if (!whole_number(word(line), UINT16_MAX, &slot)) return WRONG(line, "a slot is a number");
    i->slot = (uint16_t)slot;
  }
  for (uint16_t bounds = 0; bounds <= TBK_BOUNDS_ZERO; ++bounds)
    if (is_next(line, program_bounds_names[bounds])) i->bounds = bounds;
  if (is_next(line, "bits") && !hexadecimal(word(line), &i->immediate))
    return WRONG(line, "bits are written 0x..., with lower case digits");
  return TBK_OK;
}

static tbk_status_t parse_operands(line_t* line, uint32_t* operands, uint32_t* out_count) {
  for (*out_count = 0; line->next < line->count; ++*out_count)
    if (!take_value(line, &operands[*out_count])) return WRONG(line, "a value must stand here");
  return TBK_OK;
}

static tbk_status_t parse_instruction(program_pool_t* pool, line_t* line, const char* name) {
  size_t index = pool->program.instruction_count;
  tbk_instruction_t i = {0};
  uint32_t operands[MOST_WORDS], operand_count = 0;
  uint64_t value;
  if (name[0] != 'v' || !whole_number(name + 1, UINT32_MAX, &value) || !is_next(line, "="))
    return WRONG(line, "'%s' begins no line of a program", name);
  if (value != index)
    return WRONG(line, "values are counted from 0, to %d at most",
                 TBK_PROGRAM_MOST_INSTRUCTIONS - 1);
  if (!take_opcode(line, &i.opcode)) return WRONG(line, "an opcode must stand here");
  if (!take_dtype(line, &i.dtype)) return WRONG(line, "a dtype must stand here");
  tbk_status_t status = parse_members(line, &i);
  if (status == TBK_OK) status = parse_operands(line, operands, &operand_count);
  if (status == TBK_OK && program_add(pool, i, operands, operand_count) == UINT32_MAX)
    return WRONG(line, "more instructions, or operands, than a program may have");
  return status;
}

static tbk_status_t parse_version(program_pool_t* pool, line_t* line) {
  if (pool->program.version != 0) return WRONG(line, "the version stands once");
  if (!whole_number(word(line), UINT32_MAX, &pool->program.version))
    return WRONG(line, "a version is a number");
  return TBK_OK;
}

static tbk_status_t parse_line(program_pool_t* pool, line_t* line) {
  tbk_program_t* p = &pool->program;
  tbk_status_t status;
  if (line->count == 0) return TBK_OK;
  const char* name = word(line);
  if (p->version == 0 && strcmp(name, "program") != 0)
    return WRONG(line, "a program begins with 'program %u'", TBK_PROGRAM_VERSION);
  if (strcmp(name, "program") == 0)
    status = parse_version(pool, line);
  else if (strcmp(name, "input") == 0)
    status = parse_input(pool, line);
  else if (strcmp(name, "number") == 0)
    status =
        parse_dtype(line, "numbers", pool->numbers, &p->number_count, TBK_PROGRAM_MOST_NUMBERS);
  else if (strcmp(name, "parameter") == 0)
    status = parse_dtype(line, "parameters", pool->parameters, &p->parameter_count,
                         TBK_PROGRAM_MOST_PARAMETERS);
  else if (strcmp(name, "result") == 0)
    status = parse_result(pool, line);
  else
    status = parse_instruction(pool, line, name);
  if (status == TBK_OK && line->next != line->count)
    return WRONG(line, "'%s' is too much", line->words[line->next]);
  return status;
}

static tbk_status_t parse_text(program_pool_t* pool, const char* text, tbk_error_t* error) {
  line_t line = {.error = error};
  tbk_status_t status = TBK_OK;
  program_pool_open(pool);
  pool->program.version = 0;
  while (status == TBK_OK && *text != '\0') {
    ++line.number;
    text = split(text, &line);
    if (text == NULL) return WRONG(&line, "a word, or the line, is too long");
    status = parse_line(pool, &line);
  }
  return status == TBK_OK ? tbk_program_check(&pool->program, error) : status;
}

static tbk_status_t no_memory(tbk_error_t* error) {
  program_fail(error, "no memory for a program");
  return TBK_OUT_OF_MEMORY;
}

tbk_status_t tbk_program_parse(const char* text, tbk_program_t** out_program, tbk_error_t* error) {
  *out_program = NULL;
  program_pool_t* pool = malloc(sizeof *pool);
  if (pool == NULL) return no_memory(error);
  tbk_status_t status = parse_text(pool, text, error);
  if (status == TBK_OK) {
    *out_program = tbk_program_copy(&pool->program);
    if (*out_program == NULL) status = no_memory(error);
  }
  free(pool);
  return status;
}
