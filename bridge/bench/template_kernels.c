/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * template_kernels.c: the template backend with two kernels in C, so that the way of an operator
 * through PyTorch, the bridge and the ABI can be timed on it. The template has ten functions and no
 * table of kernels, by design: everything else here is the template itself, loaded from beside this.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_operators.h>

enum { MAX_RANK = 8 };

static const tbk_backend_t* template_backend; /* of the one instance that a process makes of this */

typedef struct cursor {
  char* data;
  int64_t strides[MAX_RANK]; /* bytes */
} cursor_t;

static int64_t size_of(int32_t dtype) {
  return dtype == TBK_INT64 ? 8 : 4;
}

static cursor_t cursor_at(const tbk_tensor_t* tensor) {
  const int64_t element = size_of(tensor->dtype);
  cursor_t cursor = {.data = (char*)(uintptr_t)tensor->memory + tensor->offset * element};
  for (int32_t d = 0; d < tensor->rank; d++)
    cursor.strides[d] = tensor->strides[d] * element;
  return cursor;
}

static char* element(const cursor_t* cursor, const int64_t* index, int32_t rank) {
  char* at = cursor->data;
  for (int32_t d = 0; d < rank; d++)
    at += index[d] * cursor->strides[d];
  return at;
}

/* Steps through `sizes`, last dimension first; false when it is back at the beginning. */
static bool next(int64_t* index, const tbk_tensor_t* tensor) {
  for (int32_t d = tensor->rank - 1; d >= 0; d--) {
    if (++index[d] < tensor->sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

static bool is_empty(const tbk_tensor_t* tensor) {
  for (int32_t d = 0; d < tensor->rank; d++)
    if (tensor->sizes[d] == 0) return true;
  return false;
}

static float factor_of(const tbk_scalar_t* alpha) {
  return alpha->kind == TBK_SCALAR_DOUBLE ? (float)alpha->real : (float)alpha->integer;
}

static tbk_status_t add(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                        const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)kernel, (void)stream, (void)error;
  const tbk_args_add_Tensor_t* args = arguments;
  if (is_empty(args->out)) return TBK_OK;
  const cursor_t a = cursor_at(args->self), b = cursor_at(args->other), c = cursor_at(args->out);
  const float alpha = factor_of(&args->alpha);
  const int32_t rank = args->out->rank;
  int64_t index[MAX_RANK] = {0};
  do {
    *(float*)element(&c, index, rank) =
        *(float*)element(&a, index, rank) + alpha * *(float*)element(&b, index, rank);
  } while (next(index, args->out));
  return TBK_OK;
}

static float as_float(const char* from, int32_t dtype) {
  return dtype == TBK_INT64 ? (float)*(const int64_t*)from : *(const float*)from;
}

static tbk_status_t copy(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                         const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)kernel, (void)stream;
  const tbk_args_copy__t* args = arguments;
  if (args->self->dtype != TBK_FLOAT32) {
    if (error) snprintf(error->message, sizeof error->message, "copies to float32 only");
    return TBK_UNSUPPORTED;
  }
  if (is_empty(args->self)) return TBK_OK;
  const cursor_t to = cursor_at(args->self), from = cursor_at(args->src);
  const int32_t rank = args->self->rank;
  int64_t index[MAX_RANK] = {0};
  do {
    *(float*)element(&to, index, rank) = as_float(element(&from, index, rank), args->src->dtype);
  } while (next(index, args->self));
  return TBK_OK;
}

static const tbk_kernel_t add_kernel = {sizeof add_kernel, add, NULL, NULL, NULL};
static const tbk_kernel_t copy_kernel = {sizeof copy_kernel, copy, NULL, NULL, NULL};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  (void)self, (void)device;
  if (version == TBK_VERSION_add_Tensor && strcmp(name, TBK_NAME_add_Tensor) == 0)
    return &add_kernel;
  if (version == TBK_VERSION_copy_ && strcmp(name, TBK_NAME_copy_) == 0) return &copy_kernel;
  return NULL;
}

static const tbk_kernel_ops_t kernel_ops = {sizeof kernel_ops, kernel_find};

static tbk_status_t device_properties(tbk_instance_t* self, int32_t device,
                                      tbk_device_properties_t* out, tbk_error_t* error) {
  tbk_status_t status = template_backend->core->device_properties(self, device, out, error);
  if (status != TBK_OK || out->struct_size < sizeof *out) return status;
  out->dtypes = UINT64_C(1) << TBK_FLOAT32 | UINT64_C(1) << TBK_INT64;
  out->max_rank = MAX_RANK;
  return TBK_OK;
}

/* The template's library, which lies beside this one. */
static tbk_backend_create_fn find_template(void) {
  Dl_info here;
  char path[4096];
  if (!dladdr((const void*)&kernel_ops, &here)) return NULL;
  const char* slash = strrchr(here.dli_fname, '/');
  const int folder = slash ? (int)(slash - here.dli_fname) : 0;
  snprintf(path, sizeof path, "%.*s/libtbk_template.so", folder, here.dli_fname);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library ? (tbk_backend_create_fn)dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
}

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  static tbk_core_t core;
  static tbk_backend_t backend;
  tbk_backend_create_fn create = find_template();
  if (!create) {
    if (error) snprintf(error->message, sizeof error->message, "no libtbk_template.so beside this");
    return TBK_UNSUPPORTED;
  }
  tbk_status_t status = create(host, &template_backend, error);
  if (status != TBK_OK) return status;
  core = *template_backend->core;
  core.device_properties = device_properties;
  backend = *template_backend;
  backend.name = "tbk_template_kernels";
  backend.core = &core;
  backend.kernel = &kernel_ops;
  *out_backend = &backend;
  return TBK_OK;
}
