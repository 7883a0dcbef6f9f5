/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * formula.c: formulas become steps of a stack machine, which work on a tile of elements at a time.
 */
#include "formula.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formula_steps.h"

/* Steps that take no operands; behind them the rows of formula_steps.c, and behind these the letters. */
typedef struct parser {
  const char* at;
  sim_formula_t* out;
  int depth, deepest;
  bool wrong;
} parser_t;

static void emit(parser_t* parser, int code, int operands, sim_number_t number) {
  if (parser->out->count == SIM_STEPS) parser->wrong = true;
  if (parser->wrong) return;
  parser->out->steps[parser->out->count++] = (sim_step_t){(uint8_t)code, number};
  parser->depth += 1 - operands;
  if (parser->depth > parser->deepest) parser->deepest = parser->depth;
  if (parser->deepest > SIM_DEPTH) parser->wrong = true;
}

static void skip_spaces(parser_t* parser) {
  while (*parser->at == ' ')
    parser->at++;
}

static bool accept(parser_t* parser, const char* token) {
  skip_spaces(parser);
  const size_t length = strlen(token);
  if (strncmp(parser->at, token, length) != 0) return false;
  if (isalpha((unsigned char)token[0]) && isalnum((unsigned char)parser->at[length])) return false;
  parser->at += length;
  return true;
}

static void call(parser_t* parser, const char* name) {
  const int code = sim_step_find(name, strlen(name));
  if (code < 0)
    parser->wrong = true;
  else
    emit(parser, code, sim_step_operands(code), 0);
}

static void expression(parser_t* parser, int level);

/* NAME(expression, ...) */
static void function(parser_t* parser, const char* name, size_t length) {
  const int code = sim_step_find(name, length);
  int given = 0;
  do {
    expression(parser, 0);
    given++;
  } while (!parser->wrong && accept(parser, ","));
  if (code < 0 || given != sim_step_operands(code) || !accept(parser, ")")) parser->wrong = true;
  if (!parser->wrong) emit(parser, code, given, 0);
}

static void name(parser_t* parser) {
  const char* begin = parser->at;
  while (isalnum((unsigned char)*parser->at))
    parser->at++;
  const size_t length = (size_t)(parser->at - begin);
  if (accept(parser, "(")) {
    function(parser, begin, length);
    return;
  }
  const int code = length == 1 ? SIM_STEP_LETTER + (begin[0] - 'a') : sim_step_find(begin, length);
  if (code < 0 || (length > 1 && sim_step_operands(code) != 0)) parser->wrong = true;
  if (!parser->wrong) emit(parser, code, 0, 0);
}

static void single(parser_t* parser) {
  skip_spaces(parser);
  if (accept(parser, "(")) {
    expression(parser, 0);
    if (!accept(parser, ")")) parser->wrong = true;
  } else if (isdigit((unsigned char)*parser->at)) {
    char* end;
    const sim_number_t number = strtold(parser->at, &end);
    parser->at = end;
    emit(parser, SIM_STEP_NUMBER, 0, number);
  } else if (islower((unsigned char)*parser->at)) {
    name(parser);
  } else {
    parser->wrong = true;
  }
}

static void sign(parser_t* parser);

static void power(parser_t* parser) {
  single(parser);
  if (!parser->wrong && accept(parser, "**")) {
    sign(parser);
    call(parser, "pow");
  }
}

static void sign(parser_t* parser) {
  if (!accept(parser, "-")) {
    power(parser);
    return;
  }
  sign(parser);
  call(parser, "neg");
}

/* The loosest bind at level 0; longer tokens stand before those that they begin with. */
static const struct {
  const char *token, *step;
  int level;
} operations[] = {
    {"or", "or", 0}, {"and", "and", 1}, {"==", "eq", 2}, {"!=", "ne", 2},
    {"<=", "le", 2}, {">=", "ge", 2},   {"<", "lt", 2},  {">", "gt", 2},
    {"+", "add", 3}, {"-", "sub", 3},   {"*", "mul", 4}, {"/", "div", 4},
};
enum { OPERATIONS = sizeof operations / sizeof *operations, LEVELS = 5 };

static void expression(parser_t* parser, int level) {
  if (level == LEVELS) {
    sign(parser);
    return;
  }
  expression(parser, level + 1);
  for (int i = 0; !parser->wrong && i < OPERATIONS;) {
    if (operations[i].level != level || !accept(parser, operations[i].token)) {
      i++;
      continue;
    }
    expression(parser, level + 1);
    call(parser, operations[i].step);
    i = 0;
  }
}

const char* sim_formula_compile(const char* text, sim_formula_t* out) {
  parser_t parser = {.at = text, .out = out};
  out->count = 0;
  expression(&parser, 0);
  skip_spaces(&parser);
  if (parser.wrong || (*parser.at != '\0' && *parser.at != ';')) return NULL;
  return parser.at;
}

static void load(const sim_step_t* step, const sim_variables_t* variables, int64_t first, int count,
                 sim_number_t* out) {
  const int letter = step->code - SIM_STEP_LETTER;
  const sim_number_t* array = letter >= 0 ? variables->arrays[letter] : NULL;
  if (array != NULL) {
    memcpy(out, array + first, sizeof *out * (size_t)count);
    return;
  }
  const sim_number_t number = letter >= 0 ? variables->numbers[letter] : step->number;
  for (int i = 0; i < count; i++)
    out[i] = number;
}

static void place(int code, const sim_variables_t* variables, int64_t first, int count,
                  sim_number_t* out) {
  for (int i = 0; i < count; i++) {
    const int64_t index = first + i;
    out[i] =
        (sim_number_t)(code == SIM_STEP_INDEX    ? index
                       : code == SIM_STEP_COLUMN ? index % variables->columns
                                                 : index / variables->columns % variables->rows);
  }
}

void sim_formula_tile(const sim_formula_t* formula, const sim_variables_t* variables, int64_t first,
                      int count, sim_number_t* out) {
  sim_number_t stack[SIM_DEPTH][SIM_TILE];
  int depth = 0;
  for (int i = 0; i < formula->count; i++) {
    const sim_step_t* step = &formula->steps[i];
    if (step->code >= SIM_STEP_LETTER || step->code == SIM_STEP_NUMBER) {
      load(step, variables, first, count, stack[depth++]);
    } else if (step->code <= SIM_STEP_COLUMN) {
      place(step->code, variables, first, count, stack[depth++]);
    } else {
      depth -= sim_step_operands(step->code);
      sim_step_run(step->code, variables->arithmetic, stack[depth], SIM_TILE, count);
      depth++;
    }
  }
  memcpy(out, stack[0], sizeof *out * (size_t)count);
}
