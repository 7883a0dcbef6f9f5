/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

enum { LEAD = 5, TAIL = 3, FAR = 33000, GUARD_BYTES = 64 };

/* Returns which dimension is the k-th in memory, from the innermost on. */
static int32_t dimension_at(const tensor_t* tensor, tensor_layout_t layout, int32_t k) {
  const int32_t last = tensor->rank - 1;
  if (layout == TENSOR_TURNED) return k;
  if (layout == TENSOR_SWAPPED && last > 0 && k < 2) return last - 1 + k;
  if (layout == TENSOR_ROTATED) return k < last ? last - 1 - k : last;
  return last - k;
}

static int64_t set_strides(tensor_t* tensor, tensor_layout_t layout) {
  int64_t stride = layout == TENSOR_THIRDS ? 3 : layout == TENSOR_GAPS ? 2 : 1;
  for (int32_t k = 0; k < tensor->rank; ++k) {
    const int32_t dimension = dimension_at(tensor, layout, k);
    tensor->strides[dimension] = stride;
    stride *= tensor->sizes[dimension] > 0 ? tensor->sizes[dimension] : 1;
    if (layout == TENSOR_ROWS && k == 0) stride += TAIL;
    if (layout == TENSOR_FAR && k == tensor->rank - 2) stride += FAR;
  }
  return stride;
}

static void turn(tensor_t* tensor, int32_t dimension) {
  if (tensor->rank == 0 || tensor->count == 0) return;
  tensor->offset += (tensor->sizes[dimension] - 1) * tensor->strides[dimension];
  tensor->strides[dimension] = -tensor->strides[dimension];
}

static int64_t lay_out(tensor_t* tensor, tensor_layout_t layout) {
  int64_t extent = set_strides(tensor, layout);
  if (layout == TENSOR_BROADCAST && tensor->rank > 0) {
    tensor->strides[0] = 0;
    extent = tensor->sizes[0] > 0 ? extent / tensor->sizes[0] : extent;
  }
  /* The storage stays as large as without: its rest has to stay as it is. */
  if (layout == TENSOR_BROADCAST_MIDDLE && tensor->rank > 0) tensor->strides[tensor->rank / 2] = 0;
  if (layout == TENSOR_BROADCAST_LAST && tensor->rank > 0) tensor->strides[tensor->rank - 1] = 0;
  for (int32_t d = 0; layout == TENSOR_BROADCAST_ALL && d < tensor->rank; ++d)
    tensor->strides[d] = 0;
  tensor->offset = layout == TENSOR_PLAIN ? 0 : LEAD;
  if (layout == TENSOR_REVERSED) turn(tensor, 0);
  if (layout == TENSOR_BACKWARDS) turn(tensor, tensor->rank - 1);
  return tensor->count == 0 ? 0 : extent;
}

void tensor_make(tbk_fixture_t* fx, tensor_t* tensor, int32_t dtype, int32_t rank,
                 const int64_t* sizes, tensor_layout_t layout) {
  memset(tensor, 0, sizeof *tensor);
  tensor->type = number_type(dtype);
  tensor->rank = rank;
  tensor->count = 1;
  for (int32_t k = 0; k < rank; ++k)
    tensor->count *= tensor->sizes[k] = sizes[k];
  int64_t extent = lay_out(tensor, layout);
  tensor->storage_bytes = (uint64_t)(tensor->offset + extent + TAIL) * tensor->type->size;
  tensor->block_bytes = fx_round(fx, tensor->storage_bytes + GUARD_BYTES);
  tensor->model = fx_bytes(fx, tensor->block_bytes);
  for (tensor_walk_t w = tensor_first(tensor); w.index < tensor->count; tensor_step(&w))
    memset(tensor_walk_at(&w), 0xff, tensor->type->size);
}

void* tensor_at(const tensor_t* tensor, int64_t index) {
  int64_t place = tensor->offset;
  for (int32_t k = tensor->rank - 1; k >= 0; --k) {
    place += index % tensor->sizes[k] * tensor->strides[k];
    index /= tensor->sizes[k];
  }
  return tensor->model + (uint64_t)place * tensor->type->size;
}

tensor_walk_t tensor_first(const tensor_t* tensor) {
  return (tensor_walk_t){.tensor = tensor, .place = tensor->offset};
}

void tensor_step(tensor_walk_t* walk) {
  const tensor_t* tensor = walk->tensor;
  ++walk->index;
  for (int32_t d = tensor->rank - 1; d >= 0; --d) {
    walk->place += tensor->strides[d];
    if (++walk->coordinates[d] < tensor->sizes[d]) return;
    walk->place -= tensor->sizes[d] * tensor->strides[d];
    walk->coordinates[d] = 0;
  }
}

