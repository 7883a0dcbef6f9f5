/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * judge.c: compares what was seen, byte by byte.
 */
#include "judge.h"

#include <string.h>

/* Where what a look saw lies, and which of its bytes are of the model's part. */
typedef struct litmus_bytes {
  const uint8_t* base; /* NULL: it did not come to that, or that part it does not look at */
  uint64_t from, to;
} litmus_bytes_t;

static const uint8_t* base_of(const litmus_model_t* model, const litmus_read_t* read,
                              const litmus_seen_t* seen) {
  if (read->call_id != LITMUS_END) return seen->by_call[read->call_id];
  if (read->place < LITMUS_SLOTS) return seen->slots[read->place];
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    if (model->cell_place[cell] == read->place) return seen->cells[cell];
  return NULL;
}

/* A mark is one byte, and is looked at with the first part. */
static litmus_bytes_t bytes_of(const litmus_model_t* model, const litmus_read_t* read,
                               const litmus_seen_t* seen) {
  const bool is_mark = read->place >= LITMUS_PLACE_OF_MARKS && read->place < LITMUS_PLACE_OF_CELLS;
  litmus_bytes_t bytes = {base_of(model, read, seen), litmus_part_at(model->program, model->part),
                          litmus_part_at(model->program, model->part + 1)};
  if (is_mark) bytes.to = 1;
  if (is_mark ? model->part > 0 : !litmus_model_covers(model, read->node)) bytes.base = NULL;
  return bytes;
}

/* Returns where the first illegal byte is; the end where there is none. Most are of one value. */
static uint64_t illegal_at(const litmus_values_t* values, litmus_bytes_t bytes) {
  uint64_t at = bytes.from;
  const uint8_t* first = bytes.base + at;
  if (!litmus_values_have(values, *first)) return at;
  if (bytes.to - at > 1 && memcmp(first, first + 1, bytes.to - at - 1) == 0) return bytes.to;
  while (at < bytes.to && litmus_values_have(values, bytes.base[at]))
    at++;
  return at;
}

static bool find_illegal(const litmus_model_t* model, const litmus_seen_t* seen,
                         litmus_wrong_t* out_wrong) {
  for (uint32_t i = 0; i < model->read_count; i++) {
    const litmus_read_t* read = &model->reads[i];
    const litmus_bytes_t bytes = bytes_of(model, read, seen);
    uint64_t at = bytes.base == NULL ? bytes.to : illegal_at(&read->values, bytes);
    if (at == bytes.to) continue;
    *out_wrong =
        (litmus_wrong_t){.read = i, .other = LITMUS_READS, .at = at, .value = bytes.base[at]};
    return true;
  }
  return false;
}

/* What a look comes to: copies that see one write only are what that write was. */
typedef struct litmus_origin {
  int place;
  litmus_set_t sees;
  bool settled;
} litmus_origin_t;

static int only_one(const litmus_set_t* set) {
  int found = -1;
  for (int word = 0; word < LITMUS_NODES / 64; word++) {
    if (set->bits[word] == 0) continue;
    if (found >= 0 || (set->bits[word] & (set->bits[word] - 1)) != 0) return -1;
    found = word * 64 + __builtin_ctzll(set->bits[word]);
  }
  return found;
}

static litmus_origin_t origin_of(const litmus_model_t* model, const litmus_read_t* read) {
  litmus_origin_t origin = {read->place, read->sees, read->settled};
  for (int w; origin.settled && (w = only_one(&origin.sees)) >= 0 && model->nodes[w].copies;)
    origin =
        (litmus_origin_t){model->nodes[w].reads, model->nodes[w].sees, model->nodes[w].settled};
  return origin;
}

/* Returns whether the look sees nothing that races with it, and nothing that nobody wrote: fresh memory may
   be anything, each time. */
static bool is_certain(const litmus_origin_t* origin, const litmus_set_t* fresh) {
  uint64_t unwritten = 0;
  for (int word = 0; word < LITMUS_NODES / 64; word++)
    unwritten |= origin->sees.bits[word] & fresh->bits[word];
  return origin->settled && unwritten == 0;
}

/* Returns whether two looks that are certain must see the same. */
static bool must_agree(const litmus_origin_t* one, const litmus_origin_t* two) {
  return one->place == two->place && memcmp(&one->sees, &two->sees, sizeof one->sees) == 0;
}

