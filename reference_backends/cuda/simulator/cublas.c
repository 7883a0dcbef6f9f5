/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cublas.c: the part of cuBLAS that belongs to the simulated driver. A product is computed by the kernel
 * that emit has for it, compiled for the host: what cuBLAS would round otherwise is not shown. TF32 is
 * shown by what it loses: the product has its 10 bits.
 */
#include "../cublas.h"

#include <emit/job.h>
#include <stdio.h>
#include <string.h>

#include "simulator.h"

#define SIM_DECLARE_CUBLAS(member, symbol, parameters) \
  SIM_EXPORT int cublas_##member parameters __asm__(symbol);
CUDA_CUBLAS_MAP(SIM_DECLARE_CUBLAS)
#undef SIM_DECLARE_CUBLAS

enum { WORKSPACE_ALIGNMENT = 256, MATH_KNOWN = 3 | CUBLAS_MATH_NO_NARROW_SUMS };

/* The status of cuBLAS for what the driver would answer. */
static int status_of(cu_result result) {
  switch (result) {
    case CU_OK:
      return CUBLAS_OK;
    case CU_INVALID_VALUE:
      return CUBLAS_INVALID_VALUE;
    case CU_OUT_OF_MEMORY:
      return CUBLAS_ALLOC_FAILED;
    case 3:
    case 201:
    case 400:
      return CUBLAS_NOT_INITIALIZED;
    default:
      return CUBLAS_EXECUTION_FAILED;
  }
}

#define BROKEN(rule, call) status_of(sim_broken(rule, call))

/* Begins a call in a context, and finds the handle, which is one of that context. */
static int begin(cublas_handle handle, const char* call, cu_context* out_context,
                 sim_object_t** out_handle) {
  cu_result result = sim_begin_in_context(call, out_context);
  if (result == CU_OK) result = sim_object_find(handle, SIM_CUBLAS, call, out_handle);
  if (result != CU_OK) return status_of(result);
  if ((*out_handle)->context != *out_context) return BROKEN(SIM_CUBLAS_CONTEXT, call);
  return CUBLAS_OK;
}

int cublas_get_property(int property, int* out_value) {
  static const int version[] = {12, 8, 4};
  if (property < 0 || property > 2 || out_value == NULL)
    return BROKEN(SIM_CUBLAS_ARGUMENT, "cublasGetProperty");
  *out_value = version[property];
  return CUBLAS_OK;
}

int cublas_create(cublas_handle* out_handle) {
  cu_context context;
  void* handle = NULL;
  cu_result result = sim_begin_in_context("cublasCreate", &context);
  if (result != CU_OK) return status_of(result);
  if (out_handle == NULL) return BROKEN(SIM_NULL_POINTER, "cublasCreate");
  const sim_object_t value = {.kind = SIM_CUBLAS, .context = context};
  result = sim_object_add(&value, &handle);
  if (result == CU_OK) *out_handle = handle;
  return status_of(result);
}

int cublas_destroy(cublas_handle handle) {
  cu_context context;
  sim_object_t* object;
  const int status = begin(handle, "cublasDestroy", &context, &object);
  if (status != CUBLAS_OK) return status;
  vdev_device_synchronize(context->device, NULL);
  return status_of(sim_object_destroy(handle, SIM_CUBLAS, "cublasDestroy"));
}

int cublas_set_pointer_mode(cublas_handle handle, int mode) {
  cu_context context;
  sim_object_t* object;
  const int status = begin(handle, "cublasSetPointerMode", &context, &object);
  if (status != CUBLAS_OK) return status;
  if (mode < 0 || mode > 1) return BROKEN(SIM_CUBLAS_ARGUMENT, "cublasSetPointerMode");
  object->blas.scalars_on_device = mode == 1;
  return CUBLAS_OK;
}