size_t tensor_walk_byte(const tensor_walk_t* walk) {
  return (size_t)walk->place * walk->tensor->type->size;
}

void* tensor_walk_at(const tensor_walk_t* walk) {
  return walk->tensor->model + tensor_walk_byte(walk);
}

number_t* tensor_numbers(tbk_fixture_t* fx, const tensor_t* tensor) {
  number_t* numbers = (number_t*)(void*)fx_zeros(fx, ((size_t)tensor->count + 1) * sizeof *numbers);
  for (tensor_walk_t w = tensor_first(tensor); w.index < tensor->count; tensor_step(&w))
    numbers[w.index] = number_load(tensor->type, tensor_walk_at(&w));
  return numbers;
}

void tensor_upload(tbk_fixture_t* fx, tensor_t* tensor) {
  if (tensor->memory == 0) tensor->memory = fx_alloc(fx, tensor->block_bytes);
  fx_upload(fx, tensor->memory, tensor->model, tensor->block_bytes);
}

/* `block` is what was read of the tensor's. */
static bool check_element(tbk_fixture_t* fx, const tensor_walk_t* walk, const uint8_t* block,
                          int64_t ulps, const char* name, tbk_here_t here) {
  const tensor_t* tensor = walk->tensor;
  const void* expected = tensor_walk_at(walk);
  const uint8_t* seen = block + tensor_walk_byte(walk);
  if (number_same(tensor->type, expected, seen, ulps)) return true;
  TBK_CHECKS(fx_late_clause(fx, block, tensor->memory, tensor->block_bytes));
  char expected_text[96];
  char seen_text[96];
  number_print(tensor->type, expected, expected_text, sizeof expected_text);
  number_print(tensor->type, seen, seen_text, sizeof seen_text);
  return tbk_check_said(false, here, expected_text, "%s in %s, %s, element %lld of %lld", seen_text,
                        name, tensor->type->name, (long long)walk->index, (long long)tensor->count);
}

/* Whether the first byte that differs lies before the last element, and behind the first. */
static bool is_between(const tensor_t* tensor, const uint8_t* expected, const uint8_t* seen) {
  if (tensor->count == 0) return false;
  const uint8_t* ends[] = {tensor_at(tensor, 0), tensor_at(tensor, tensor->count - 1)};
  uint64_t first = (uint64_t)(ends[ends[1] < ends[0]] - tensor->model);
  uint64_t last = (uint64_t)(ends[ends[1] > ends[0]] - tensor->model);
  uint64_t at = 0;
  while (at < tensor->block_bytes && expected[at] == seen[at])
    ++at;
  return first < at && at < last;
}

bool tensor_check(tbk_fixture_t* fx, const tensor_t* tensor, int64_t ulps, const char* name,
                  tbk_here_t here) {
  uint8_t* seen = fx_zeros(fx, tensor->block_bytes);
  uint8_t* expected = fx_zeros(fx, tensor->block_bytes);
  fx_download(fx, seen, tensor->memory, tensor->block_bytes);
  memcpy(expected, tensor->model, tensor->block_bytes);
  for (tensor_walk_t w = tensor_first(tensor); w.index < tensor->count; tensor_step(&w)) {
    const size_t place = tensor_walk_byte(&w);
    if (!check_element(fx, &w, seen, ulps, name, here)) return false;
    memcpy(expected + place, seen + place, tensor->type->size);
  }
  TBK_CHECKS(is_between(tensor, expected, seen) ? "KRN-116" : "KRN-003");
  here.text = "bytes around the elements";
  return tbk_check_bytes(expected, seen, tensor->block_bytes, here);
}

bool tensor_check_bits(tbk_fixture_t* fx, const tensor_t* tensor, const uint8_t* expected,
                       const char* name, tbk_here_t here) {
  uint8_t* seen = fx_zeros(fx, tensor->block_bytes);
  fx_download(fx, seen, tensor->memory, tensor->block_bytes);
  here.text = name;
  return tbk_check_bytes(expected, seen, tensor->block_bytes, here);
}

void tensor_describe(const tensor_t* tensor, tbk_tensor_t* view, int64_t* sizes, int64_t* strides) {
  for (int32_t k = 0; k < tensor->rank; ++k) {
    sizes[k] = tensor->sizes[k];
    strides[k] = tensor->strides[k];
  }
  *view = (tbk_tensor_t){.struct_size = sizeof *view,
                         .memory = tensor->memory,
                         .storage_bytes = tensor->storage_bytes,
                         .offset = tensor->offset,
                         .dtype = tensor->type->dtype,
                         .rank = tensor->rank,
                         .sizes = sizes,
                         .strides = strides};
}
