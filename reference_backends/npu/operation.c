/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operation.c: descriptors of tensors, and the two phases of a call.
 */
#include "operation.h"

enum { BASE_ALIGNMENT = 32, WORKSPACE_ALIGNMENT = 512 }; /* the first by Da 00019 */

int npu_acl_dtype(int32_t dtype) {
  static const int dtypes[] = {
#define DTYPE(name, value) [TBK_##name] = (value),
      ACL_DTYPE_MAP(DTYPE)
#undef DTYPE
  };
  return dtypes[dtype];
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

/* The bytes between an operand's first element and its last. */
static void reach(const emit_view_t* view, uint64_t* out_begin, uint64_t* out_end) {
  int64_t low = view->offset, high = view->offset + 1;
  for (int32_t i = 0; i < view->rank; i++) {
    const int64_t far = (view->sizes[i] - 1) * view->strides[i];
    low += far < 0 ? far : 0;
    high += far > 0 ? far : 0;
  }
  *out_begin = view->memory + (uint64_t)(low * view->element_bytes);
  *out_end = view->memory + (uint64_t)(high * view->element_bytes);
}

static bool overlap(const emit_view_t* one, const emit_view_t* other) {
  uint64_t begin, end, other_begin, other_end;
  reach(one, &begin, &end);
  reach(other, &other_begin, &other_end);
  return begin < other_end && other_begin < end;
}

static bool has_elements(const npu_call_t* call, int index) {
  return !call->absent[index] && call->views[index].count > 0;
}

static bool overlaps_another(const npu_call_t* call, int output) {
  for (int i = 0; i < call->view_count; i++)
    if (i != output && has_elements(call, i) && overlap(&call->views[output], &call->views[i]))
      return true;
  return false;
}

uint64_t npu_aligned(uint64_t bytes) {
  return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

/* An output that shares bytes with another operand is computed into memory of the queue: aclnn says of no operator
 * that it may. Returns the bytes of all of these, with what the driver may touch behind each. */
static uint64_t choose_apart(npu_call_t* call) {
  uint64_t bytes = 0;
  for (int i = 0; i < call->view_count; i++) {
    const emit_view_t* view = &call->views[i];
    if (!call->written[i] || !has_elements(call, i) || !overlaps_another(call, i)) continue;
    call->room[i] = npu_aligned((uint64_t)(view->count * view->element_bytes)) + npu_aligned(1);
    bytes += call->room[i];
  }
  return bytes;
}

emit_view_t npu_view(const npu_call_t* call, int index) {
  emit_view_t view = call->views[index];
  int64_t stride = 1;
  if (call->room[index] == 0) return view;
  view.memory = (uintptr_t)call->apart;
  view.offset = 0;
  for (int i = 0; i < index; i++)
    view.memory += call->room[i];
  for (int32_t i = view.rank - 1; i >= 0; i--) {
    view.strides[i] = stride;
    stride *= view.sizes[i];
  }
  return view;
}

static tbk_status_t reserve(const npu_place_t* place, uint64_t bytes, void** out_memory,
                            tbk_error_t* error) {
  const acl_result result = npu_workspace_reserve(place->queue, bytes, out_memory);
  return result == ACL_OK
             ? TBK_OK
             : npu_tell(error, result, "workspace of %llu bytes", (unsigned long long)bytes);
}

/* These are answers about the operands (Da): no kernel for their dtypes, formats or shapes. */
static bool is_refusal(acl_result result) {
  return result == ACL_NN_INVALID || result == ACL_NN_TILING || result == ACL_NN_NO_KERNEL;
}

static tbk_status_t plan(npu_call_t* call, uint64_t* out_bytes, acl_executor** out_executor) {
  const aclnn_row_t* function = npu_aclnn_row(call->function);
  const aclnn_phases_t phases = npu_aclnn(call->function);
  if (phases.issue == NULL) return npu_refuse(call, "the driver has it not");
  tbk_status_t status = npu_build(call);
  if (status != TBK_OK) return status;
  const acl_result result = function->call(phases.plan, call->words, out_bytes, out_executor);
  if (result == ACL_OK) return TBK_OK;
  status = npu_tell(call->error, result, "aclnn%s", function->name);
  return is_refusal(result) ? TBK_UNSUPPORTED : status;
}

/* An executor ends with its phase two; only one that is made repeatable can be ended without (Da 00041).
 * Operators that cannot be made so lose theirs: the documentation knows no other way. */
static void drop(acl_executor* executor) {
  const acl_operators_t* nn = npu_nn();
  if (nn->make_repeatable != NULL && nn->destroy_executor != NULL &&
      nn->make_repeatable(executor) == ACL_OK)
    (void)nn->destroy_executor(executor);
}

/* With the caller's workspace where that is large enough, else with the queue's behind what is `used` of it: memory
 * that has grown lies elsewhere, and what was placed in the old one stays valid there. */
static tbk_status_t run_one(npu_call_t* call, const npu_place_t* place, uint64_t used) {
  void* memory = place->given;
  uint64_t bytes = 0;
  acl_executor* executor = NULL;
  tbk_status_t status = plan(call, &bytes, &executor);
  const bool planned = status == TBK_OK;
  if (planned && bytes > place->given_bytes) {
    status = reserve(place, used + bytes, &memory, call->error);
    memory = (void*)((uintptr_t)memory + used);
  }
  if (planned && status != TBK_OK) drop(executor);
  if (status == TBK_OK) {
    const acl_result result =
        npu_aclnn(call->function).issue(memory, bytes, executor, place->queue->handle.native);
    if (result != ACL_OK)
      status = npu_tell(call->error, result, "aclnn%s", npu_aclnn_row(call->function)->name);
  }
  npu_release(call);
  return status;
}

/* The caller's workspace is in use by then. */
static tbk_status_t copy_back(const npu_call_t* call, int output, const npu_place_t* place,
                              uint64_t used) {
  const npu_place_t behind = {.queue = place->queue};
  npu_call_t back = {.function = ACLNN_FUNCTION_InplaceCopy,
                     .recipe = "ot",
                     .views = {call->views[output], npu_view(call, output)},
                     .view_count = 2,
                     .error = call->error};
  return run_one(&back, &behind, used);
}

static bool any(const npu_call_t* call, bool written, bool with_elements) {
  for (int i = 0; i < call->view_count; i++)
    if (!call->absent[i] && call->written[i] == written && has_elements(call, i) == with_elements)
      return true;
  return false;
}

/* What is left to do, of a call that was read: where nothing is written, nothing. Of what is checked, the sum of nothing
 * is 0, and aclnn is not asked for it. */
static tbk_status_t settle(npu_call_t* call, bool* out_runs) {
  *out_runs = any(call, true, true);
  if (!*out_runs || !any(call, false, false)) return TBK_OK;
  if (call->job.operand_count == 0) return npu_refuse(call, "a tensor without elements");
  call->views[0] = call->job.operands[0];
  call->view_count = 1;
  call->function = ACLNN_FUNCTION_InplaceZero;
  call->recipe = "o";
  return TBK_OK;
}

/* Where a copy back is refused, nothing was written but memory of the queue. */
tbk_status_t npu_run(npu_call_t* call, const npu_place_t* place) {
  bool runs;
  void* memory = NULL;
  tbk_status_t status = settle(call, &runs);
  if (status != TBK_OK || !runs) return status;
  const uint64_t bytes = choose_apart(call);
  if (bytes > 0) status = reserve(place, bytes, &memory, call->error);
  call->apart = memory;
  if (status == TBK_OK) status = run_one(call, place, bytes);
  for (int i = 0; i < call->view_count && status == TBK_OK; i++)
    if (call->room[i] > 0) status = copy_back(call, i, place, bytes);
  return status;
}

/* What phase one wants for these shapes; the caller's memory may begin anywhere. */
tbk_status_t npu_probe(npu_call_t* call, uint64_t* out_bytes) {
  bool runs;
  acl_executor* executor = NULL;
  uint64_t bytes = 0;
  tbk_status_t status = settle(call, &runs);
  for (int i = 0; i < call->view_count; i++)
    call->views[i].memory = 0, call->views[i].offset = 0;
  if (status == TBK_OK && runs) status = plan(call, &bytes, &executor);
  if (executor != NULL) drop(executor);
  npu_release(call);
  *out_bytes = bytes > 0 ? bytes + WORKSPACE_ALIGNMENT : 0;
  return status;
}
