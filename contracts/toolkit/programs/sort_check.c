/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_check.c: what has to come of a call of tbk::sort. With STABLE there is one answer. Without, equal
 * elements may stand in any order, but each of them once.
 */
#include <stdio.h>
#include <string.h>

#include "sort_job.h"

/* One call, as it came back, and one segment of it. */
typedef struct seen {
  sort_job_t* job;
  uint8_t *values, *indices;            /* blocks; NULL where they were not asked for */
  sort_item_t *wanted, *input, *sorted; /* of a segment: in order, as it stood, what was seen */
  bool* taken;
  int64_t segment;
  tbk_here_t here;
} seen_t;

static bool is_stable(const sort_job_t* job) {
  return (job->form.flags & TBK_SORT_STABLE) != 0;
}

static bool is_descending(const sort_job_t* job) {
  return (job->form.flags & TBK_SORT_DESCENDING) != 0;
}

static void print_item(const sort_item_t* item, char* out, size_t size) {
  char number[96];
  number_print(item->type, &item->bits, number, sizeof number);
  snprintf(out, size, "%s, bits 0x%llx, of place %lld", number, (unsigned long long)item->bits,
           (long long)item->index);
}

static bool tell(const seen_t* seen, int64_t at, const char* what, const sort_item_t* got) {
  char wanted[200], shown[200];
  print_item(&seen->wanted[at], wanted, sizeof wanted);
  print_item(got, shown, sizeof shown);
  return tbk_check_said(false, seen->here, wanted, "%s %s: %s, element %lld of segment %lld", what,
                        shown, got->type->name, (long long)at, (long long)seen->segment);
}

/* Returns where an element lies in a block. */
static uint8_t* element_in(uint8_t* block, const tensor_t* tensor, const seen_t* seen, int64_t at) {
  const uint8_t* model = tensor_at(tensor, seen->segment * seen->job->kept + at);
  return block + (model - tensor->model);
}

static sort_item_t value_at(const seen_t* seen, int64_t at) {
  const sort_job_t* job = seen->job;
  return sort_item(job->input.type, element_in(seen->values, &job->values, seen, at), -1);
}

/* The order comes before what is said of indices: where it is wrong, indices are too. */
static bool check_order(const seen_t* seen, int64_t at) {
  const sort_item_t got = value_at(seen, at);
  const bool held = sort_compare(&got, &seen->wanted[at], is_descending(seen->job)) == 0;
  return held || tell(seen, at, "value", &got);
}

/* It names an element that may stand here, and none that was named before. */
static bool check_names_one(seen_t* seen, int64_t at, int64_t index) {
  const sort_job_t* job = seen->job;
  const sort_item_t got = {.type = job->input.type, .index = index};
  const bool is_outside = index < 0 || index >= job->length;
  if (!is_outside &&
      sort_compare(&seen->input[index], &seen->wanted[at], is_descending(job)) != 0) {
    /* Without values nothing but indices says the order. */
    TBK_CHECKS(seen->values != NULL ? "PRG-063" : NULL);
    return tell(seen, at, "by its index", &seen->input[index]);
  }
  TBK_CHECKS("PRG-063");
  if (is_outside) return tell(seen, at, "outside:", &got);
  if (seen->taken[index]) return tell(seen, at, "named twice:", &seen->input[index]);
  seen->taken[index] = true;
  return true;
}

static bool check_index(seen_t* seen, int64_t at) {
  const sort_job_t* job = seen->job;
  int64_t index = 0, before = 0;
  memcpy(&index, element_in(seen->indices, &job->indices, seen, at), sizeof index);
  memcpy(&before, element_in(job->indices_before, &job->indices, seen, at), sizeof before);
  const sort_item_t got = {.type = job->input.type, .index = index};
  if (index == before && index < 0) return tell(seen, at, "not written:", &got);
  if (!check_names_one(seen, at, index)) return false;
  TBK_CHECKS("PRG-061");
  if (is_stable(job) && index != seen->wanted[at].index)
    return tell(seen, at, "by its index", &seen->input[index]);
  seen->sorted[at] = seen->input[index];
  return true;
}

static bool check_value(seen_t* seen, int64_t at) {
  const sort_job_t* job = seen->job;
  const sort_item_t got = value_at(seen, at);
  TBK_CHECKS("PRG-063");
  if (seen->indices != NULL && got.bits != seen->sorted[at].bits)
    return tell(seen, at, "not that of its index:", &got);
  TBK_CHECKS("PRG-061");
  if (is_stable(job) && got.bits != seen->wanted[at].bits) return tell(seen, at, "value", &got);
  seen->sorted[at] = got;
  return true;
}

