/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arguments.c: copies of arguments, and what mutants ask of tensors.
 */
#include "arguments.h"

#include <stdlib.h>
#include <string.h>

typedef struct operator_shape {
  const char* name;
  size_t size;
  size_t tensors[COPY_TENSORS + 1]; /* offsets, the output last; 0 ends */
} operator_shape_t;

#define TENSOR(op, member) offsetof(tbk_args_##op##_t, member),
#define SHAPE(op) \
  {TBK_NAME_##op, sizeof(tbk_args_##op##_t), {TBK_INPUTS_##op(TENSOR) TBK_OUTPUTS_##op(TENSOR)}},

static const operator_shape_t operators[] = {TBK_OPERATOR_MAP(SHAPE)};

static const operator_shape_t* find_operator(const char* name) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  }
  return NULL;
}

size_t arguments_size(const char* name) {
  const operator_shape_t* shape = find_operator(name);
  return shape == NULL ? 0 : shape->size;
}

static const tbk_tensor_t* tensor_at(const operator_shape_t* shape, const void* arguments, int i) {
  const tbk_tensor_t* tensor = NULL;
  memcpy(&tensor, (const char*)arguments + shape->tensors[i], sizeof(void*));
  return tensor;
}

bool arguments_copy(arguments_copy_t* copy, const char* name, const void* arguments) {
  const operator_shape_t* shape = find_operator(name);
  if (shape == NULL || arguments == NULL || *(const size_t*)arguments < shape->size) return false;
  memcpy(&copy->as, arguments, shape->size);
  copy->as.struct_size = shape->size;
  for (copy->count = 0; shape->tensors[copy->count] != 0; ++copy->count) {
    const int i = copy->count;
    const tbk_tensor_t* tensor = tensor_at(shape, arguments, i);
    if (tensor == NULL || tensor->rank < 0 || tensor->rank > COPY_RANK) return false;
    copy->tensors[i] = *tensor;
    for (int32_t k = 0; k < tensor->rank; ++k) {
      copy->sizes[i][k] = tensor->sizes[k];
      copy->strides[i][k] = tensor->strides[k];
    }
    copy->tensors[i].sizes = copy->sizes[i];
    copy->tensors[i].strides = copy->strides[i];
    tensor = &copy->tensors[i];
    memcpy((char*)&copy->as + shape->tensors[i], &tensor, sizeof(void*));
  }
  return true;
}

void arguments_borrow_shapes(arguments_copy_t* copy, const char* name, const void* arguments) {
  const operator_shape_t* shape = find_operator(name);
  for (int i = 0; shape != NULL && i < copy->count; ++i) {
    copy->tensors[i].sizes = tensor_at(shape, arguments, i)->sizes;
    copy->tensors[i].strides = tensor_at(shape, arguments, i)->strides;
  }
}

tbk_tensor_t* arguments_output(arguments_copy_t* copy) {
  return &copy->tensors[copy->count - 1];
}

const tbk_args_pointwise_t* pointwise_arguments(const void* arguments) {
  const tbk_args_pointwise_t* a = arguments;
  bool fits = a->struct_size >= sizeof *a && tbk_program_check(a->program, NULL) == TBK_OK &&
              tbk_pointwise_check(a, NULL) == TBK_OK;
  return fits ? a : NULL;
}

uint64_t tensor_elements(const tbk_tensor_t* tensor) {
  uint64_t count = 1;
  for (int32_t k = 0; k < tensor->rank; ++k)
    count *= (uint64_t)tensor->sizes[k];
  return count;
}

bool tensor_contiguous(const tbk_tensor_t* tensor) {
  int64_t expected = 1;
  for (int32_t k = tensor->rank; k-- > 0;) {
    if (tensor->sizes[k] != 1 && tensor->strides[k] != expected) return false;
    expected *= tensor->sizes[k];
  }
  return true;
}

void tensor_make_contiguous(arguments_copy_t* copy, int index) {
  int64_t stride = 1;
  for (int32_t k = copy->tensors[index].rank; k-- > 0;) {
    copy->strides[index][k] = stride;
    stride *= copy->sizes[index][k];
  }
}

void tensor_clear(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                  tbk_stream_t* stream) {
  const uint64_t size = dtype_bytes(tensor->dtype), bytes = tensor_elements(tensor) * size;
  const uint64_t start = (uint64_t)tensor->offset * size;
  if (bytes == 0 || !tensor_contiguous(tensor)) return;
  ignore(INNER(self, core)->fill(self, device, tensor->memory, start, 0, bytes, stream, NULL));
}

void tensor_change(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                   tbk_stream_t* stream, void (*change)(void* elements, uint64_t count)) {
  const tbk_backend_t* inner = wrap_of(self)->inner;
  const uint64_t count = tensor_elements(tensor), size = dtype_bytes(tensor->dtype);
  const uint64_t start = (uint64_t)tensor->offset * size;
  if (count == 0 || size == 0 || !tensor_contiguous(tensor)) return;
  void* elements = malloc(count * size);
  if (elements == NULL) return;
  if (stream != NULL) ignore(inner->stream->stream_synchronize(self, stream, NULL));
  if (inner->core->download(self, device, elements, tensor->memory, start, count * size, NULL,
                            NULL) == TBK_OK) {
    change(elements, count);
    ignore(inner->core->upload(self, device, tensor->memory, start, elements, count * size, NULL,
                               NULL));
  }
  free(elements);
}
