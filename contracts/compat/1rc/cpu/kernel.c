/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: the operators of <tbk/tbk_operators.h>, for FLOAT32, in plain loops; and random numbers.
 * A row reads its arguments into a job, which has no pointers of the caller's; the job is what runs.
 */
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_operators.h>

#include "cpu.h"

enum { RANK_MOST = 8, OPERANDS_MOST = 4 };

typedef struct operand {
  char* at; /* its first element */
  int32_t dtype;
  int32_t rank;
  int64_t sizes[RANK_MOST];
  int64_t strides[RANK_MOST];
} operand_t;

typedef struct job {
  void (*run)(struct job* job);
  operand_t out;
  operand_t in[OPERANDS_MOST - 1];
  float number;
  uint32_t reduced; /* bit d: dimension d of in[0] goes */
} job_t;

typedef struct kernel {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  tbk_status_t (*read)(const void* arguments, job_t* job, tbk_error_t* error);
} kernel_t;

/* ----------------------------------------------------------------------------------- operands -- */

static bool take(operand_t* operand, const tbk_tensor_t* tensor, int32_t dtype) {
  if (!tensor || tensor->dtype != dtype || tensor->rank < 0 || tensor->rank > RANK_MOST)
    return false;
  const int64_t element_bytes = dtype == TBK_BOOL ? 1 : (int64_t)sizeof(float);
  operand->at = (char*)(uintptr_t)tensor->memory + tensor->offset * element_bytes;
  operand->dtype = dtype;
  operand->rank = tensor->rank;
  if (tensor->rank > 0) {
    memcpy(operand->sizes, tensor->sizes, sizeof(int64_t) * (size_t)tensor->rank);
    memcpy(operand->strides, tensor->strides, sizeof(int64_t) * (size_t)tensor->rank);
  }
  return true;
}

/* Takes an operand that has the sizes of the output. */
static bool take_like(operand_t* operand, const tbk_tensor_t* tensor, int32_t dtype,
                      const operand_t* out) {
  return take(operand, tensor, dtype) && operand->rank == out->rank &&
         memcmp(operand->sizes, out->sizes, sizeof(int64_t) * (size_t)out->rank) == 0;
}

static int64_t count(const operand_t* operand) {
  int64_t elements = 1;
  for (int32_t d = 0; d < operand->rank; d++)
    elements *= operand->sizes[d];
  return elements;
}

/* Where the element with this number, counted along the last dimension first, lies. */
static int64_t offset_of(const operand_t* operand, int64_t place) {
  int64_t offset = 0;
  for (int32_t d = operand->rank - 1; d >= 0; d--) {
    offset += place % operand->sizes[d] * operand->strides[d];
    place /= operand->sizes[d];
  }
  return offset;
}

static float* at(const operand_t* operand, int64_t place) {
  return (float*)(void*)operand->at + offset_of(operand, place);
}

static bool take_number(const tbk_scalar_t* scalar, float* number) {
  *number = scalar->kind == TBK_SCALAR_DOUBLE ? (float)scalar->real : (float)scalar->integer;
  return scalar->kind != TBK_SCALAR_COMPLEX;
}

static tbk_status_t refuse(tbk_error_t* error) {
  return cpu_fail(TBK_UNSUPPORTED, error, "FLOAT32 of equal sizes and at most 8 dimensions alone");
}

/* ---------------------------------------------------------------------------------- operators -- */

static void run_fill(job_t* job) {
  for (int64_t i = 0, end = count(&job->out); i < end; i++)
    *at(&job->out, i) = job->number;
}

static tbk_status_t read_fill(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_fill__Scalar_t* args = arguments;
  job->run = run_fill;
  const bool fits =
      take(&job->out, args->self, TBK_FLOAT32) && take_number(&args->value, &job->number);
  return fits ? TBK_OK : refuse(error);
}

static void run_copy(job_t* job) {
  for (int64_t i = 0, end = count(&job->out); i < end; i++) {
    if (job->out.dtype == TBK_BOOL)
      job->out.at[offset_of(&job->out, i)] = job->in[0].at[offset_of(&job->in[0], i)];
    else
      *at(&job->out, i) = *at(&job->in[0], i);
  }
}

/* Of one dtype, whichever it is of the two. */
static tbk_status_t read_copy(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_copy__t* args = arguments;
  const int32_t dtype = args->self && args->self->dtype == TBK_BOOL ? TBK_BOOL : TBK_FLOAT32;
  job->run = run_copy;
  const bool fits =
      take(&job->out, args->self, dtype) && take_like(&job->in[0], args->src, dtype, &job->out);
  return fits ? TBK_OK : refuse(error);
}

static void run_add(job_t* job) {
  for (int64_t i = 0, end = count(&job->out); i < end; i++)
    *at(&job->out, i) = *at(&job->in[0], i) + job->number * *at(&job->in[1], i);
}

