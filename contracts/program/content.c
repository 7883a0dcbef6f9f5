/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * content.c: what two programs have in common, and copies. Where an instruction's operands lie in the
 * array is no part of a program's content, so that hosts may share them.
 */
#include <stdlib.h>
#include <string.h>

#include "draft.h"

/* -------------------------------------------------------------------------------------- hash --- */

/* FNV-1a over 64-bit words: of a few hundred words a program, once a program. */
static uint64_t mix(uint64_t hash, uint64_t word) {
  for (int byte = 0; byte < 8; ++byte)
    hash = (hash ^ (word >> (8 * byte) & 0xff)) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t mix_instruction(uint64_t hash, const tbk_program_t* p, const tbk_instruction_t* i) {
  hash = mix(hash, (uint64_t)i->opcode | (uint64_t)i->dtype << 16 | (uint64_t)i->slot << 32 |
                       (uint64_t)i->bounds << 48);
  hash = mix(hash, i->immediate);
  hash = mix(hash, i->operand_count);
  for (uint32_t k = 0; k < i->operand_count; ++k)
    hash = mix(hash, p->operands[i->operand_first + k]);
  return hash;
}

static uint64_t mix_program(uint64_t hash, const tbk_program_t* p) {
  hash = mix(hash, p->input_count);
  for (size_t i = 0; i < p->input_count; ++i)
    hash = mix(hash, (uint64_t)p->inputs[i].dtype | (uint64_t)p->inputs[i].kind << 16 |
                         (uint64_t)p->inputs[i].rank << 32);
  hash = mix(hash, p->number_count);
  for (size_t i = 0; i < p->number_count; ++i)
    hash = mix(hash, p->numbers[i]);
  hash = mix(hash, p->parameter_count);
  for (size_t i = 0; i < p->parameter_count; ++i)
    hash = mix(hash, p->parameters[i]);
  hash = mix(hash, p->instruction_count);
  for (size_t i = 0; i < p->instruction_count; ++i)
    hash = mix_instruction(hash, p, &p->instructions[i]);
  hash = mix(hash, p->result_count);
  for (size_t i = 0; i < p->result_count; ++i)
    hash = mix(hash, p->results[i]);
  return hash;
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

uint64_t tbk_program_hash(const tbk_program_t* program) {
  return mix_program(mix(HASH_START, program->version), program);
}

uint64_t tbk_reduction_hash(const tbk_reduction_t* r) {
  uint64_t hash = mix(HASH_START, r->flags);
  for (size_t i = 0; i < r->map->result_count; ++i)
    hash = mix(hash, r->identity[i]);
  return mix_program(mix_program(mix_program(hash, r->map), r->combine), r->finish);
}

/* -------------------------------------------------------------------------------------- equal -- */

static bool same_items(const void* one, size_t count, const void* other, size_t others,
                       size_t size) {
  return count == others && (count == 0 || memcmp(one, other, count * size) == 0);
}

static bool same_instruction(const tbk_program_t* one, const tbk_program_t* other, size_t index) {
  const tbk_instruction_t* a = &one->instructions[index];
  const tbk_instruction_t* b = &other->instructions[index];
  return a->opcode == b->opcode && a->dtype == b->dtype && a->slot == b->slot &&
         a->bounds == b->bounds && a->immediate == b->immediate &&
         (a->operand_count == 0 || b->operand_count == 0
              ? a->operand_count == b->operand_count
              : same_items(one->operands + a->operand_first, a->operand_count,
                           other->operands + b->operand_first, b->operand_count,
                           sizeof *one->operands));
}

bool tbk_program_equal(const tbk_program_t* one, const tbk_program_t* other) {
  if (one == other) return true;
  if (one->version != other->version || one->instruction_count != other->instruction_count ||
      !same_items(one->inputs, one->input_count, other->inputs, other->input_count,
                  sizeof *one->inputs) ||
      !same_items(one->numbers, one->number_count, other->numbers, other->number_count,
                  sizeof *one->numbers) ||
      !same_items(one->parameters, one->parameter_count, other->parameters, other->parameter_count,
                  sizeof *one->parameters) ||
      !same_items(one->results, one->result_count, other->results, other->result_count,
                  sizeof *one->results))
    return false;
  for (size_t i = 0; i < one->instruction_count; ++i)
    if (!same_instruction(one, other, i)) return false;
  return true;
}

bool tbk_reduction_equal(const tbk_reduction_t* one, const tbk_reduction_t* other) {
  return one->flags == other->flags && tbk_program_equal(one->map, other->map) &&
         tbk_program_equal(one->combine, other->combine) &&
         tbk_program_equal(one->finish, other->finish) &&
         same_items(one->identity, one->map->result_count, other->identity,
                    other->map->result_count, sizeof *one->identity);
}

/* --------------------------------------------------------------------------------------- copy -- */

/* Returns how many operands the instructions name together. */
static size_t operands_named(const tbk_program_t* p) {
  size_t count = 0;
  for (size_t i = 0; i < p->instruction_count; ++i)
    count += p->instructions[i].operand_count;
  return count;
}

static draft_counts_t counts_of(const tbk_program_t* p) {
  return (draft_counts_t){p->input_count,       p->number_count,   p->parameter_count,
                          p->instruction_count, operands_named(p), p->result_count};
}

/* memcpy of nothing may not be from NULL. */
static void copy_items(void* to, const void* from, size_t count, size_t size) {
  if (count > 0) memcpy(to, from, count * size);
}

static void copy_into(const draft_t* draft, const tbk_program_t* p) {
  uint32_t next = 0;
  copy_items(draft->inputs, p->inputs, p->input_count, sizeof *p->inputs);
  copy_items(draft->numbers, p->numbers, p->number_count, sizeof *p->numbers);
  copy_items(draft->parameters, p->parameters, p->parameter_count, sizeof *p->parameters);
  copy_items(draft->results, p->results, p->result_count, sizeof *p->results);
  for (size_t i = 0; i < p->instruction_count; ++i) {
    tbk_instruction_t* to = &draft->instructions[i];
    *to = p->instructions[i];
    if (to->operand_count == 0) continue;
    copy_items(draft->operands + next, p->operands + to->operand_first, to->operand_count,
               sizeof *p->operands);
    to->operand_first = next;
    next += to->operand_count;
  }
}

tbk_program_t* tbk_program_copy(const tbk_program_t* program) {
  draft_counts_t counts = counts_of(program);
  char* block = malloc(draft_size(&counts));
  if (block == NULL) return NULL;
  draft_t draft = draft_at(block, &counts);
  copy_into(&draft, program);
  return draft.program;
}

tbk_reduction_t* tbk_reduction_copy(const tbk_reduction_t* r) {
  const tbk_program_t* parts[] = {r->map, r->combine, r->finish};
  size_t states = r->map->result_count, at = sizeof *r + states * sizeof *r->identity;
  size_t size = at;
  for (int i = 0; i < 3; ++i) {
    draft_counts_t counts = counts_of(parts[i]);
    size += draft_size(&counts);
  }
  char* block = malloc(size);
  if (block == NULL) return NULL;
  for (int i = 0; i < 3; ++i) {
    draft_counts_t counts = counts_of(parts[i]);
    draft_t draft = draft_at(block + at, &counts);
    copy_into(&draft, parts[i]);
    parts[i] = draft.program;
    at += draft_size(&counts);
  }
  uint64_t* identity = (uint64_t*)(block + sizeof *r);
  memcpy(identity, r->identity, states * sizeof *identity);
  tbk_reduction_t* copy = (tbk_reduction_t*)block;
  *copy = (tbk_reduction_t){sizeof *copy, parts[0], parts[1], parts[2], identity, r->flags};
  return copy;
}
