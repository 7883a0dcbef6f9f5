/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faults.c: the kernels of bridge/example/operators in the template, right as they are; or with what
 * ACME_FAULT names in the environment of the process, so that checks of operators are seen to fail.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acme_operators.h"
#include "kernels.h"
#include "kinds_operators.h"

extern const tbk_kernel_ops_t acme_kernels; /* the example's */
int acme_is_open(tbk_instance_t* self, int32_t device);

int acme_is_open(tbk_instance_t* self, int32_t device) {
  return template_enter(self, device, NULL) == TBK_OK;
}

static bool has_fault(const char* name) {
  const char* fault = getenv("ACME_FAULT");
  return fault && strcmp(fault, name) == 0;
}

static float* first(const tbk_tensor_t* tensor) {
  return (float*)(uintptr_t)tensor->memory + tensor->offset;
}

/* What stands behind a kernel that a fault is put on. */
typedef struct faulty {
  tbk_kernel_t kernel; /* first: a pointer to it is one to all */
  const tbk_kernel_t* right;
} faulty_t;

/* Takes any float32 for contiguous. */
static tbk_tensor_t flattened(const tbk_tensor_t* tensor, int64_t* strides) {
  tbk_tensor_t flat = *tensor;
  int64_t expected = 1;
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    strides[i] = expected;
    expected *= tensor->sizes[i];
  }
  flat.strides = strides;
  return flat;
}

static tbk_status_t launch_swish(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                                 const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_kernel_t* right = ((const faulty_t*)kernel)->right;
  tbk_args_acme__swish_t args = *(const tbk_args_acme__swish_t*)arguments;
  int64_t strides[2][16];
  const tbk_tensor_t x = flattened(args.x, strides[0]), out = flattened(args.out, strides[1]);
  if (has_fault("crash")) abort();
  if (has_fault("layout")) args.x = &x, args.out = &out;
  const tbk_status_t status = right->launch(self, device, right, &args, stream, error);
  if (status != TBK_OK) return status;
  if (has_fault("value")) *first(args.out) += 1;
  if (has_fault("input")) *(float*)(uintptr_t)args.x->memory += 1;
  return status;
}

static tbk_status_t launch_backward(tbk_instance_t* self, int32_t device,
                                    const tbk_kernel_t* kernel, const void* arguments,
                                    tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_kernel_t* right = ((const faulty_t*)kernel)->right;
  const tbk_status_t status = right->launch(self, device, right, arguments, stream, error);
  if (status == TBK_OK && has_fault("gradient"))
    *first(((const tbk_args_acme__swish_backward_t*)arguments)->out) += 1;
  return status;
}

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  static faulty_t swish = {{sizeof(tbk_kernel_t), launch_swish, NULL, NULL, NULL}, NULL};
  static faulty_t backward = {{sizeof(tbk_kernel_t), launch_backward, NULL, NULL, NULL}, NULL};
  if (version == TBK_VERSION_kinds__total && strcmp(name, TBK_NAME_kinds__total) == 0)
    return acme_is_open(self, device) ? &total : NULL;
  const tbk_kernel_t* right = acme_kernels.kernel_find(self, device, name, version);
  if (!right) return NULL;
  faulty_t* found = strcmp(name, TBK_NAME_acme__swish) == 0            ? &swish
                    : strcmp(name, TBK_NAME_acme__swish_backward) == 0 ? &backward
                                                                       : NULL;
  if (!found) return right;
  found->right = right; /* the same each time */
  return &found->kernel;
}

const tbk_kernel_ops_t template_kernels = {sizeof template_kernels, kernel_find};