/* Without indices: each value is one of the input, to the bit, no more often than there. */
static bool check_bits(seen_t* seen) {
  const sort_job_t* job = seen->job;
  const bool descending = is_descending(job);
  int64_t of = 0;
  sort_by_bits(seen->wanted, job->length, descending);
  sort_by_bits(seen->sorted, job->kept, descending);
  TBK_CHECKS("PRG-063");
  for (int64_t at = 0; at < job->kept; ++at, ++of) {
    while (of < job->length && seen->wanted[of].bits != seen->sorted[at].bits)
      ++of;
    if (of == job->length) return tell(seen, at, "not in the input:", &seen->sorted[at]);
  }
  return true;
}

static bool check_segment(seen_t* seen) {
  const sort_job_t* job = seen->job;
  for (int64_t i = 0; i < job->length; ++i) {
    const void* element = tensor_at(&job->input, seen->segment * job->length + i);
    seen->input[i] = seen->wanted[i] = sort_item(job->input.type, element, i);
    seen->taken[i] = false;
  }
  sort_items(seen->wanted, job->length, is_descending(job));
  for (int64_t at = 0; at < job->kept; ++at) {
    if (seen->values != NULL && !check_order(seen, at)) return false;
    if (seen->indices != NULL && !check_index(seen, at)) return false;
    if (seen->values != NULL && !check_value(seen, at)) return false;
  }
  return seen->indices != NULL || check_bits(seen);
}

static uint8_t* download(tbk_fixture_t* fx, const tensor_t* tensor) {
  uint8_t* block = fx_zeros(fx, tensor->block_bytes);
  fx_download(fx, block, tensor->memory, tensor->block_bytes);
  return block;
}

/* Everything but the elements is as it was. */
static bool check_around(const tensor_t* tensor, uint8_t* before, const uint8_t* seen,
                         tbk_here_t here) {
  for (int64_t i = 0; i < tensor->count; ++i) {
    size_t at = (size_t)((uint8_t*)tensor_at(tensor, i) - tensor->model);
    memcpy(before + at, seen + at, tensor->type->size);
  }
  TBK_CHECKS("KRN-003");
  here.text = "bytes around the elements";
  return tbk_check_bytes(before, seen, tensor->block_bytes, here);
}

/* What was not asked for is not touched. */
static bool check_rest(tbk_fixture_t* fx, const seen_t* seen) {
  const sort_job_t* job = seen->job;
  bool held = true;
  if (seen->values != NULL)
    held = check_around(&job->values, job->values_before, seen->values, seen->here);
  if (seen->indices != NULL)
    held = check_around(&job->indices, job->indices_before, seen->indices, seen->here) && held;
  TBK_CHECKS("KRN-004");
  if (!job->form.alias)
    held = tensor_check_bits(fx, &job->input, job->input.model, "the input", seen->here) && held;
  return held;
}

bool sort_check(tbk_fixture_t* fx, sort_job_t* job, tbk_here_t here) {
  const size_t items = ((size_t)job->length + 1) * sizeof(sort_item_t);
  seen_t seen = {.job = job,
                 .values = job->form.no_values ? NULL : download(fx, &job->values),
                 .indices = job->form.no_indices ? NULL : download(fx, &job->indices),
                 .wanted = (sort_item_t*)(void*)fx_zeros(fx, items),
                 .input = (sort_item_t*)(void*)fx_zeros(fx, items),
                 .sorted = (sort_item_t*)(void*)fx_zeros(fx, items),
                 .taken = (bool*)(void*)fx_zeros(fx, ((size_t)job->length + 1) * sizeof(bool)),
                 .here = here};
  bool held = true;
  for (; held && seen.segment < job->segments; ++seen.segment)
    held = check_segment(&seen);
  held = held && check_rest(fx, &seen);
  return tbk_check_said(held, here, "elements in order", "%s", "as above");
}

bool sort_check_untouched(tbk_fixture_t* fx, sort_job_t* job, tbk_here_t here) {
  TBK_CHECKS("KRN-004");
  bool held = tensor_check_bits(fx, &job->input, job->input.model, "the input", here);
  held = tensor_check_bits(fx, &job->values, job->values_before, "the values", here) && held;
  return tensor_check_bits(fx, &job->indices, job->indices_before, "the indices", here) && held;
}