int cublas_set_math_mode(cublas_handle handle, int mode) {
  cu_context context;
  sim_object_t* object;
  const int status = begin(handle, "cublasSetMathMode", &context, &object);
  if (status != CUBLAS_OK) return status;
  if ((mode & ~MATH_KNOWN) != 0) return BROKEN(SIM_CUBLAS_ARGUMENT, "cublasSetMathMode");
  object->blas.math = mode;
  return CUBLAS_OK;
}

/* The stream is looked up again when work goes there. Setting it takes the workspace away. */
int cublas_set_stream(cublas_handle handle, cu_stream stream) {
  static const char call[] = "cublasSetStream";
  cu_context context;
  sim_object_t *object, *found;
  const int status = begin(handle, call, &context, &object);
  if (status != CUBLAS_OK) return status;
  if (stream != NULL) {
    cu_result result = sim_object_find(stream, SIM_STREAM, call, &found);
    if (result != CU_OK) return status_of(result);
  }
  object->blas.stream = stream;
  object->blas.workspace = 0;
  return CUBLAS_OK;
}

int cublas_set_workspace(cublas_handle handle, cu_deviceptr workspace, size_t size_bytes) {
  static const char call[] = "cublasSetWorkspace";
  cu_context context;
  sim_object_t* object;
  sim_block_t block;
  const int status = begin(handle, call, &context, &object);
  if (status != CUBLAS_OK) return status;
  if (workspace % WORKSPACE_ALIGNMENT != 0) return BROKEN(SIM_CUBLAS_WORKSPACE, call);
  if (workspace != 0 &&
      (!sim_find_block(context, workspace, &block) || size_bytes > block.size_bytes - block.offset))
    return BROKEN(SIM_RANGE, call);
  object->blas.workspace = workspace;
  return CUBLAS_OK;
}

/* One of the three matrices of a product, as cuBLAS sees it: `rows` by `columns` after its form. */
typedef struct matrix {
  cu_deviceptr at;
  int64_t rows, columns, step;
  bool transposed;
} matrix_t;

typedef struct type {
  int type, dtype, bytes;
  bool wide;
} type_t;

static const type_t* find_type(int type) {
  static const type_t types[] = {
      {CUDA_FLOAT, TBK_FLOAT32, 4, false},     {CUDA_DOUBLE, TBK_FLOAT64, 8, true},
      {CUDA_HALF, TBK_FLOAT16, 2, false},      {CUDA_BFLOAT16, TBK_BFLOAT16, 2, false},
      {CUDA_COMPLEX, TBK_COMPLEX64, 8, false}, {CUDA_COMPLEX_DOUBLE, TBK_COMPLEX128, 16, true},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == type) return &types[i];
  return NULL;
}

/* How long a column is where it lies in memory, and how many there are. */
static int64_t length_of(const matrix_t* matrix) {
  return matrix->transposed ? matrix->columns : matrix->rows;
}

static bool is_in_range(cu_context context, const matrix_t* matrix, int bytes) {
  sim_block_t block;
  const int64_t count = matrix->transposed ? matrix->rows : matrix->columns;
  if (matrix->rows == 0 || matrix->columns == 0) return true;
  const uint64_t size =
      (uint64_t)((count - 1) * matrix->step + length_of(matrix)) * (uint64_t)bytes;
  return matrix->at % (uint64_t)bytes == 0 && sim_find_block(context, matrix->at, &block) &&
         size <= block.size_bytes - block.offset;
}

/* A product on its way: a launch of emit's kernel, and what TF32 would leave of it. */
typedef struct product {
  sim_launch_t launch; /* first */
  matrix_t out;
  cu_deviceptr workspace;
  bool narrow;
} product_t;

static void round_to_tf32(const product_t* product) {
  sim_block_t block;
  if (!sim_find_block(product->launch.context, product->out.at, &block)) return;
  for (int64_t column = 0; column < product->out.columns; column++) {
    uint32_t* at = (uint32_t*)(void*)(block.at + block.offset) + column * product->out.step;
    for (int64_t row = 0; row < product->out.rows; row++)
      at[row] &= UINT32_C(0xffffe000);
  }
}