static tbk_status_t read_add(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_add_Tensor_t* args = arguments;
  job->run = run_add;
  const bool fits = take(&job->out, args->out, TBK_FLOAT32) &&
                    take_like(&job->in[0], args->self, TBK_FLOAT32, &job->out) &&
                    take_like(&job->in[1], args->other, TBK_FLOAT32, &job->out) &&
                    take_number(&args->alpha, &job->number);
  return fits ? TBK_OK : refuse(error);
}

static void run_mul(job_t* job) {
  for (int64_t i = 0, end = count(&job->out); i < end; i++)
    *at(&job->out, i) = *at(&job->in[0], i) * *at(&job->in[1], i);
}

static tbk_status_t read_mul(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_mul_Tensor_t* args = arguments;
  job->run = run_mul;
  const bool fits = take(&job->out, args->out, TBK_FLOAT32) &&
                    take_like(&job->in[0], args->self, TBK_FLOAT32, &job->out) &&
                    take_like(&job->in[1], args->other, TBK_FLOAT32, &job->out);
  return fits ? TBK_OK : refuse(error);
}

static void run_where(job_t* job) {
  for (int64_t i = 0, end = count(&job->out); i < end; i++)
    *at(&job->out, i) = *at(&job->in[job->in[2].at[offset_of(&job->in[2], i)] ? 0 : 1], i);
}

static tbk_status_t read_where(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_where_self_t* args = arguments;
  job->run = run_where;
  const bool fits = take(&job->out, args->out, TBK_FLOAT32) &&
                    take_like(&job->in[0], args->self, TBK_FLOAT32, &job->out) &&
                    take_like(&job->in[1], args->other, TBK_FLOAT32, &job->out) &&
                    take_like(&job->in[2], args->condition, TBK_BOOL, &job->out);
  return fits ? TBK_OK : refuse(error);
}

/* The dimensions of `operand` that are in the mask, or that are not. */
static operand_t part(const operand_t* operand, uint32_t mask, bool is_in) {
  operand_t one = {.at = operand->at};
  for (int32_t d = 0; d < operand->rank; d++) {
    if ((mask >> d & 1) != is_in) continue;
    one.sizes[one.rank] = operand->sizes[d];
    one.strides[one.rank++] = operand->strides[d];
  }
  return one;
}

/* Whether dimensions are kept as 1 changes nothing about the order of the outputs. */
static void run_sum(job_t* job) {
  const operand_t kept = part(&job->in[0], job->reduced, false);
  operand_t gone = part(&job->in[0], job->reduced, true);
  for (int64_t i = 0, end = count(&job->out); i < end; i++) {
    gone.at = (char*)at(&kept, i);
    double sum = 0;
    for (int64_t k = 0, terms = count(&gone); k < terms; k++)
      sum += *at(&gone, k);
    *at(&job->out, i) = (float)sum;
  }
}

static tbk_status_t read_sum(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_sum_dim_IntList_t* args = arguments;
  job->run = run_sum;
  if (!take(&job->out, args->out, TBK_FLOAT32) || !take(&job->in[0], args->self, TBK_FLOAT32))
    return refuse(error);
  const int64_t rank = job->in[0].rank;
  const size_t dims = args->dim ? args->dim->count : 0;
  if (dims == 0) job->reduced = UINT32_MAX;
  for (size_t i = 0; i < dims; i++) {
    const int64_t dim = args->dim->items[i] + (args->dim->items[i] < 0 ? rank : 0);
    if (dim < 0 || dim >= rank) return refuse(error);
    job->reduced |= UINT32_C(1) << dim;
  }
  return TBK_OK;
}

/* The output may be an input: a row is computed as a whole, and so may be a column. */
static void run_mm(job_t* job) {
  const operand_t *a = &job->in[0], *b = &job->in[1], *out = &job->out;
  const int64_t columns = out->sizes[1], size = count(out);
  float* product = size > 0 ? calloc((size_t)size, sizeof *product) : NULL;
  for (int64_t i = 0; product && i < size; i++) {
    double sum = 0;
    for (int64_t k = 0; k < a->sizes[1]; k++)
      sum += (double)*at(a, i / columns * a->sizes[1] + k) * *at(b, k * columns + i % columns);
    product[i] = (float)sum;
  }
  for (int64_t i = 0; product && i < size; i++)
    *at(out, i) = product[i];
  free(product);
}

static tbk_status_t read_mm(const void* arguments, job_t* job, tbk_error_t* error) {
  const tbk_args_mm_t* args = arguments;
  const operand_t *a = &job->in[0], *b = &job->in[1], *out = &job->out;
  job->run = run_mm;
  const bool fits = take(&job->out, args->out, TBK_FLOAT32) &&
                    take(&job->in[0], args->self, TBK_FLOAT32) &&
                    take(&job->in[1], args->mat2, TBK_FLOAT32) && a->rank == 2 && b->rank == 2 &&
                    out->rank == 2 && a->sizes[1] == b->sizes[0] && a->sizes[0] == out->sizes[0] &&
                    b->sizes[1] == out->sizes[1];
  return fits ? TBK_OK : refuse(error);
}

