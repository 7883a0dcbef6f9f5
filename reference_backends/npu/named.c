/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named.c: overloads by name: one launch for all rows.
 */
#include "named.h"

#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_aten.h>

typedef acl_result (*plan_t)(void (*plan)(void), const aclnn_word_t* w, uint64_t* out_bytes,
                             acl_executor** out_executor);

/* Calls phase one of a signature. */
#define PLAN(signature)                                                                        \
  static acl_result plan_##signature(void (*plan)(void), const aclnn_word_t* w,                \
                                     uint64_t* out_bytes, acl_executor** out_executor) {       \
    typedef acl_result (*plan_##signature##_t)(ACLNN_SIGNATURE_##signature(ACLNN_PARAMETERS_), \
                                               uint64_t * bytes, acl_executor * *executor);    \
    return ((plan_##signature##_t)plan)(ACLNN_SIGNATURE_##signature(ACLNN_VALUES_), out_bytes, \
                                        out_executor);                                         \
  }
ACLNN_SIGNATURES(PLAN)
#undef PLAN

static const plan_t plans[] = {
#define PLAN(signature) [ACLNN_##signature] = plan_##signature,
    ACLNN_SIGNATURES(PLAN)
#undef PLAN
};

static bool is_nothing(const npu_named_call_t* call) {
  for (int i = 0; i < call->view_count; i++)
    if (call->written[i] && !call->absent[i] && call->views[i].count > 0) return false;
  return true;
}

static bool reads_nothing(const npu_named_call_t* call) {
  for (int i = 0; i < call->view_count; i++)
    if (!call->written[i] && !call->absent[i] && call->views[i].count == 0) return true;
  return false;
}

static bool overlaps_another(const npu_named_call_t* call, int output) {
  for (int i = 0; i < call->view_count; i++)
    if (i != output && !call->absent[i] && call->views[i].count > 0 &&
        npu_overlap(&call->views[output], &call->views[i]))
      return true;
  return false;
}

/* An output that shares bytes with another operand is computed into memory of the queue. Returns the bytes of it
 * all; the places are offsets as yet. */
static uint64_t choose_apart(npu_named_call_t* call) {
  uint64_t bytes = 0;
  for (int i = 0; i < call->view_count; i++) {
    if (!call->written[i] || call->absent[i] || call->views[i].count == 0) continue;
    if (!overlaps_another(call, i)) continue;
    call->apart[i] = true;
    call->targets[i] = call->views[i];
    bytes += npu_aligned((uint64_t)(call->views[i].count * call->views[i].element_bytes)) +
             npu_aligned(1);
  }
  return bytes;
}

static void place_apart(npu_named_call_t* call, char* memory) {
  for (int i = 0; i < call->view_count; i++) {
    if (!call->apart[i]) continue;
    call->views[i] = npu_contiguous(&call->targets[i], memory);
    memory += npu_aligned((uint64_t)(call->views[i].count * call->views[i].element_bytes)) +
              npu_aligned(1);
  }
}

static acl_result copy_back(const npu_named_call_t* call, npu_queue_t* queue,
                            tbk_status_t* out_status, tbk_error_t* error) {
  acl_result result = ACL_OK;
  for (int i = 0; i < call->view_count && result == ACL_OK && *out_status == TBK_OK; i++) {
    npu_step_t step;
    emit_job_t back = {.operand_count = 2};
    if (!call->apart[i]) continue;
    back.operands[0] = call->targets[i];
    back.operands[1] = call->views[i];
    *out_status = npu_plan(&npu_operators[NPU_COPY], NULL, &back, &step, error);
    if (*out_status == TBK_OK) result = npu_issue(&step, NULL, queue->native);
  }
  return result;
}

/* Phase one; a refusal is UNSUPPORTED. */
static tbk_status_t plan(npu_named_call_t* call, uint64_t* out_bytes, acl_executor** out_executor) {
  char text[200];
  const aclnn_row_t* function = npu_aclnn_row(npu_function_of(call->row));
  acl_result result = plans[function->signature](npu_aclnn(npu_function_of(call->row)).plan,
                                                 call->words, out_bytes, out_executor);
  if (result == ACL_OK) return TBK_OK;
  npu_describe(result, text, sizeof text);
  return npu_fail(call->error, npu_is_refusal(result) ? TBK_UNSUPPORTED : npu_translate(result),
                  "aclnn%s: %s", function->name, text);
}

static void drop(acl_executor* executor) {
  const acl_operators_t* nn = npu_nn();
  if (nn->make_repeatable != NULL && nn->destroy_executor != NULL &&
      nn->make_repeatable(executor) == ACL_OK)
    (void)nn->destroy_executor(executor);
}

/* The queue's memory holds what is computed apart, and behind it the workspace. */
static acl_result run(npu_named_call_t* call, npu_queue_t* queue) {
  void* memory = NULL;
  uint64_t bytes = 0;
  acl_executor* executor = NULL;
  const uint64_t apart = choose_apart(call);
  if (apart > 0) call->status = npu_reserve(queue, apart, &memory, call->error);
  if (call->status != TBK_OK) return ACL_OK;
  place_apart(call, memory);
  if (!npu_named_build(call)) return ACL_OK;
  call->status = plan(call, &bytes, &executor);
  if (call->status != TBK_OK) return ACL_OK;
  void* workspace = NULL;
  if (bytes > 0) call->status = npu_reserve(queue, apart + bytes, &workspace, call->error);
  if (call->status != TBK_OK) {
    drop(executor);
    return ACL_OK;
  }
  /* Memory that has grown lies elsewhere; what was placed in the old one stays valid there. */
  if (bytes > 0) workspace = (char*)workspace + apart;
  acl_result result =
      npu_aclnn(npu_function_of(call->row)).issue(workspace, bytes, executor, queue->native);
  if (result != ACL_OK) return result;
  return copy_back(call, queue, &call->status, call->error);
}

static tbk_status_t submit(tbk_instance_t* self, int32_t device, npu_named_call_t* call,
                           tbk_stream_t* stream, tbk_error_t* error) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter_with(self, device, stream, &entry, error);
  if (status != TBK_OK) return status;
  npu_queue_t* queue = stream != NULL ? &stream->queue : &self->devices[device].internal;
  pthread_mutex_lock(&queue->lock);
  acl_result result = run(call, queue);
  npu_named_release(call);
  pthread_mutex_unlock(&queue->lock);
  if (call->status == TBK_OK && result == ACL_OK && stream == NULL)
    result = npu_acl()->stream_synchronize(queue->native);
  const bool told = call->status != TBK_OK;
  if (call->status == TBK_DEVICE_LOST) result = ACL_INTERNAL; /* which leaving remembers */
  tbk_status_t left =
      npu_leave(self, device, &entry, result, npu_aclnn_row(npu_function_of(call->row))->name,
                told ? NULL : error);
  return told ? call->status : left;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const npu_named_t* row = (const npu_named_t*)table;
  if (row == NULL || arguments == NULL || *(const size_t*)arguments < row->arguments_bytes)
    return npu_fail(error, TBK_INVALID, "arguments are of another version");
  npu_named_call_t* call = calloc(1, sizeof *call);
  if (call == NULL) return npu_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  call->row = row;
  call->arguments = arguments;
  call->error = error;
  tbk_status_t status = TBK_OK;
  if (!npu_named_read(call)) {
    status = call->status;
  } else if (!is_nothing(call)) {
    status = reads_nothing(call)
                 ? npu_fail(error, TBK_UNSUPPORTED, "%s: a tensor without elements", row->name)
                 : submit(self, device, call, stream, error);
  }
  free(call);
  return status;
}

