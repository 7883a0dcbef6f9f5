/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * product.c: matrix products by cuBLAS, where it has the dtype and the strides; else the kernel of emit
 * serves, on the same job. A device has one handle, made when it is first needed and used under a lock:
 * stream and workspace belong to the handle and not to the call.
 */
#include <stdint.h>
#include <string.h>

#include "cublas.h"
#include "job.h"

enum { WORKSPACE_BYTES = 4 << 20 };

/* How cuBLAS computes a dtype: in its own format or a wider one, float32 without TF32. */
typedef struct format {
  int32_t dtype;
  int type, computed_in, math;
} format_t;

static const format_t* find_format(int32_t dtype) {
  static const format_t formats[] = {
      {TBK_FLOAT16, CUDA_HALF, CUBLAS_COMPUTE_FLOAT, CUBLAS_MATH_NO_NARROW_SUMS},
      {TBK_BFLOAT16, CUDA_BFLOAT16, CUBLAS_COMPUTE_FLOAT, CUBLAS_MATH_NO_NARROW_SUMS},
      {TBK_FLOAT32, CUDA_FLOAT, CUBLAS_COMPUTE_FLOAT_EXACT, CUBLAS_MATH_DEFAULT},
      {TBK_FLOAT64, CUDA_DOUBLE, CUBLAS_COMPUTE_DOUBLE_EXACT, CUBLAS_MATH_DEFAULT},
      {TBK_COMPLEX64, CUDA_COMPLEX, CUBLAS_COMPUTE_FLOAT_EXACT, CUBLAS_MATH_DEFAULT},
      {TBK_COMPLEX128, CUDA_COMPLEX_DOUBLE, CUBLAS_COMPUTE_DOUBLE_EXACT, CUBLAS_MATH_DEFAULT},
  };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (formats[i].dtype == dtype) return &formats[i];
  return NULL;
}

/* A matrix in memory: its rows (or its columns, where `by_columns`) lie in one piece, `step` apart. */
typedef struct layout {
  bool by_columns;
  int step;
} layout_t;

/* Whether lines of `length` elements, `count` of them, lie in one piece each. A line of one element has
 * any stride, and so has the only line. */
static bool is_in_lines(int64_t length, int64_t stride, int64_t count, int64_t step, int* out) {
  const int64_t least = length > 1 ? length : 1;
  if (count <= 1) step = least;
  if ((length > 1 && stride != 1) || step < least || step > INT32_MAX) return false;
  *out = (int)step;
  return true;
}

static bool find_layout(const emit_view_t* view, layout_t* out) {
  const int64_t *n = view->sizes, *by = view->strides;
  out->by_columns = false;
  if (is_in_lines(n[1], by[1], n[0], by[0], &out->step)) return true;
  out->by_columns = true;
  return is_in_lines(n[0], by[0], n[1], by[1], &out->step);
}

static cu_deviceptr address_of(const emit_view_t* view) {
  return view->memory + (uint64_t)(view->offset * view->element_bytes);
}

/* Whether cuBLAS can do it: what it cannot, or would answer with an error, is left to the kernel. */
static bool is_served(const emit_job_t* job, layout_t layouts[3]) {
  const emit_view_t* views = job->operands;
  if (strncmp(job->options, "-DMM ", 5) != 0 || find_format(views[0].dtype) == NULL) return false;
  for (int i = 0; i < 3; i++) {
    if (views[i].count == 0 || views[i].sizes[0] > INT32_MAX || views[i].sizes[1] > INT32_MAX)
      return false;
    if (!find_layout(&views[i], &layouts[i])) return false;
  }
  return true;
}

/* cuBLAS's matrices lie by columns. A product whose rows lie in one piece is, read by columns, its own
 * transpose: out' = right' * left', so that the factors change places. */
static int multiply(cublas_handle handle, const emit_job_t* job, const layout_t layouts[3]) {
  static const double one[2] = {1, 0}, none[2] = {0, 0};
  static const float one_float[2] = {1, 0};
  const emit_view_t* views = job->operands;
  const format_t* format = find_format(views[0].dtype);
  const bool by_rows = !layouts[0].by_columns;
  const int first = by_rows ? 2 : 1, second = by_rows ? 1 : 2;
  const bool wide = format->computed_in == CUBLAS_COMPUTE_DOUBLE_EXACT;
  const int forms[2] = {layouts[first].by_columns == by_rows,
                        layouts[second].by_columns == by_rows};
  return cuda_cublas()->gemm(handle, forms[0], forms[1], (int)views[0].sizes[by_rows ? 1 : 0],
                             (int)views[0].sizes[by_rows ? 0 : 1], (int)views[1].sizes[1],
                             wide ? (const void*)one : (const void*)one_float,
                             address_of(&views[first]), format->type, layouts[first].step,
                             address_of(&views[second]), format->type, layouts[second].step, none,
                             address_of(&views[0]), format->type, layouts[0].step,
                             format->computed_in, CUBLAS_ALGORITHM_DEFAULT);
}

