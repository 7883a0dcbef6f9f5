/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal.c: which writes a read may see, and which bytes these may have written.
 */
#include <string.h>

#include "sets.h"

enum { WORDS = LITMUS_SET_WORDS };

litmus_set_t litmus_of_part(const litmus_model_t* model, const litmus_set_t* set) {
  litmus_set_t found = *set;
  for (int word = 0; word < WORDS && litmus_parts(model->program) > 1; word++)
    found.bits[word] &= model->covers[model->part].bits[word];
  return found;
}

bool litmus_model_covers(const litmus_model_t* model, int node) {
  return litmus_parts(model->program) <= 1 || litmus_set_has(&model->covers[model->part], node);
}

/* Returns those writes of the place that `node` may see, if it reads the place. */
static litmus_set_t visible(const litmus_model_t* model, int node, int place, bool* out_settled) {
  const litmus_set_t writers = litmus_of_part(model, &model->writers[place]);
  const litmus_set_t* before = &model->nodes[node].before;
  litmus_set_t covered = {{0}}, sees = {{0}};
  *out_settled = true;
  for (int word = 0; word < WORDS; word++)
    for (uint64_t left = writers.bits[word] & before->bits[word]; left != 0; left &= left - 1)
      litmus_set_join(&covered, &model->nodes[word * 64 + __builtin_ctzll(left)].before);
  for (int word = 0; word < WORDS; word++) {
    for (uint64_t left = writers.bits[word] & ~covered.bits[word]; left != 0; left &= left - 1) {
      int writer = word * 64 + __builtin_ctzll(left);
      if (writer == node || litmus_set_has(&model->nodes[writer].before, node)) continue;
      litmus_set_add(&sees, writer);
      *out_settled &= litmus_set_has(before, writer);
    }
  }
  return sees;
}

static bool overwritten(const litmus_model_t* model, int node, int place) {
  const litmus_set_t writers = litmus_of_part(model, &model->writers[place]);
  for (int word = 0; word < WORDS; word++)
    if (writers.bits[word] & model->nodes[node].before.bits[word]) return true;
  return false;
}

static void add_value(litmus_values_t* values, uint8_t value) {
  values->bits[value / 64] |= UINT64_C(1) << value % 64;
}

static litmus_values_t collect(const litmus_model_t* model, int node, int place,
                               const litmus_set_t* sees) {
  litmus_values_t values = {{0}};
  if (model->is_async[place] && model->without >> LITMUS_EDGE_ASYNC_FREE & 1)
    memset(&values, 0xff, sizeof values);
  if (!overwritten(model, node, place)) add_value(&values, model->first[place]);
  for (int word = 0; word < WORDS; word++) {
    for (uint64_t left = sees->bits[word]; left != 0; left &= left - 1) {
      const litmus_values_t* more = &model->nodes[word * 64 + __builtin_ctzll(left)].values;
      for (int i = 0; i < 4; i++)
        values.bits[i] |= more->bits[i];
    }
  }
  return values;
}

/* Returns whether any values are new. */
static bool spread(litmus_model_t* model) {
  bool changed = false;
  for (uint32_t i = 0; i < model->node_count; i++) {
    litmus_node_t* node = &model->nodes[i];
    if (!node->copies || !litmus_model_covers(model, (int)i)) continue;
    litmus_values_t values = collect(model, (int)i, node->reads, &node->sees);
    changed |= memcmp(&values, &node->values, sizeof values) != 0;
    node->values = values;
  }
  return changed;
}

/* Returns whether it may see what a later call writes. */
static bool sees_later(const litmus_node_t* node, int index) {
  uint64_t later = 0;
  for (int word = 0; word < WORDS; word++) {
    const int first = index - word * 64; /* those from here on are later */
    const uint64_t mask = first <= 0 ? ~UINT64_C(0) : first >= 64 ? 0 : ~UINT64_C(0) << first;
    later |= node->sees.bits[word] & mask;
  }
  return later != 0;
}

/* Copies that race may pass values on in a circle: until nothing is new. */
void litmus_model_read(litmus_model_t* model, int part) {
  bool again = false;
  model->part = part;
  for (uint32_t i = 0; i < model->node_count; i++) {
    litmus_node_t* node = &model->nodes[i];
    node->values = (litmus_values_t){{0}};
    if (node->any)
      memset(&node->values, 0xff, sizeof node->values);
    else if (node->copies)
      node->sees = visible(model, (int)i, node->reads, &node->settled);
    else if (node->writes >= 0)
      add_value(&node->values, node->value);
    again |= node->copies && sees_later(node, (int)i);
  }
  while (spread(model) && again)
    continue;
  for (uint32_t i = 0; i < model->read_count; i++) {
    litmus_read_t* read = &model->reads[i];
    read->sees = visible(model, read->node, read->place, &read->settled);
    read->values = collect(model, read->node, read->place, &read->sees);
  }
}