/* The workspace is used by the work, and so must still be there. */
static void run(vdev_work_t* work) {
  product_t* product = (product_t*)work;
  sim_block_t block;
  if (product->workspace != 0 &&
      !sim_find_block(product->launch.context, product->workspace, &block)) {
    const cu_result fault = sim_broken(SIM_CUBLAS_FREED, "the work of cublasGemmEx");
    if (fault != CU_OK) sim_kill(product->launch.context, fault);
    return;
  }
  sim_launch_run(work);
  if (product->narrow) round_to_tf32(product);
}

static const emit_host_kernel_t* find_kernel(int dtype) {
  char options[EMIT_OPTIONS_BYTES];
  snprintf(options, sizeof options, "-DMM -DOUT=%d", dtype);
  const emit_host_kernel_t* const* kernel = emit_host_kernels;
  while (*kernel != NULL && strcmp((*kernel)->options, options) != 0)
    kernel++;
  return *kernel;
}

/* The shape of the kernel's job. Its tiles are 8 by 8. */
static emit_shape_t shape_of(const matrix_t* out, const matrix_t* left, const matrix_t* right) {
  emit_shape_t shape = {.count = out->rows * out->columns, .rank = 2, .inner = left->columns};
  const matrix_t* const all[] = {out, left, right};
  shape.sizes[0] = out->rows;
  shape.sizes[1] = out->columns;
  for (int i = 0; i < 3; i++) {
    shape.strides[i][0] = all[i]->transposed ? all[i]->step : 1;
    shape.strides[i][1] = all[i]->transposed ? 1 : all[i]->step;
  }
  return shape;
}

static int enqueue(const sim_object_t* handle, vdev_stream_t* queue, const type_t* type,
                   const matrix_t matrices[3], bool narrow) {
  emit_shape_t shape = shape_of(&matrices[0], &matrices[1], &matrices[2]);
  cu_deviceptr pointers[EMIT_HOST_POINTERS] = {matrices[0].at, matrices[1].at, matrices[2].at, 0};
  uint64_t none[2] = {0};
  void* parameters[EMIT_HOST_PARAMETERS] = {&shape,       none,         &pointers[0],
                                            &pointers[1], &pointers[2], &pointers[3]};
  const int64_t groups = (shape.sizes[0] + 7) / 8 * ((shape.sizes[1] + 7) / 8);
  if (groups == 0) return CUBLAS_OK;
  product_t* product = vdev_work_new(sizeof *product, run);
  if (product == NULL) return CUBLAS_ALLOC_FAILED;
  product->out = matrices[0];
  product->workspace = handle->blas.workspace;
  product->narrow = narrow;
  (void)sim_launch_set(&product->launch, handle->context, find_kernel(type->dtype), groups,
                       parameters);
  return status_of(sim_of_status(vdev_submit(queue, product)));
}

static bool are_sizes(const matrix_t* matrix) {
  const int64_t length = length_of(matrix);
  return matrix->rows >= 0 && matrix->columns >= 0 && matrix->step >= (length > 1 ? length : 1);
}

/* Scalars where the handle's mode says, and those that this simulator knows: 1 and 0. Others a real library
 * serves, so that to refuse them would let a caller compute in another way what was asked for by mistake. */
static int check_scalars(const sim_object_t* handle, const void* alpha, const void* beta,
                         bool wide) {
  static const char call[] = "cublasGemmEx";
  const void* const scalars[] = {alpha, beta};
  sim_block_t block;
  for (int i = 0; i < 2; i++) {
    if (scalars[i] == NULL) return BROKEN(SIM_NULL_POINTER, call);
    const bool on_device =
        sim_find_block(handle->context, (cu_deviceptr)(uintptr_t)scalars[i], &block);
    if (on_device != handle->blas.scalars_on_device) return BROKEN(SIM_CUBLAS_SCALARS, call);
  }
  if (handle->blas.scalars_on_device) return BROKEN(SIM_CUBLAS_OTHER, call);
  const double one = wide ? *(const double*)alpha : (double)*(const float*)alpha;
  const double none = wide ? *(const double*)beta : (double)*(const float*)beta;
  return one == 1 && none == 0 ? CUBLAS_OK : BROKEN(SIM_CUBLAS_OTHER, call);
}