/* -------------------------------------------------------------------------------------- table -- */

static tbk_status_t read_job(const tbk_kernel_t* table, const void* arguments, job_t* job,
                             tbk_error_t* error) {
  const kernel_t* kernel = (const kernel_t*)table;
  if (!kernel || !arguments || *(const size_t*)arguments < kernel->arguments_bytes)
    return cpu_fail(TBK_INVALID, error, "no kernel, or arguments of another version");
  return kernel->read(arguments, job, error);
}

static void run_job(tbk_stream_t* stream, void* payload) {
  (void)stream;
  job_t* job = payload;
  job->run(job);
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, device, error);
  job_t job = {0};
  if (status == TBK_OK) status = read_job(kernel, arguments, &job, error);
  if (status != TBK_OK) return status;
  return cpu_submit(self, device, stream, run_job, &job, sizeof job, error);
}

/* There is nothing to prepare but the refusal. */
static tbk_status_t prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, device, error);
  job_t job = {0};
  if (status == TBK_OK && (!out_plan || !out_workspace_bytes))
    status = cpu_fail(TBK_INVALID, error, "no place for the answer");
  if (status == TBK_OK) status = read_job(kernel, arguments, &job, error);
  if (status != TBK_OK) return status;
  tbk_plan_t* plan = calloc(1, sizeof *plan);
  if (!plan) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a plan");
  plan->kernel = kernel;
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->plans, plan, entry);
  pthread_mutex_unlock(&self->lock);
  *out_plan = plan;
  *out_workspace_bytes = 0;
  return TBK_OK;
}

static tbk_status_t launch_plan(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  (void)workspace;
  (void)workspace_offset;
  return launch(self, device, plan ? plan->kernel : NULL, arguments, stream, error);
}

static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  if (!plan) return;
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(plan, entry);
  pthread_mutex_unlock(&self->lock);
  free(plan);
}

#define ROW(op, read)                                                                  \
  {                                                                                    \
    {sizeof(tbk_kernel_t), launch, prepare, launch_plan, plan_destroy}, TBK_NAME_##op, \
        TBK_VERSION_##op, sizeof(tbk_args_##op##_t), read                              \
  }

static const kernel_t kernels[] = {
    ROW(copy_, read_copy),     ROW(fill__Scalar, read_fill), ROW(add_Tensor, read_add),
    ROW(mul_Tensor, read_mul), ROW(where_self, read_where),  ROW(sum_dim_IntList, read_sum),
    ROW(mm, read_mm),
};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  if (!name || cpu_enter(self, device, NULL) == TBK_INVALID_STATE) return NULL;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (kernels[i].version == version && strcmp(kernels[i].name, name) == 0)
      return &kernels[i].table;
  }
  return NULL;
}

const tbk_kernel_ops_t cpu_kernel_ops = {sizeof cpu_kernel_ops, kernel_find};

/* ------------------------------------------------------------------------------------- random -- */

typedef struct draw {
  tbk_generator_t generator;
  uint32_t* to;
  uint64_t count;
} draw_t;

/* Philox4x32-10: four words for a counter under a key. */
static void philox(uint64_t seed, uint64_t number, uint32_t words[4]) {
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  words[0] = (uint32_t)number;
  words[1] = (uint32_t)(number >> 32);
  words[2] = words[3] = 0;
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)words[0] * 0xD2511F53u, b = (uint64_t)words[2] * 0xCD9E8D57u;
    words[0] = (uint32_t)(b >> 32) ^ words[1] ^ key[0];
    words[1] = (uint32_t)b;
    words[2] = (uint32_t)(a >> 32) ^ words[3] ^ key[1];
    words[3] = (uint32_t)a;
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
}

static void run_draw(tbk_stream_t* stream, void* payload) {
  (void)stream;
  const draw_t* draw = payload;
  uint32_t words[4] = {0};
  for (uint64_t i = 0; i < draw->count; i++) {
    if (i % 4 == 0) philox(draw->generator.seed, (draw->generator.offset + i) / 4, words);
    draw->to[i] = words[i % 4];
  }
}

static tbk_status_t random_bits(tbk_instance_t* self, int32_t device,
                                const tbk_generator_t* generator, tbk_memory_t memory,
                                uint64_t offset, uint64_t count, tbk_stream_t* stream,
                                tbk_error_t* error) {
  const tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (!generator || generator->offset % 4 != 0)
    return cpu_fail(TBK_INVALID, error, "no generator, or its offset is no multiple of 4");
  const draw_t draw = {*generator, (uint32_t*)(uintptr_t)(memory + offset), count};
  return cpu_submit(self, device, stream, run_draw, &draw, sizeof draw, error);
}

const tbk_random_ops_t cpu_random_ops = {sizeof cpu_random_ops, random_bits};
