/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "generic_copy.h"

#include <string.h>

static const tbk_tensor_t* view_of(generic_copy_t* c, size_t at, const tbk_tensor_t* old) {
  generic_view_t* view = &c->views[at];
  if (old == NULL) {
    view->tensor = (tbk_tensor_t){.rank = -1};
    return NULL;
  }
  view->tensor = *old;
  memcpy(view->sizes, old->sizes, (size_t)old->rank * sizeof(int64_t));
  memcpy(view->strides, old->strides, (size_t)old->rank * sizeof(int64_t));
  view->tensor.sizes = view->sizes;
  view->tensor.strides = view->strides;
  return c->list[at] = &view->tensor;
}

static bool copy_set(generic_copy_t* c, size_t s, const tbk_operand_set_t* old) {
  const size_t each = c->outputs + c->inputs, first = s * each;
  tbk_operand_set_t* set = &c->sets[s];
  if (s >= GENERIC_SETS || first + each > GENERIC_VIEWS) return false;
  *set = *old;
  for (size_t k = 0; k < each; k++)
    view_of(c, first + k, k < c->outputs ? old->outputs[k] : old->inputs[k - c->outputs]);
  set->outputs = &c->list[first];
  set->inputs = &c->list[first + c->outputs];
  if (c->number_count > 0) {
    memcpy(c->numbers[s], old->numbers, c->number_count * sizeof(uint64_t));
    set->numbers = c->numbers[s];
  }
  if (old->inner_sizes != NULL) {
    memcpy(c->inner_sizes[s], old->inner_sizes, old->inner_rank * sizeof(int64_t));
    set->inner_sizes = c->inner_sizes[s];
  }
  c->set_list[s] = set;
  return true;
}

static bool copy_sets(generic_copy_t* c, const tbk_operand_set_t* const* sets, size_t count) {
  c->set_count = count;
  for (size_t s = 0; s < count; s++)
    if (!copy_set(c, s, sets[s])) return false;
  return true;
}

static bool copy_pointwise(generic_copy_t* c, const void* arguments) {
  const tbk_args_pointwise_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_program_check(a->program, NULL) != TBK_OK ||
      tbk_pointwise_check(a, NULL) != TBK_OK)
    return false;
  c->as.pointwise = *a;
  c->outputs = a->program->result_count, c->inputs = a->program->input_count;
  c->number_count = a->program->number_count;
  c->as.pointwise.sets = c->set_list;
  return copy_sets(c, a->sets, a->set_count);
}

static void copy_reduction(generic_copy_t* c, const tbk_reduction_t* old) {
  c->reduction = *old;
  c->outputs = old->finish->result_count;
  c->inputs = old->map->input_count + old->finish->input_count;
  c->number_count = old->map->number_count;
}

static bool copy_reduce(generic_copy_t* c, const void* arguments) {
  const tbk_args_reduce_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_reduction_check(a->reduction, NULL) != TBK_OK ||
      tbk_reduce_check(a, NULL) != TBK_OK)
    return false;
  c->as.reduce = *a;
  copy_reduction(c, a->reduction);
  c->as.reduce.reduction = &c->reduction;
  c->as.reduce.sets = c->set_list;
  return copy_sets(c, a->sets, a->set_count);
}

static bool copy_scan(generic_copy_t* c, const void* arguments) {
  const tbk_args_scan_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_reduction_check(a->reduction, NULL) != TBK_OK ||
      tbk_scan_check(a, NULL) != TBK_OK)
    return false;
  c->as.scan = *a;
  copy_reduction(c, a->reduction);
  c->as.scan.reduction = &c->reduction;
  c->as.scan.sets = c->set_list;
  return copy_sets(c, a->sets, a->set_count);
}