/* Makes the handle of the device, once; false where it cannot be had. */
static bool find_handle(cuda_device_t* device, const cuda_cublas_t* cublas) {
  if (device->products != NULL || device->no_products) return device->products != NULL;
  int result = cublas->create(&device->products);
  if (result != CUBLAS_OK) device->products = NULL;
  if (result == CUBLAS_OK)
    result = cublas->set_pointer_mode(device->products, CUBLAS_SCALARS_ON_HOST);
  if (result != CUBLAS_OK) cuda_products_end(device);
  device->no_products = result != CUBLAS_OK && result != CUBLAS_ALLOC_FAILED;
  return device->products != NULL;
}

/* Stream and workspace are set for each call; the stream first, since it takes the workspace away. */
static int multiply_on(cuda_device_t* device, const emit_job_t* job, const layout_t layouts[3],
                       cu_deviceptr workspace, cu_stream queue) {
  const cuda_cublas_t* cublas = cuda_cublas();
  const format_t* format = find_format(job->operands[0].dtype);
  int result = cublas->set_stream(device->products, queue);
  if (result == CUBLAS_OK)
    result = cublas->set_workspace(device->products, workspace, WORKSPACE_BYTES);
  if (result == CUBLAS_OK) result = cublas->set_math_mode(device->products, format->math);
  return result == CUBLAS_OK ? multiply(device->products, job, layouts) : result;
}

/* What could not be enqueued has had no effect, and the kernel may serve; what failed in work is the
 * driver's to say. */
static bool is_refusal(int result) {
  return result == CUBLAS_NOT_INITIALIZED || result == CUBLAS_ALLOC_FAILED ||
         result == CUBLAS_ARCH_MISMATCH || result == CUBLAS_NOT_SUPPORTED;
}

static cu_result translate(int result, cu_stream queue) {
  enum { UNKNOWN = 999 };
  if (result == CUBLAS_OK) return CU_OK;
  const cu_result told = cuda_driver()->stream_query(queue);
  return told == CU_OK || told == CU_NOT_READY ? UNKNOWN : told;
}

/* Enqueues with a workspace of the stream; refused where there is no memory for one. */
static int multiply_with_workspace(cuda_device_t* device, const emit_job_t* job,
                                   const layout_t layouts[3], cu_stream queue,
                                   cu_result* out_result) {
  cu_deviceptr workspace = 0;
  *out_result = cuda_take(device, queue, WORKSPACE_BYTES, &workspace);
  if (*out_result == CU_OUT_OF_MEMORY) {
    *out_result = CU_OK;
    return CUBLAS_ALLOC_FAILED;
  }
  if (*out_result != CU_OK) return CUBLAS_OK;
  const int result = multiply_on(device, job, layouts, workspace, queue);
  if (!is_refusal(result)) *out_result = translate(result, queue);
  /* In the order of the stream, so after the product. */
  const cu_result freed = cuda_give(device, queue, workspace);
  if (*out_result == CU_OK) *out_result = freed;
  return result;
}

bool cuda_product_enqueue(cuda_device_t* device, const emit_job_t* job, cu_stream queue,
                          cu_result* out_result) {
  layout_t layouts[3];
  int result = CUBLAS_NOT_INITIALIZED;
  const cuda_cublas_t* cublas = cuda_cublas();
  *out_result = CU_OK;
  if (cublas == NULL || !is_served(job, layouts)) return false;
  pthread_mutex_lock(&device->product_lock);
  if (find_handle(device, cublas))
    result = multiply_with_workspace(device, job, layouts, queue, out_result);
  pthread_mutex_unlock(&device->product_lock);
  return !is_refusal(result) || *out_result != CU_OK;
}

void cuda_products_end(cuda_device_t* device) {
  if (device->products != NULL) (void)cuda_cublas()->destroy(device->products);
  device->products = NULL;
}