static bool disagree(const litmus_model_t* model, const litmus_seen_t* seen, uint32_t i, uint32_t j,
                     litmus_wrong_t* out_wrong) {
  const litmus_bytes_t one = bytes_of(model, &model->reads[i], seen);
  const litmus_bytes_t two = bytes_of(model, &model->reads[j], seen);
  if (one.base == NULL || two.base == NULL) return false;
  uint64_t at = one.from;
  if (memcmp(one.base + at, two.base + at, one.to - at) == 0) return false;
  while (one.base[at] == two.base[at])
    at++;
  *out_wrong = (litmus_wrong_t){
      .read = i, .other = j, .at = at, .value = one.base[at], .other_value = two.base[at]};
  return true;
}

/* Where one value alone is legal, and none was seen that is not, whoever sees the same has seen that. */
static bool is_of_one_value(const litmus_values_t* values) {
  int count = 0;
  for (int i = 0; i < 4 && count < 2; i++)
    count += values->bits[i] == 0 ? 0 : (values->bits[i] & (values->bits[i] - 1)) == 0 ? 1 : 2;
  return count == 1;
}

/* Of looks that have seen nothing illegal. */
static bool find_disagreement(const litmus_model_t* model, const litmus_seen_t* seen,
                              litmus_wrong_t* out_wrong) {
  litmus_origin_t origins[LITMUS_READS];
  uint8_t certain[LITMUS_READS];
  unsigned count = 0;
  for (uint32_t i = 0; i < model->read_count; i++) {
    if (!model->reads[i].settled || is_of_one_value(&model->reads[i].values)) continue;
    origins[count] = origin_of(model, &model->reads[i]);
    if (!is_certain(&origins[count], &model->fresh)) continue;
    for (unsigned j = 0; j < count; j++)
      if (must_agree(&origins[count], &origins[j]) &&
          disagree(model, seen, i, certain[j], out_wrong))
        return true;
    certain[count++] = (uint8_t)i;
  }
  return false;
}

bool litmus_judge(litmus_model_t* model, const litmus_seen_t* seen, litmus_wrong_t* out_wrong) {
  for (int part = 0; part < litmus_parts(model->program); part++) {
    if (part != model->part) litmus_model_read(model, part);
    if (find_illegal(model, seen, out_wrong) || find_disagreement(model, seen, out_wrong))
      return true;
  }
  return false;
}

/* Returns the read of `model` that looks where `read` of `other` does; NULL: none. */
static const litmus_read_t* same_look(const litmus_model_t* model, const litmus_model_t* other,
                                      const litmus_read_t* read) {
  for (uint32_t i = 0; i < model->read_count; i++) {
    const litmus_read_t* mine = &model->reads[i];
    if (mine->call_id != read->call_id) continue;
    if (mine->place < LITMUS_PLACE_OF_CELLS
            ? mine->place == read->place
            : read->place >= LITMUS_PLACE_OF_CELLS &&
                  model->cell_of[mine->place] == other->cell_of[read->place])
      return mine;
  }
  return NULL;
}

static bool differs_in_part(const litmus_model_t* model, const litmus_model_t* other,
                            const litmus_seen_t* seen) {
  for (uint32_t i = 0; i < other->read_count; i++) {
    const litmus_read_t* theirs = &other->reads[i];
    const litmus_bytes_t bytes = bytes_of(other, theirs, seen);
    const litmus_read_t* mine = bytes.base == NULL ? NULL : same_look(model, other, theirs);
    if (mine != NULL && illegal_at(&mine->values, bytes) < bytes.to) return true;
  }
  return false;
}

bool litmus_differs(litmus_model_t* model, litmus_model_t* other, const litmus_seen_t* seen) {
  for (int part = 0; part < litmus_parts(model->program); part++) {
    if (part != model->part) litmus_model_read(model, part);
    if (part != other->part) litmus_model_read(other, part);
    if (differs_in_part(model, other, seen)) return true;
  }
  return false;
}

/* Calls are indexes of the program; -1 is its beginning, and its count stands for its end. */
static void add_call(uint64_t* calls, int call) {
  if (call >= 0 && call < LITMUS_CALLS) *calls |= UINT64_C(1) << call;
}

uint64_t litmus_reason_calls(const litmus_reason_t* reason) {
  const int16_t roles[] = {reason->read, reason->other, reason->wrote, reason->over};
  uint64_t calls = 0;
  for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++)
    add_call(&calls, roles[i]);
  for (uint32_t i = 0; i < reason->link_count; i++) {
    add_call(&calls, reason->links[i].from);
    add_call(&calls, reason->links[i].to);
  }
  for (uint32_t i = 0; i < reason->moved_count; i++)
    add_call(&calls, reason->moved[i]);
  return calls;
}