static bool copy_index(generic_copy_t* c, const void* arguments) {
  const tbk_args_index_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_index_check(a, NULL) != TBK_OK) return false;
  c->as.index = *a;
  c->as.index.table = view_of(c, INDEX_TABLE, a->table);
  c->as.index.values = view_of(c, INDEX_VALUES, a->values);
  c->as.index.report = view_of(c, INDEX_REPORT, a->report);
  for (size_t k = 0; k < a->index_count; k++)
    view_of(c, INDEX_FIRST + k, a->indices[k]);
  if (a->index_count > 0) c->as.index.indices = &c->list[INDEX_FIRST];
  if (a->places != NULL) {
    memcpy(c->places, a->places, (size_t)a->table->rank * sizeof(int64_t));
    c->as.index.places = c->places;
  }
  return true;
}

static bool copy_sort(generic_copy_t* c, const void* arguments) {
  const tbk_args_sort_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_sort_check(a, NULL) != TBK_OK) return false;
  c->as.sort = *a;
  c->as.sort.input = view_of(c, SORT_INPUT, a->input);
  c->as.sort.values = view_of(c, SORT_VALUES, a->values);
  c->as.sort.indices = view_of(c, SORT_INDICES, a->indices);
  return true;
}

static bool copy_matmul(generic_copy_t* c, const void* arguments) {
  const tbk_args_matmul_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_matmul_check(a, NULL) != TBK_OK) return false;
  c->as.matmul = *a;
  c->as.matmul.a = view_of(c, MATMUL_A, a->a);
  c->as.matmul.b = view_of(c, MATMUL_B, a->b);
  c->as.matmul.c = view_of(c, MATMUL_C, a->c);
  c->as.matmul.out = view_of(c, MATMUL_OUT, a->out);
  return true;
}

static bool copy_convolution(generic_copy_t* c, const void* arguments) {
  const tbk_args_convolution_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_convolution_check(a, NULL) != TBK_OK) return false;
  const size_t bytes = (size_t)(a->input->rank - 2) * sizeof(int64_t);
  c->as.convolution = *a;
  c->as.convolution.output = view_of(c, CONVOLUTION_OUT, a->output);
  c->as.convolution.input = view_of(c, CONVOLUTION_IN, a->input);
  c->as.convolution.weight = view_of(c, CONVOLUTION_BY, a->weight);
  c->as.convolution.bias = view_of(c, CONVOLUTION_BIAS, a->bias);
  c->as.convolution.stride = memcpy(c->stride, a->stride, bytes);
  c->as.convolution.padding = memcpy(c->padding, a->padding, bytes);
  c->as.convolution.dilation = memcpy(c->dilation, a->dilation, bytes);
  return true;
}

static const struct {
  const char* name;
  bool (*copy)(generic_copy_t* c, const void* arguments);
} kinds[] = {
    {TBK_NAME_pointwise, copy_pointwise},
    {TBK_NAME_reduce, copy_reduce},
    {TBK_NAME_scan, copy_scan},
    {TBK_NAME_index, copy_index},
    {TBK_NAME_sort, copy_sort},
    {TBK_NAME_matmul, copy_matmul},
    {TBK_NAME_convolution, copy_convolution},
};

generic_copy_t* generic_copy_of(const char* name, const void* arguments) {
  static _Thread_local generic_copy_t copy;
  for (size_t i = 0; arguments != NULL && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) return kinds[i].copy(&copy, arguments) ? &copy : NULL;
  return NULL;
}

int64_t generic_elements(const generic_view_t* view) {
  int64_t count = 1;
  for (int32_t d = 0; d < view->tensor.rank; d++)
    count *= view->sizes[d];
  return count;
}

void generic_flatten(generic_view_t* view) {
  int64_t stride = 1;
  for (int32_t d = view->tensor.rank - 1; d >= 0; d--) {
    view->strides[d] = stride;
    stride *= view->sizes[d] > 0 ? view->sizes[d] : 1;
  }
}

void generic_turn(generic_view_t* view, int32_t dimension) {
  if (view->sizes[dimension] == 0) return;
  view->tensor.offset += (view->sizes[dimension] - 1) * view->strides[dimension];
  view->strides[dimension] = -view->strides[dimension];
}

bool generic_same(const generic_view_t* one, const generic_view_t* other) {
  return one->tensor.memory != 0 && one->tensor.memory == other->tensor.memory &&
         one->tensor.offset == other->tensor.offset;
}