/* Dtypes of the first tensor; and the most overloads that one function serves. */
enum {
  FLOATS = 1 << TBK_FLOAT16 | 1 << TBK_BFLOAT16 | 1 << TBK_FLOAT32 | 1 << TBK_FLOAT64,
  INTEGERS = 1 << TBK_UINT8 | 1 << TBK_INT8 | 1 << TBK_INT16 | 1 << TBK_INT32 | 1 << TBK_INT64,
  WHOLE = INTEGERS | 1 << TBK_BOOL,
  NUMBERS = FLOATS | INTEGERS,
  ALL = NUMBERS | WHOLE,
  MOST_OVERLOADS = 3,
  PRODUCTS = 1 << TBK_FLOAT16 | 1 << TBK_BFLOAT16 | 1 << TBK_FLOAT32, /* as for Mm */
};

#define RECIPE(overload, dtypes, recipe)             \
  {{sizeof(tbk_kernel_t), launch, NULL, NULL, NULL}, \
   TBK_NAME_##overload,                              \
   TBK_VERSION_##overload,                           \
   sizeof(tbk_args_##overload##_t),                  \
   recipe,                                           \
   dtypes},
#define OVERLOAD(overload, dtypes) RECIPE(overload, dtypes, NULL)

static const npu_named_t rows[ACLNN_FUNCTIONS][MOST_OVERLOADS] = {
#define ACLNN(name, signature, arguments, page, meaning, overloads) {overloads},
#include "aclnn.def"
#undef ACLNN
};

aclnn_function_t npu_function_of(const npu_named_t* row) {
  return (aclnn_function_t)((row - rows[0]) / MOST_OVERLOADS);
}

const tbk_kernel_t* npu_named_find(const char* name, uint32_t version) {
  const npu_named_t* end = rows[0] + (size_t)ACLNN_FUNCTIONS * MOST_OVERLOADS;
  for (const npu_named_t* row = rows[0]; row < end && npu_nn() != NULL; row++)
    if (row->name != NULL && strcmp(row->name, name) == 0 && row->version == version &&
        npu_named_fits(row))
      return npu_aclnn(npu_function_of(row)).issue != NULL ? &row->table : NULL;
  return NULL;
}
