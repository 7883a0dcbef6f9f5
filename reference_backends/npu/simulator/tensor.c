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
  static const int dtypes[] = {/* one more, so that 0 is none */
#define SIM_DTYPE(name, value) [value] = TBK_##name + 1,
                               ACL_DTYPE_MAP(SIM_DTYPE)
#undef SIM_DTYPE
  };
  const bool is_known = acl_dtype >= 0 && (size_t)acl_dtype < sizeof dtypes / sizeof *dtypes;
  return is_known && dtypes[acl_dtype] > 0 ? dtypes[acl_dtype] - 1 : SIM_NO_DTYPE;
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

int64_t sim_last_element(const sim_tensor_t* tensor) {
  int64_t last = tensor->offset;
  for (int i = 0; i < tensor->rank; i++) {
    if (tensor->sizes[i] == 0) return -1;
    last += (tensor->sizes[i] - 1) * tensor->strides[i];
  }
  return last;
}

/* Begins a call that is given all it describes, or breaks a rule. */
static bool begin(bool is_given, const char* call) {
  if (sim_begin(call) != ACL_OK) return false;
  return is_given || sim_broken(SIM_NN_NULL, call) == ACL_OK;
}

/* A tensor of more dimensions than operators take is described, and refused by them. */
acl_tensor* api_create_tensor(const int64_t* sizes, uint64_t rank, int dtype,
                              const int64_t* strides, int64_t offset, int format,
                              const int64_t* storage_sizes, uint64_t storage_rank, void* data) {
  static const char call[] = "aclCreateTensor";
  sim_tensor_t tensor = {.dtype = sim_dtype_of(dtype), .offset = offset, .data = (uintptr_t)data};
  int64_t elements = 1;
  if (!begin((sizes != NULL || rank == 0) && (storage_sizes != NULL || storage_rank == 0), call))
    return NULL;
  tensor.rank = rank <= EMIT_MAX_RANK ? (int)rank : SIM_TOO_MANY;
  bool right = tensor.rank == SIM_TOO_MANY || describe(&tensor, sizes, strides);
  if ((!right || !is_plain(format)) && sim_broken(SIM_DESCRIPTION, call) != ACL_OK) return NULL;
  for (uint64_t i = 0; i < storage_rank; i++)
    elements *= storage_sizes[i];
  tensor.storage_bytes = (uint64_t)elements * (uint64_t)tbk_dtype_bytes(tensor.dtype);
  bool inside = tensor.rank == SIM_TOO_MANY || sim_last_element(&tensor) < elements;
  if (!inside && sim_broken(SIM_STORAGE, call) != ACL_OK) return NULL;
  if (tensor.data % SIM_UNIT != 0 && sim_broken(SIM_BASE, call) != ACL_OK) return NULL;
  return (acl_tensor*)(void*)sim_object_add(
      &(sim_object_t){.kind = SIM_TENSOR, .as.tensor = tensor});
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
  *out = (tbk_scalar_t){.kind = TBK_SCALAR_INT};
  if (dtype == ACL_INT64) {
    memcpy(&out->integer, value, sizeof out->integer);
  } else if (dtype == ACL_BOOL) {
    *out = (tbk_scalar_t){.kind = TBK_SCALAR_BOOL, .integer = *(const bool*)value};
  } else if (dtype == ACL_FLOAT64 || dtype == ACL_COMPLEX128) {
    memcpy(parts, value, dtype == ACL_FLOAT64 ? sizeof parts[0] : sizeof parts);
    out->kind = dtype == ACL_FLOAT64 ? TBK_SCALAR_DOUBLE : TBK_SCALAR_COMPLEX;
    out->real = parts[0];
    out->imaginary = parts[1];
  } else {
    return false;
  }
  return true;
}

acl_scalar* api_create_scalar(void* value, int dtype) {
  sim_object_t object = {.kind = SIM_SCALAR};
  if (!begin(value != NULL, "aclCreateScalar")) return NULL;
  if (!read_scalar(value, dtype, &object.as.scalar)) {
    (void)sim_refuse(ACL_UNSUPPORTED_DTYPE, "scalars are INT64, DOUBLE, BOOL or COMPLEX128");
    return NULL;
  }
  return (acl_scalar*)(void*)sim_object_add(&object);
}

/* Makes an object of a copy of `bytes` that it refers to, at `place`. */
static sim_object_t* add_with(sim_object_t* value, const void** place, const void* from,
                              size_t bytes) {
  void* copy = malloc(bytes + 1);
  if (copy != NULL && bytes > 0) memcpy(copy, from, bytes);
  *place = copy;
  sim_object_t* made = copy != NULL ? sim_object_add(value) : NULL;
  if (copy == NULL) (void)sim_no_memory();
  if (made == NULL) free(copy);
  return made;
}

acl_ints* api_create_ints(const int64_t* items, uint64_t count) {
  if (!begin(items != NULL || count == 0, "aclCreateIntArray")) return NULL;
  sim_object_t value = {.kind = SIM_INTS, .as.ints.count = count};
  return (acl_ints*)(void*)add_with(&value, (const void**)&value.as.ints.items, items,
                                    count * sizeof *items);
}

/* The members are the list's from now on (R). */
acl_list* api_create_list(const acl_tensor* const* items, uint64_t count) {
  static const char call[] = "aclCreateTensorList";
  sim_object_t* member;
  if (sim_begin(call) != ACL_OK) return NULL;
  for (uint64_t i = 0; i < count; i++)
    if (sim_object_find(items[i], SIM_TENSOR, call, &member) != ACL_OK) return NULL;
  sim_object_t value = {.kind = SIM_LIST, .as.list.count = count};
  return (acl_list*)(void*)add_with(&value, (const void**)&value.as.list.items, items,
                                    count * sizeof(const acl_tensor*));
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
