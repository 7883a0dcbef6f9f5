/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: add.Tensor on float32 of any strides, compiled with NVRTC when it is first asked for.
 */
#include <stdlib.h>
#include <string.h>

#include <tbk/tbk_operators.h>

#include "cuda.h"

enum { MAX_RANK = 8, BLOCK = 256 };

/* Passed to the kernel by value; the same declaration stands in its source below. */
typedef struct add_parameters {
  uint64_t out, self, other;
  int64_t count;
  int64_t sizes[MAX_RANK];
  int64_t out_strides[MAX_RANK], self_strides[MAX_RANK], other_strides[MAX_RANK];
  int32_t rank;
  float alpha;
} add_parameters_t;

static const char source[] =
    "struct parameters {\n"
    "  float* out; const float* self; const float* other;\n"
    "  long long count;\n"
    "  long long sizes[8], out_strides[8], self_strides[8], other_strides[8];\n"
    "  int rank; float alpha;\n"
    "};\n"
    "extern \"C\" __global__ void tbk_add(const parameters p) {\n"
    "  long long step = (long long)gridDim.x * blockDim.x;\n"
    "  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  for (; i < p.count; i += step) {\n"
    "    long long rest = i, to = 0, from = 0, with = 0;\n"
    "    for (int k = p.rank - 1; k >= 0; k--) {\n"
    "      long long place = rest % p.sizes[k];\n"
    "      rest /= p.sizes[k];\n"
    "      to += place * p.out_strides[k];\n"
    "      from += place * p.self_strides[k];\n"
    "      with += place * p.other_strides[k];\n"
    "    }\n"
    "    p.out[to] = p.self[from] + p.alpha * p.other[with];\n"
    "  }\n"
    "}\n";

static uint64_t first_element(const tbk_tensor_t* tensor) {
  return tensor->memory + (uint64_t)tensor->offset * sizeof(float);
}

static bool same_sizes(const tbk_tensor_t* a, const tbk_tensor_t* b) {
  return a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof *a->sizes) == 0);
}

/* NULL if the kernel can do it, else the reason why not. */
static const char* refusal(const tbk_args_add_Tensor_t* arguments) {
  const tbk_tensor_t* tensors[] = {arguments->self, arguments->other, arguments->out};
  for (size_t i = 0; i < 3; i++) {
    if (tensors[i]->dtype != TBK_FLOAT32) return "only float32 is offered";
    if (tensors[i]->rank > MAX_RANK) return "a rank above 8";
    if (!same_sizes(tensors[i], arguments->out)) return "operands that are not broadcast";
  }
  if (arguments->alpha.kind == TBK_SCALAR_COMPLEX) return "a complex alpha";
  return NULL;
}

static add_parameters_t translate(const tbk_args_add_Tensor_t* arguments) {
  add_parameters_t parameters = {
      .out = first_element(arguments->out),
      .self = first_element(arguments->self),
      .other = first_element(arguments->other),
      .count = 1,
      .rank = arguments->out->rank,
      .alpha = arguments->alpha.kind == TBK_SCALAR_DOUBLE ? (float)arguments->alpha.real
                                                          : (float)arguments->alpha.integer,
  };
  for (int32_t k = 0; k < parameters.rank; k++) {
    parameters.sizes[k] = arguments->out->sizes[k];
    parameters.out_strides[k] = arguments->out->strides[k];
    parameters.self_strides[k] = arguments->self->strides[k];
    parameters.other_strides[k] = arguments->other->strides[k];
    parameters.count *= parameters.sizes[k];
  }
  return parameters;
}

static tbk_status_t launch_add(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                               const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_add_Tensor_t* add = arguments;
  if (add == NULL || add->struct_size < sizeof *add) {
    return cuda_fail(error, TBK_INVALID, "the arguments are cut short");
  }
  const char* reason = refusal(add);
  if (reason != NULL) return cuda_fail(error, TBK_UNSUPPORTED, "add.Tensor: %s", reason);
  cu_stream queue;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  add_parameters_t parameters = translate(add);
  cu_result result = CU_OK;
  if (parameters.count > 0) {
    int64_t blocks = (parameters.count + BLOCK - 1) / BLOCK;
    void* pointers[] = {&parameters};
    result = cuda_driver()->launch_kernel(self->devices[device].add,
                                          (unsigned)(blocks < 65535 ? blocks : 65535), 1, 1, BLOCK,
                                          1, 1, 0, queue, pointers, NULL);
  }
  return cuda_end(self, device, stream, result, "add.Tensor", error);
}

static const tbk_kernel_t add_kernel = {
    .struct_size = sizeof(tbk_kernel_t),
    .launch = launch_add,
};

static void load_kernels(cuda_device_t* device) {
  const cuda_driver_t* driver = cuda_driver();
  int major = 0;
  int minor = 0;
  char* ptx = NULL;
  driver->device_get_attribute(&major, CU_ATTRIBUTE_CC_MAJOR, device->handle);
  driver->device_get_attribute(&minor, CU_ATTRIBUTE_CC_MINOR, device->handle);
  if (!cuda_compile(source, major, minor, &ptx)) return;
  if (driver->module_load_data(&device->module, ptx) != CU_OK ||
      driver->module_get_function(&device->add, device->module, "tbk_add") != CU_OK) {
    device->add = NULL;
  }
  free(ptx);
}

void cuda_kernels_unload(cuda_device_t* device) {
  if (device->module != NULL) cuda_driver()->module_unload(device->module);
  device->module = NULL;
  device->add = NULL;
}

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  if (name == NULL || strcmp(name, TBK_NAME_add_Tensor) != 0 || version != TBK_VERSION_add_Tensor ||
      cuda_enter(self, device, NULL) != TBK_OK) {
    return NULL;
  }
  pthread_mutex_lock(&self->lock);
  cuda_device_t* state = &self->devices[device];
  if (!state->kernels_tried) {
    load_kernels(state);
    state->kernels_tried = true;
  }
  bool offered = state->add != NULL;
  pthread_mutex_unlock(&self->lock);
  if (cuda_leave(self, device, CU_OK, "finding a kernel", NULL) != TBK_OK) return NULL;
  return offered ? &add_kernel : NULL;
}

const tbk_kernel_ops_t cuda_kernel_ops = {
    .struct_size = sizeof(tbk_kernel_ops_t),
    .kernel_find = kernel_find,
};
