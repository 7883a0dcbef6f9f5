/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * bytes.c: a program as bytes, little-endian: "TBKP", the version and six counts of 32 bits each; then
 * inputs, numbers, parameters, instructions, operands and results, each member as wide as in its struct.
 */
#include <stdlib.h>

#include "draft.h"
#include "fail.h"

enum { HEADER_BYTES = 32, MAGIC = 0x504b4254 };

/* Where bytes go, or come from; what lies beyond the end is counted and not touched. */
typedef struct cursor {
  unsigned char* out;
  const unsigned char* in;
  size_t capacity, at;
} cursor_t;

static void put(cursor_t* c, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, ++c->at)
    if (c->at < c->capacity) c->out[c->at] = (unsigned char)(value >> (8 * i));
}

static uint64_t take(cursor_t* c, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i, ++c->at)
    if (c->at < c->capacity) value |= (uint64_t)c->in[c->at] << (8 * i);
  return value;
}

/* -------------------------------------------------------------------------------------- write -- */

static void put_instructions(cursor_t* c, const tbk_program_t* p) {
  uint32_t next = 0;
  for (size_t i = 0; i < p->instruction_count; ++i) {
    const tbk_instruction_t* from = &p->instructions[i];
    put(c, from->opcode, 2);
    put(c, from->dtype, 2);
    put(c, from->slot, 2);
    put(c, from->bounds, 2);
    put(c, from->operand_count == 0 ? 0 : next, 4);
    put(c, from->operand_count, 4);
    put(c, from->immediate, 8);
    next += from->operand_count;
  }
}

/* Operands follow in the order of the instructions: programs that are equal give equal bytes. */
static void put_operands(cursor_t* c, const tbk_program_t* p) {
  for (size_t i = 0; i < p->instruction_count; ++i)
    for (uint32_t k = 0; k < p->instructions[i].operand_count; ++k)
      put(c, p->operands[p->instructions[i].operand_first + k], 4);
}

static void put_declarations(cursor_t* c, const tbk_program_t* p) {
  for (size_t i = 0; i < p->input_count; ++i) {
    put(c, p->inputs[i].dtype, 2);
    put(c, p->inputs[i].kind, 2);
    put(c, p->inputs[i].rank, 2);
    put(c, 0, 2);
  }
  for (size_t i = 0; i < p->number_count; ++i)
    put(c, p->numbers[i], 2);
  for (size_t i = 0; i < p->parameter_count; ++i)
    put(c, p->parameters[i], 2);
}

size_t tbk_program_write(const tbk_program_t* p, void* out, size_t capacity) {
  cursor_t c = {.out = out, .capacity = out == NULL ? 0 : capacity};
  size_t operands = 0;
  for (size_t i = 0; i < p->instruction_count; ++i)
    operands += p->instructions[i].operand_count;
  put(&c, MAGIC, 4);
  put(&c, p->version, 4);
  const size_t counts[] = {p->input_count,       p->number_count, p->parameter_count,
                           p->instruction_count, operands,        p->result_count};
  for (int i = 0; i < 6; ++i)
    put(&c, counts[i], 4);
  put_declarations(&c, p);
  put_instructions(&c, p);
  put_operands(&c, p);
  for (size_t i = 0; i < p->result_count; ++i)
    put(&c, p->results[i], 4);
  return c.at;
}

/* --------------------------------------------------------------------------------------- read -- */

static void take_items(cursor_t* c, const draft_t* d, const draft_counts_t* counts) {
  for (size_t i = 0; i < counts->inputs; ++i) {
    tbk_program_input_t* to = &d->inputs[i];
    to->dtype = (uint16_t)take(c, 2);
    to->kind = (uint16_t)take(c, 2);
    to->rank = (uint16_t)take(c, 2);
    to->zero = (uint16_t)take(c, 2);
  }
  for (size_t i = 0; i < counts->numbers; ++i)
    d->numbers[i] = (uint16_t)take(c, 2);
  for (size_t i = 0; i < counts->parameters; ++i)
    d->parameters[i] = (uint16_t)take(c, 2);
  for (size_t i = 0; i < counts->instructions; ++i) {
    tbk_instruction_t* to = &d->instructions[i];
    to->opcode = (uint16_t)take(c, 2);
    to->dtype = (uint16_t)take(c, 2);
    to->slot = (uint16_t)take(c, 2);
    to->bounds = (uint16_t)take(c, 2);
    to->operand_first = (uint32_t)take(c, 4);
    to->operand_count = (uint32_t)take(c, 4);
    to->immediate = take(c, 8);
  }
  for (size_t i = 0; i < counts->operands; ++i)
    d->operands[i] = (uint32_t)take(c, 4);
  for (size_t i = 0; i < counts->results; ++i)
    d->results[i] = (uint32_t)take(c, 4);
}

/* Finds the counts, and that the bytes are as many as these say: no count is believed before. */
static tbk_status_t take_header(cursor_t* c, draft_counts_t* out_counts, tbk_error_t* error) {
  if (c->capacity < HEADER_BYTES)
    return program_fail(error, "%zu bytes; the header has %d", c->capacity, HEADER_BYTES);
  if (take(c, 4) != MAGIC) return program_fail(error, "byte 0: no program begins so");
  uint64_t version = take(c, 4);
  if (version != TBK_PROGRAM_VERSION)
    return program_fail(error, "byte 4: version %u; known is %u", (unsigned)version,
                        TBK_PROGRAM_VERSION);
  out_counts->inputs = take(c, 4);
  out_counts->numbers = take(c, 4);
  out_counts->parameters = take(c, 4);
  out_counts->instructions = take(c, 4);
  out_counts->operands = take(c, 4);
  out_counts->results = take(c, 4);
  uint64_t size = HEADER_BYTES + 8 * (uint64_t)out_counts->inputs +
                  2 * ((uint64_t)out_counts->numbers + out_counts->parameters) +
                  24 * (uint64_t)out_counts->instructions +
                  4 * ((uint64_t)out_counts->operands + out_counts->results);
  if (size != c->capacity)
    return program_fail(error, "byte 8: the counts ask for %llu bytes of %zu",
                        (unsigned long long)size, c->capacity);
  return TBK_OK;
}

tbk_status_t tbk_program_read(const void* bytes, size_t size_bytes, tbk_program_t** out_program,
                              tbk_error_t* error) {
  cursor_t c = {.in = bytes, .capacity = size_bytes};
  draft_counts_t counts;
  *out_program = NULL;
  tbk_status_t status = take_header(&c, &counts, error);
  if (status != TBK_OK) return status;
  char* block = malloc(draft_size(&counts));
  if (block == NULL) {
    program_fail(error, "no memory for %zu bytes", draft_size(&counts));
    return TBK_OUT_OF_MEMORY;
  }
  draft_t draft = draft_at(block, &counts);
  take_items(&c, &draft, &counts);
  status = tbk_program_check(draft.program, error);
  if (status == TBK_OK)
    *out_program = draft.program;
  else
    free(block);
  return status;
}