static bool is_computed_in(const type_t* type, int computed_in) {
  if (type->wide) return computed_in == CUBLAS_COMPUTE_DOUBLE_EXACT || computed_in == 70;
  const bool plain =
      computed_in == CUBLAS_COMPUTE_FLOAT || computed_in == CUBLAS_COMPUTE_FLOAT_EXACT;
  return plain || (computed_in == CUBLAS_COMPUTE_TF32 && type->bytes != 2);
}

/* A product as it was asked for: the result, then the factors. */
typedef struct asked {
  matrix_t matrices[3];
  const type_t* type;
  int types[3], computed_in;
  const void *alpha, *beta;
} asked_t;

static int check(const sim_object_t* handle, const asked_t* asked) {
  static const char call[] = "cublasGemmEx";
  const type_t* type = asked->type;
  if (type == NULL || asked->types[1] != type->type || asked->types[2] != type->type ||
      !is_computed_in(type, asked->computed_in))
    return CUBLAS_NOT_SUPPORTED;
  const int status = check_scalars(handle, asked->alpha, asked->beta, type->wide);
  if (status != CUBLAS_OK) return status;
  for (int i = 0; i < 3; i++)
    if (!is_in_range(handle->context, &asked->matrices[i], type->bytes))
      return BROKEN(SIM_RANGE, call);
  return CUBLAS_OK;
}

static int submit(const sim_object_t* handle, const asked_t* asked) {
  cu_context context;
  vdev_stream_t* queue;
  const cu_result result =
      sim_begin_on_stream(handle->blas.stream, "cublasGemmEx", &context, &queue);
  if (result != CU_OK) return status_of(result);
  sim_count_work(context, queue);
  const bool exact = asked->computed_in == CUBLAS_COMPUTE_FLOAT_EXACT;
  const bool may =
      asked->computed_in == CUBLAS_COMPUTE_TF32 || (handle->blas.math & 3) == CUBLAS_MATH_TF32;
  return enqueue(handle, queue, asked->type, asked->matrices,
                 may && !exact && asked->type->type == CUDA_FLOAT);
}

static bool is_form(int form) {
  return form == CUBLAS_AS_IT_IS || form == CUBLAS_TRANSPOSED;
}

int cublas_gemm(cublas_handle handle, int left_form, int right_form, int rows, int columns,
                int inner, const void* alpha, cu_deviceptr left, int left_type, int left_step,
                cu_deviceptr right, int right_type, int right_step, const void* beta,
                cu_deviceptr out, int out_type, int out_step, int computed_in, int algorithm) {
  static const char call[] = "cublasGemmEx";
  cu_context context;
  sim_object_t* object;
  const asked_t asked = {{{out, rows, columns, out_step, false},
                          {left, rows, inner, left_step, left_form != CUBLAS_AS_IT_IS},
                          {right, inner, columns, right_step, right_form != CUBLAS_AS_IT_IS}},
                         find_type(out_type),
                         {out_type, left_type, right_type},
                         computed_in,
                         alpha,
                         beta};
  int status = begin(handle, call, &context, &object);
  if (status != CUBLAS_OK) return status;
  if (!is_form(left_form) || !is_form(right_form) || algorithm != CUBLAS_ALGORITHM_DEFAULT ||
      !are_sizes(&asked.matrices[0]) || !are_sizes(&asked.matrices[1]) ||
      !are_sizes(&asked.matrices[2]))
    return BROKEN(SIM_CUBLAS_ARGUMENT, call);
  status = check(object, &asked);
  return status == CUBLAS_OK ? submit(object, &asked) : status;
}
