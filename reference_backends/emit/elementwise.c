/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * elementwise.c: operators whose kernels have an item for each element of the output.
 */
#include <stdio.h>
#include <string.h>

#include "inside.h"

static void set_shape(emit_job_t* job) {
  const emit_view_t* out = &job->operands[0];
  emit_shape_t* shape = &job->shape;
  shape->count = out->count;
  shape->rank = out->rank;
  memcpy(shape->sizes, out->sizes, sizeof shape->sizes);
  for (int k = 0; k < job->operand_count; k++) {
    shape->offsets[k] = job->operands[k].offset;
    memcpy(shape->strides[k], job->operands[k].strides, sizeof shape->strides[k]);
  }
  emit_fold(&shape->rank, shape->sizes, shape->strides, job->operand_count);
  job->groups = emit_groups(shape->count);
}

void emit_set_raw(emit_job_t* job, const char* kernel) {
  const emit_view_t* out = &job->operands[0];
  snprintf(job->options, sizeof job->options, "-D%s -DBYTES=%d", kernel, (int)out->element_bytes);
  job->scalar_bytes = (size_t)out->element_bytes;
  set_shape(job);
}

void emit_set_arithmetic(emit_job_t* job, const char* kernel) {
  snprintf(job->options, sizeof job->options, "-D%s -DOUT=%d", kernel, job->operands[0].dtype);
  set_shape(job);
}

void emit_set_no_scalar(emit_job_t* job) {
  const tbk_scalar_t none = {.kind = TBK_SCALAR_INT};
  job->scalar_bytes = emit_scalar_computed(&none, job->operands[0].dtype, job->scalar);
}

static tbk_status_t build_fill(const void* arguments, bool bound, emit_job_t* job,
                               tbk_error_t* error) {
  const tbk_args_fill__Scalar_t* args = arguments;
  tbk_status_t status = emit_add_output(args->self, bound, job, error);
  if (status != TBK_OK) return status;
  if (!emit_scalar_element(&args->value, job->operands[0].dtype, job->scalar))
    return emit_fail(error, TBK_UNSUPPORTED, "a complex value for dtype %d",
                     job->operands[0].dtype);
  emit_set_raw(job, "FILL");
  return TBK_OK;
}

static tbk_status_t build_copy(const void* arguments, bool bound, emit_job_t* job,
                               tbk_error_t* error) {
  const tbk_args_copy__t* args = arguments;
  tbk_status_t status = emit_add_output(args->self, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(args->src, bound, job, error);
  if (status == TBK_OK) status = emit_want_same_sizes(job, error);
  if (status != TBK_OK) return status;
  if (job->operands[0].dtype == job->operands[1].dtype) {
    emit_set_raw(job, "COPY");
  } else {
    emit_set_arithmetic(job, "CONVERT");
    emit_set_no_scalar(job);
    job->shape.inner = job->operands[1].dtype;
  }
  return TBK_OK;
}

/* Output and two inputs of one dtype and the same sizes. */
static tbk_status_t add_binary(const tbk_tensor_t* out, const tbk_tensor_t* self,
                               const tbk_tensor_t* other, bool bound, emit_job_t* job,
                               tbk_error_t* error) {
  tbk_status_t status = emit_add_output(out, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(self, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(other, bound, job, error);
  for (int i = 1; i <= 2 && status == TBK_OK; i++)
    status = emit_want_dtype(&job->operands[i], job->operands[0].dtype, error);
  return status == TBK_OK ? emit_want_same_sizes(job, error) : status;
}

static tbk_status_t build_add(const void* arguments, bool bound, emit_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_add_Tensor_t* args = arguments;
  tbk_status_t status = add_binary(args->out, args->self, args->other, bound, job, error);
  if (status != TBK_OK) return status;
  job->scalar_bytes = emit_scalar_computed(&args->alpha, job->operands[0].dtype, job->scalar);
  if (job->scalar_bytes == 0)
    return emit_fail(error, TBK_UNSUPPORTED, "alpha does not fit dtype %d", job->operands[0].dtype);
  emit_set_arithmetic(job, "ADD");
  return TBK_OK;
}

static tbk_status_t build_mul(const void* arguments, bool bound, emit_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_mul_Tensor_t* args = arguments;
  tbk_status_t status = add_binary(args->out, args->self, args->other, bound, job, error);
  if (status != TBK_OK) return status;
  emit_set_arithmetic(job, "MUL");
  emit_set_no_scalar(job);
  return TBK_OK;
}

static tbk_status_t build_where(const void* arguments, bool bound, emit_job_t* job,
                                tbk_error_t* error) {
  const tbk_args_where_self_t* args = arguments;
  tbk_status_t status = emit_add_output(args->out, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(args->condition, bound, job, error);
  if (status == TBK_OK) status = emit_want_dtype(&job->operands[1], TBK_BOOL, error);
  if (status == TBK_OK) status = emit_add_operand(args->self, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(args->other, bound, job, error);
  for (int i = 2; i <= 3 && status == TBK_OK; i++)
    status = emit_want_dtype(&job->operands[i], job->operands[0].dtype, error);
  if (status == TBK_OK) status = emit_want_same_sizes(job, error);
  if (status == TBK_OK) emit_set_raw(job, "WHERE");
  return status;
}

const emit_operator_t emit_fill = {TBK_NAME_fill__Scalar, TBK_VERSION_fill__Scalar,
                                   sizeof(tbk_args_fill__Scalar_t), build_fill};
const emit_operator_t emit_copy = {TBK_NAME_copy_, TBK_VERSION_copy_, sizeof(tbk_args_copy__t),
                                   build_copy};
const emit_operator_t emit_add = {TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor,
                                  sizeof(tbk_args_add_Tensor_t), build_add};
const emit_operator_t emit_mul = {TBK_NAME_mul_Tensor, TBK_VERSION_mul_Tensor,
                                  sizeof(tbk_args_mul_Tensor_t), build_mul};
const emit_operator_t emit_where = {TBK_NAME_where_self, TBK_VERSION_where_self,
                                    sizeof(tbk_args_where_self_t), build_where};
