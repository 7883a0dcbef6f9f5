/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operation.c: descriptors of tensors, and the two phases.
 */
#include "named.h"

#include <string.h>

enum { BASE_ALIGNMENT = 32 }; /* Da 00019 */

/* The two functions of an operator, whose first has a type of its own. */
typedef struct phases {
  void (*plan)(void);
  acl_issue issue;
} phases_t;

static phases_t phases_of(const npu_operator_t* operator) {
  phases_t phases;
  memcpy(&phases, (const char*)npu_nn() + operator->phases, sizeof phases);
  return phases;
}

bool npu_is_offered(const npu_operator_t* operator) {
  return npu_nn() != NULL && phases_of(operator).issue != NULL;
}

int npu_acl_dtype(int32_t dtype) {
  switch (dtype) {
#define CASE(name, value) \
  case TBK_##name:        \
    return ACL_##name;
    ACL_DTYPE_MAP(CASE)
#undef CASE
    default:
      return -1;
  }
}

/* As torch_npu chooses it (O op_api_common.cpp:917). */
static int format_of(int32_t rank) {
  static const int formats[] = {ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
  return rank >= 3 && rank <= 5 ? formats[rank - 3] : ACL_FORMAT_ND;
}

/* The offset stays beside the storage's base, which is aligned: what a handle lies beyond that joins the
 * offset. NULL where no descriptor can say it. */
acl_tensor* npu_describe_view(const emit_view_t* view) {
  const int64_t beyond = (int64_t)(view->memory % BASE_ALIGNMENT);
  int64_t offset = view->offset + beyond / view->element_bytes;
  int64_t storage = offset + 1; /* up to the last element that the view reaches */
  int64_t strides[EMIT_MAX_RANK];
  if (beyond % view->element_bytes != 0) return NULL;
  for (int32_t i = 0; i < view->rank; i++) {
    strides[i] = view->sizes[i] > 1 ? view->strides[i] : 1;
    if (strides[i] < 0) return NULL;
    storage += (view->sizes[i] - 1) * strides[i];
  }
  return npu_nn()->create_tensor(view->sizes, (uint64_t)view->rank, npu_acl_dtype(view->dtype),
                                 strides, offset, format_of(view->rank), &storage, 1,
                                 (void*)(uintptr_t)(view->memory - (uint64_t)beyond));
}

static void release(const acl_operators_t* nn, npu_parts_t* parts) {
  for (int i = 0; i < EMIT_OPERANDS; i++)
    if (parts->tensors[i] != NULL) nn->destroy_tensor(parts->tensors[i]);
  if (parts->scalar != NULL) nn->destroy_scalar(parts->scalar);
  if (parts->dims != NULL) nn->destroy_ints(parts->dims);
  memset(parts, 0, sizeof *parts);
}

static tbk_status_t build(const npu_operator_t* operator, const void* arguments,
                          const emit_job_t* job, npu_parts_t* parts, tbk_error_t* error) {
  const acl_operators_t* nn = npu_nn();
  memset(parts, 0, sizeof *parts);
  parts->dtype = npu_acl_dtype(job->operands[0].dtype);
  for (int i = 0; i < job->operand_count; i++) {
    parts->tensors[i] = npu_describe_view(&job->operands[i]);
    if (parts->tensors[i] != NULL) continue;
    release(nn, parts);
    return npu_fail(
        error, TBK_UNSUPPORTED,
        "%s: operand %d has a stride or a base that aclTensor cannot have", operator->symbol, i);
  }
  if (operator->complete == NULL || operator->complete(nn, arguments, job, parts)) return TBK_OK;
  release(nn, parts);
  return npu_fail(error, TBK_OUT_OF_MEMORY, "%s: no host memory", operator->symbol);
}

/* These are answers about the operands (Da): no kernel for their dtypes, formats or shapes. */
bool npu_is_refusal(acl_result result) {
  return result == ACL_NN_INVALID || result == ACL_NN_TILING || result == ACL_NN_NO_KERNEL;
}

tbk_status_t npu_plan(const npu_operator_t* operator, const void* arguments, const emit_job_t* job,
                      npu_step_t* out_step, tbk_error_t* error) {
  char text[200];
  memset(out_step, 0, sizeof *out_step);
  tbk_status_t status = build(operator, arguments, job, &out_step->parts, error);
  if (status != TBK_OK) return status;
  acl_result result = operator->plan(npu_nn(), &out_step->parts, &out_step->workspace_bytes,
                                     &out_step->executor);
  out_step->issue = phases_of(operator).issue;
  if (result == ACL_OK) return TBK_OK;
  npu_describe(result, text, sizeof text);
  release(npu_nn(), &out_step->parts);
  status = npu_is_refusal(result) ? TBK_UNSUPPORTED : npu_translate(result);
  return npu_fail(error, status, "%s: %s", operator->symbol, text);
}

acl_result npu_issue(npu_step_t* step, void* workspace, acl_stream stream) {
  acl_result result = step->issue(workspace, step->workspace_bytes, step->executor, stream);
  release(npu_nn(), &step->parts);
  return result;
}

/* An executor ends with its phase two; only one that is made repeatable can be ended without (Da 00041).
 * Operators that cannot be made so lose theirs: the documentation knows no other way. */
void npu_drop(npu_step_t* step) {
  const acl_operators_t* nn = npu_nn();
  if (nn->make_repeatable != NULL && nn->destroy_executor != NULL &&
      nn->make_repeatable(step->executor) == ACL_OK)
    (void)nn->destroy_executor(step->executor);
  release(nn, &step->parts);
}

tbk_status_t npu_probe(const npu_operator_t* operator, const void* arguments, const emit_job_t* job,
                       uint64_t* out_bytes, tbk_error_t* error) {
  npu_step_t step;
  tbk_status_t status = npu_plan(operator, arguments, job, &step, error);
  if (status != TBK_OK) return status;
  npu_drop(&step);
  *out_bytes = step.workspace_bytes;
  return TBK_OK;
}
