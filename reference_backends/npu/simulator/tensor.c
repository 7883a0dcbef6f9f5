/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor.c: what describes the operands of an operator.
 */
#include <stdlib.h>
#include <string.h>

#include <tbk/dtypes.h>

#include "operator.h"

int sim_dtype_of(int acl_dtype) {
  static const struct {
    int acl, own;
  } dtypes[] = {
#define SIM_DTYPE(name, value) {value, TBK_##name},
      ACL_DTYPE_MAP(SIM_DTYPE)
#undef SIM_DTYPE
  };
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].acl == acl_dtype) return dtypes[i].own;
  return SIM_NO_DTYPE;
}

static bool is_plain(int format) {
  return format == ACL_FORMAT_ND || format == ACL_FORMAT_NCHW || format == ACL_FORMAT_NCDHW ||
         format == ACL_FORMAT_NCL;
}

/* Copies what is said of a tensor; false where a number is negative. */
static bool describe(sim_tensor_t* tensor, const int64_t* sizes, const int64_t* strides) {
  int64_t next = 1;
  bool right = tensor->offset >= 0;
  for (int i = tensor->rank; i-- > 0;) {
    tensor->sizes[i] = sizes[i];
    tensor->strides[i] = strides != NULL ? strides[i] : next;
    next *= sizes[i];
    right = right && tensor->sizes[i] >= 0 && tensor->strides[i] >= 0;
  }
  return right;
}

/* The number of the last element that the tensor has; -1 where it has none. */
static int64_t last_element(const sim_tensor_t* tensor) {
  int64_t last = tensor->offset;
  for (int i = 0; i < tensor->rank; i++) {
    if (tensor->sizes[i] == 0) return -1;
    last += (tensor->sizes[i] - 1) * tensor->strides[i];
  }
  return last;
}

static acl_tensor* make(const sim_tensor_t* tensor) {
  const sim_object_t value = {.kind = SIM_TENSOR, .as.tensor = *tensor};
  sim_object_t* object = sim_object_add(&value);
  if (object == NULL) (void)sim_refuse(ACL_BAD_ALLOC, "no host memory left");
  return (acl_tensor*)(void*)object;
}

/* A tensor of more dimensions than operators take is described, and refused by them. */
acl_tensor* api_create_tensor(const int64_t* sizes, uint64_t rank, int dtype,
                              const int64_t* strides, int64_t offset, int format,
                              const int64_t* storage_sizes, uint64_t storage_rank, void* data) {
  static const char call[] = "aclCreateTensor";
  sim_tensor_t tensor = {.dtype = sim_dtype_of(dtype), .offset = offset, .data = (uintptr_t)data};
  int64_t elements = 1;
  if (sim_begin(call) != ACL_OK) return NULL;
  if ((sizes == NULL && rank > 0) || (storage_sizes == NULL && storage_rank > 0)) {
    (void)sim_broken(SIM_NN_NULL, call);
    return NULL;
  }
  tensor.rank = rank <= EMIT_MAX_RANK ? (int)rank : SIM_TOO_MANY;
  bool right = tensor.rank == SIM_TOO_MANY || describe(&tensor, sizes, strides);
  if ((!right || !is_plain(format)) && sim_broken(SIM_DESCRIPTION, call) != ACL_OK) return NULL;
  for (uint64_t i = 0; i < storage_rank; i++)
    elements *= storage_sizes[i];
  tensor.storage_bytes = (uint64_t)elements * (uint64_t)tbk_dtype_bytes(tensor.dtype);
  bool inside = tensor.rank == SIM_TOO_MANY || last_element(&tensor) < elements;
  if (!inside && sim_broken(SIM_STORAGE, call) != ACL_OK) return NULL;
  if (tensor.data % SIM_UNIT != 0 && sim_broken(SIM_BASE, call) != ACL_OK) return NULL;
  return make(&tensor);
}

static acl_result destroy(const void* handle, sim_kind_t kind, const char* call) {
  sim_object_t* object;
  acl_result result = sim_begin(call);
  if (result == ACL_OK) result = sim_object_find(handle, kind, call, &object);
  if (result != ACL_OK) return result;
  return sim_object_destroy(object, call);
}

acl_result api_destroy_tensor(const void* tensor) {
  return destroy(tensor, SIM_TENSOR, "aclDestroyTensor");
}

acl_result api_destroy_scalar(const void* scalar) {
  return destroy(scalar, SIM_SCALAR, "aclDestroyScalar");
}

