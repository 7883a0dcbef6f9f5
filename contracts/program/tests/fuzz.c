/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fuzz.c: programs drawn at random, then changed in their structs, their bytes or their text. Whatever the
 * library accepts it prints and writes, and reads and parses back as the same program; whatever it
 * refuses, it refuses in words. `tbk-program-fuzz COUNT SEED`; a finding names the seed that shows it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "opcode.h"

enum { TEXT_BYTES = 200000, MOST_CHANGES = 4 };

static uint64_t current; /* the seed of what is being tried */
static size_t accepted, refused;

static void finding(const char* what) {
  printf("seed %llu: %s\n", (unsigned long long)current, what);
  exit(EXIT_FAILURE);
}

#define EXPECT(condition)                  \
  do {                                     \
    if (!(condition)) finding(#condition); \
  } while (0)

/* ---------------------------------------------------------------------------- what must hold --- */

static void survives(const tbk_program_t* program) {
  static char text[TEXT_BYTES];
  static unsigned char bytes[TEXT_BYTES];
  tbk_program_t* made[3] = {NULL, NULL, NULL};
  tbk_error_t error;
  size_t length = tbk_program_print(program, text, sizeof text);
  size_t size = tbk_program_write(program, bytes, sizeof bytes);
  EXPECT(length < sizeof text && strlen(text) == length && size <= sizeof bytes);
  EXPECT(tbk_program_parse(text, &made[0], &error) == TBK_OK);
  EXPECT(tbk_program_read(bytes, size, &made[1], &error) == TBK_OK);
  made[2] = tbk_program_copy(program);
  for (int i = 0; i < 3; ++i) {
    EXPECT(made[i] != NULL && tbk_program_check(made[i], NULL) == TBK_OK);
    EXPECT(tbk_program_equal(program, made[i]) && tbk_program_equal(made[i], program));
    EXPECT(tbk_program_hash(program) == tbk_program_hash(made[i]));
    free(made[i]);
  }
}

/* A message that nobody wrote would be the letter that it is filled with. */
static void judge(tbk_status_t status, const tbk_program_t* program, const tbk_error_t* error) {
  EXPECT(status == TBK_OK || status == TBK_INVALID);
  if (status == TBK_OK) {
    ++accepted;
    survives(program);
  } else {
    ++refused;
    EXPECT(error->message[0] != '~' && memchr(error->message, '\0', sizeof error->message) != NULL);
  }
}

static tbk_error_t unwritten(void) {
  tbk_error_t error;
  memset(error.message, '~', sizeof error.message);
  return error;
}

/* ----------------------------------------------------------------------------------- changes --- */

static uint32_t below(uint64_t* state, size_t limit) {
  return (uint32_t)(program_random(state) % limit);
}

/* A number that is near to what may stand there, or anything. */
static uint64_t odd_number(uint64_t* state, uint64_t old) {
  static const uint64_t numbers[] = {0, 1, 2, 8, 32, 255, 1024, 4096, 65535, UINT32_MAX};
  switch (below(state, 4)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return numbers[below(state, sizeof numbers / sizeof *numbers)];
    default:
      return program_random(state);
  }
}

#define CHANGE(member) (member) = (__typeof__(member))odd_number(state, (uint64_t)(member))

static void change_instruction(program_pool_t* pool, uint64_t* state) {
  tbk_instruction_t* i = &pool->instructions[below(state, pool->program.instruction_count)];
  switch (below(state, 7)) {
    case 0:
      CHANGE(i->opcode);
      break;
    case 1:
      CHANGE(i->dtype);
      break;
    case 2:
      CHANGE(i->slot);
      break;
    case 3:
      CHANGE(i->bounds);
      break;
    case 4:
      CHANGE(i->operand_first);
      break;
    case 5:
      CHANGE(i->operand_count);
      break;
    default:
      CHANGE(i->immediate);
      break;
  }
}

/* Counts may say more than what was filled in, but never more than there is memory for. */
static void change_count(program_pool_t* pool, uint64_t* state) {
  size_t* const counts[] = {&pool->program.input_count,       &pool->program.number_count,
                            &pool->program.parameter_count,   &pool->program.operand_count,
                            &pool->program.instruction_count, &pool->program.result_count,
                            &pool->program.struct_size};
  size_t* count = counts[below(state, sizeof counts / sizeof *counts)];
  *count = (size_t)odd_number(state, *count);
  if (below(state, 4) == 0) CHANGE(pool->program.version);
}

static void change_declaration(program_pool_t* pool, uint64_t* state) {
  tbk_program_input_t* input = &pool->inputs[below(state, pool->program.input_count + 1)];
  switch (below(state, 5)) {
    case 0:
      CHANGE(input->dtype);
      break;
    case 1:
      CHANGE(input->kind);
      break;
    case 2:
      CHANGE(input->rank);
      break;
    case 3:
      CHANGE(pool->numbers[below(state, pool->program.number_count + 1)]);
      break;
    default:
      CHANGE(pool->parameters[below(state, pool->program.parameter_count + 1)]);
      break;
  }
}

static void change_struct(program_pool_t* pool, uint64_t* state) {
  switch (below(state, 6)) {
    case 0:
      change_count(pool, state);
      break;
    case 1:
      change_declaration(pool, state);
      break;
    case 2:
      CHANGE(pool->results[below(state, pool->program.result_count)]);
      break;
    case 3:
      CHANGE(pool->operands[below(state, pool->program.operand_count + 1)]);
      break;
    default:
      change_instruction(pool, state);
      break;
  }
}

/* The last number of changes is that of the whole struct; what was filled in stays initialised. */
static void try_struct(program_pool_t* pool, uint64_t* state) {
  tbk_program_t before = pool->program;
  for (uint32_t left = below(state, MOST_CHANGES); left > 0; --left) {
    change_struct(pool, state);
    tbk_error_t error = unwritten();
    judge(tbk_program_check(&pool->program, &error), &pool->program, &error);
    pool->program = before;
  }
}

static size_t change_bytes(unsigned char* bytes, size_t size, size_t capacity, uint64_t* state) {
  for (uint32_t left = below(state, MOST_CHANGES); left > 0; --left) {
    uint32_t at = below(state, below(state, 3) == 0 ? 32 : size);
    if (at < size) bytes[at] = (unsigned char)odd_number(state, bytes[at]);
  }
  if (below(state, 8) == 0) size = below(state, size + 9);
  return size < capacity ? size : capacity;
}

/* In a block of its own, so that AddressSanitizer sees who reads beyond its end. */
static void try_bytes(const tbk_program_t* program, uint64_t* state) {
  size_t size = tbk_program_write(program, NULL, 0), room = size + 8;
  unsigned char* bytes = calloc(room, 1);
  if (bytes == NULL) abort();
  EXPECT(tbk_program_write(program, bytes, room) == size);
  size = change_bytes(bytes, size, room, state);
  unsigned char* exact = malloc(size + 1);
  if (exact == NULL) abort();
  memcpy(exact + 1, bytes, size);
  tbk_program_t* made;
  tbk_error_t error = unwritten();
  tbk_status_t status = tbk_program_read(exact + 1, size, &made, &error);
  EXPECT((status == TBK_OK) == (made != NULL));
  judge(status, made, &error);
  free(made);
  free(exact);
  free(bytes);
}

static void try_text(const tbk_program_t* program, uint64_t* state) {
  static const char letters[] = "v0123456789 \n=#xabcdefINTFLOAdexsloti";
  size_t length = tbk_program_print(program, NULL, 0);
  char* text = malloc(length + 1);
  if (text == NULL) abort();
  EXPECT(tbk_program_print(program, text, length + 1) == length);
  for (uint32_t left = below(state, MOST_CHANGES); left > 0; --left)
    text[below(state, length)] = letters[below(state, sizeof letters - 1)];
  if (below(state, 8) == 0) text[below(state, length)] = '\0';
  tbk_program_t* made;
  tbk_error_t error = unwritten();
  tbk_status_t status = tbk_program_parse(text, &made, &error);
  EXPECT((status == TBK_OK) == (made != NULL));
  judge(status, made, &error);
  free(made);
  free(text);
}

static void try_one(uint64_t seed) {
  static program_pool_t pool;
  uint64_t state = seed;
  current = seed;
  program_pool_open(&pool);
  for (uint32_t left = below(&state, 3); left > 0; --left)
    program_add_parameter(&pool, below(&state, 2) == 0 ? TBK_FLOAT32 : TBK_INT64);
  program_wish_t wish = {.dtypes = PROGRAM_ANY,
                         .instructions = 24,
                         .rank = (int)below(&state, TBK_PROGRAM_MOST_RANK + 1),
                         .placed = below(&state, 4) != 0,
                         .results = 1 + below(&state, 3),
                         .result_dtypes = PROGRAM_ANY};
  program_draw(&pool, &wish, &state);
  tbk_error_t error = unwritten();
  if (tbk_program_check(&pool.program, &error) != TBK_OK) finding(error.message);
  survives(&pool.program);
  try_bytes(&pool.program, &state);
  try_text(&pool.program, &state);
  try_struct(&pool, &state);
}

int main(int argc, char** argv) {
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  for (uint64_t i = 0; i < count; ++i)
    try_one(seed + i);
  printf("%llu programs; of those that were changed %zu accepted, %zu refused\n",
         (unsigned long long)count, accepted, refused);
  return accepted > 0 && refused > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