acl_result api_destroy_ints(const void* ints) {
  return destroy(ints, SIM_INTS, "aclDestroyIntArray");
}

/* The kinds of scalars that torch_npu makes, and no others (O op_api_common.cpp:972). */
static bool read_scalar(const void* value, int dtype, tbk_scalar_t* out) {
  double parts[2] = {0, 0};
  bool truth;
  switch (dtype) {
    case ACL_INT64:
      out->kind = TBK_SCALAR_INT;
      memcpy(&out->integer, value, sizeof out->integer);
      return true;
    case ACL_BOOL:
      memcpy(&truth, value, sizeof truth);
      *out = (tbk_scalar_t){.kind = TBK_SCALAR_BOOL, .integer = truth};
      return true;
    case ACL_FLOAT64:
      memcpy(parts, value, sizeof parts[0]);
      *out = (tbk_scalar_t){.kind = TBK_SCALAR_DOUBLE, .real = parts[0]};
      return true;
    case ACL_COMPLEX128:
      memcpy(parts, value, sizeof parts);
      *out = (tbk_scalar_t){.kind = TBK_SCALAR_COMPLEX, .real = parts[0], .imaginary = parts[1]};
      return true;
    default:
      return false;
  }
}

acl_scalar* api_create_scalar(void* value, int dtype) {
  sim_object_t object = {.kind = SIM_SCALAR};
  if (sim_begin("aclCreateScalar") != ACL_OK) return NULL;
  if (value == NULL) {
    (void)sim_broken(SIM_NN_NULL, "aclCreateScalar");
    return NULL;
  }
  if (!read_scalar(value, dtype, &object.as.scalar)) {
    (void)sim_refuse(ACL_UNSUPPORTED_DTYPE, "scalars are INT64, DOUBLE, BOOL or COMPLEX128");
    return NULL;
  }
  sim_object_t* made = sim_object_add(&object);
  if (made == NULL) (void)sim_refuse(ACL_BAD_ALLOC, "no host memory left");
  return (acl_scalar*)(void*)made;
}

acl_ints* api_create_ints(const int64_t* items, uint64_t count) {
  if (sim_begin("aclCreateIntArray") != ACL_OK) return NULL;
  if (items == NULL && count > 0) {
    (void)sim_broken(SIM_NN_NULL, "aclCreateIntArray");
    return NULL;
  }
  int64_t* copy = calloc(count + 1, sizeof *copy);
  sim_object_t value = {.kind = SIM_INTS, .as.ints = {copy, count}};
  if (copy != NULL && count > 0) memcpy(copy, items, count * sizeof *copy);
  sim_object_t* made = copy != NULL ? sim_object_add(&value) : NULL;
  if (made == NULL) free(copy);
  if (made == NULL) (void)sim_refuse(ACL_BAD_ALLOC, "no host memory left");
  return (acl_ints*)(void*)made;
}

/* The members are the list's from now on (R). */
acl_list* api_create_list(const acl_tensor* const* items, uint64_t count) {
  static const char call[] = "aclCreateTensorList";
  sim_object_t* member;
  if (sim_begin(call) != ACL_OK) return NULL;
  for (uint64_t i = 0; i < count; i++)
    if (sim_object_find(items[i], SIM_TENSOR, call, &member) != ACL_OK) return NULL;
  const acl_tensor** copy = calloc(count + 1, sizeof *copy);
  if (copy != NULL && count > 0) memcpy(copy, items, count * sizeof(const acl_tensor*));
  const sim_object_t value = {.kind = SIM_LIST, .as.list = {copy, count}};
  sim_object_t* made = copy != NULL ? sim_object_add(&value) : NULL;
  if (made == NULL) free(copy);
  if (made == NULL) (void)sim_refuse(ACL_BAD_ALLOC, "no host memory left");
  return (acl_list*)(void*)made;
}

acl_result api_destroy_list(const void* list) {
  static const char call[] = "aclDestroyTensorList";
  sim_object_t* object;
  acl_result result = sim_begin(call);
  if (result == ACL_OK) result = sim_object_find(list, SIM_LIST, call, &object);
  for (uint64_t i = 0; result == ACL_OK && i < object->as.list.count; i++)
    result = destroy(object->as.list.items[i], SIM_TENSOR, call);
  return result == ACL_OK ? sim_object_destroy(object, call) : result;
}
