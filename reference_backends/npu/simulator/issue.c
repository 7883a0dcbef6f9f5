/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * issue.c: the second phase of operators: as work of a stream.
 */
#include <stdio.h>
#include <string.h>

#include "operator.h"

enum { WORKSPACE_SLOT = SIM_TENSORS, CHUNK = 512, MARKS = 255 };

/* What works on a stream; it refers to nothing of the executor, which may be gone by then. */
typedef struct compute {
  sim_task_t task;
  sim_executor_t made; /* a copy */
  uint64_t seed;
  char* at[SIM_TENSORS];
  emit_host_range_t ranges[SIM_TENSORS];
  char* workspace;
  uint8_t mark; /* what stands in the workspace meanwhile, for what a device keeps there */
  const char* call;
} compute_t;

static void run_mark(sim_task_t* task) {
  const compute_t* compute = (const compute_t*)task;
  vdev_words_fill(compute->workspace, compute->mark, compute->made.workspace_bytes);
}

static bool is_marked(const compute_t* compute) {
  uint8_t bytes[CHUNK];
  for (uint64_t done = 0; done < compute->made.workspace_bytes; done += CHUNK) {
    uint64_t left = compute->made.workspace_bytes - done, size = left < CHUNK ? left : CHUNK;
    vdev_words_copy(bytes, compute->workspace + done, size);
    for (uint64_t i = 0; i < size; i++)
      if (bytes[i] != compute->mark) return false;
  }
  return true;
}

/* As good as factors of ten bits make it: HF32 and half keep no more. */
static void narrow(const compute_t* compute) {
  const uint32_t kept = UINT32_C(0xffffe000);
  const emit_view_t* out = &compute->made.job.operands[0];
  for (int64_t i = 0; i < out->count; i++) {
    const int64_t row = i / out->sizes[1], column = i % out->sizes[1];
    const int64_t at = out->offset + row * out->strides[0] + column * out->strides[1];
    uint32_t value;
    vdev_words_copy(&value, compute->at[0] + at * (int64_t)sizeof value, sizeof value);
    value &= kept;
    vdev_words_copy(compute->at[0] + at * (int64_t)sizeof value, &value, sizeof value);
  }
}

static bool run_kernel(const compute_t* compute) {
  const void* parameters[EMIT_HOST_PARAMETERS] = {&compute->made.job.shape,
                                                  compute->made.job.scalar};
  for (int i = 0; i < EMIT_HOST_POINTERS; i++)
    parameters[EMIT_HOST_PARAMETERS - EMIT_HOST_POINTERS + i] = &compute->at[i];
  bool inside = emit_host_run(compute->made.kernel, compute->made.job.groups, parameters,
                              compute->ranges, compute->seed);
  if (compute->made.narrows && compute->made.job.operands[0].dtype == TBK_FLOAT32) narrow(compute);
  return inside;
}

static void run_compute(sim_task_t* task) {
  compute_t* compute = (compute_t*)task;
  bool intact = is_marked(compute);
  bool inside = compute->made.kernel != NULL ? run_kernel(compute)
                                             : sim_function_run(&compute->made.call, compute->at);
  if (!intact || !is_marked(compute)) (void)sim_broken(SIM_WORKSPACE_TAKEN, compute->call);
  if (inside) return;
  fprintf(stderr, "%s reached out of its operands' memory\n", compute->call);
  sim_fail(&compute->task.queue, ACL_AICORE_EXCEPTION);
}

static bool overlaps_an_input(const sim_executor_t* executor) {
  for (int i = 0; i < executor->handle_count; i++) {
    const sim_operand_t* out = &executor->handles[i];
    for (int k = 0; k < executor->handle_count && out->is_written; k++) {
      const sim_operand_t* other = &executor->handles[k];
      if (k != i && other->begin < out->end && out->begin < other->end) return true;
    }
  }
  return false;
}

static acl_result take_operand(const sim_context_t* context, const sim_operand_t* operand, int i,
                               const char* call, compute_t* compute) {
  sim_memory_t* memory;
  if (operand->data == 0) return sim_broken(SIM_NN_NULL, call);
  acl_result result =
      sim_memory_range(context, (const void*)operand->data, operand->storage_bytes, call, &memory);
  if (result != ACL_OK) return result;
  uint64_t end = operand->data - memory->start + sim_round_up(operand->storage_bytes) + SIM_UNIT;
  if (end > memory->room_bytes) return sim_broken(SIM_PADDING, call);
  compute->at[i] = sim_memory_at(memory, (const void*)operand->data);
  compute->ranges[i] = (emit_host_range_t){(uintptr_t)compute->at[i], operand->storage_bytes};
  compute->task.uses[i] = memory;
  return ACL_OK;
}

static acl_result take_workspace(const sim_context_t* context, const sim_executor_t* executor,
                                 const void* workspace, uint64_t bytes, const char* call,
                                 compute_t* compute) {
  sim_memory_t* memory;
  if (executor->workspace_bytes == 0) return ACL_OK;
  if (workspace == NULL) return sim_broken(SIM_NN_NULL, call);
  if (bytes < executor->workspace_bytes) return sim_broken(SIM_WORKSPACE_SIZE, call);
  if ((uintptr_t)workspace % SIM_ALIGNMENT != 0) return sim_broken(SIM_WORKSPACE_BASE, call);
  acl_result result = sim_memory_range(context, workspace, bytes, call, &memory);
  if (result != ACL_OK) return result;
  compute->workspace = sim_memory_at(memory, workspace);
  compute->task.uses[WORKSPACE_SLOT] = memory;
  return ACL_OK;
}

static acl_result check_executor(const sim_object_t* object, aclnn_function_t function,
                                 const sim_context_t* context, const char* call) {
  const sim_executor_t* executor = object->as.executor;
  if (executor->function != function) return sim_broken(SIM_EXECUTOR_KIND, call);
  if (object->context != context) return sim_broken(SIM_EXECUTOR_CONTEXT, call);
  for (int i = 0; i < executor->handle_count; i++)
    if (!sim_object_lives(executor->handles[i].handle, executor->handles[i].serial))
      return sim_broken(SIM_DESCRIPTOR, call);
  return overlaps_an_input(executor) ? sim_broken(SIM_ALIAS, call) : ACL_OK;
}

static acl_result find_executor(const void* handle, const char* call, sim_object_t** out_object) {
  if (handle == NULL) return sim_broken(SIM_EXECUTOR_NULL, call);
  if (sim_object_is(handle, SIM_SPENT)) return sim_broken(SIM_EXECUTOR_USED, call);
  return sim_object_find(handle, SIM_EXECUTOR, call, out_object);
}

static acl_result submit(const sim_queue_t* queue, const compute_t* value) {
  acl_result result = ACL_OK;
  if (value->made.kernel != NULL && value->made.job.groups == 0) return ACL_OK;
  if (value->made.workspace_bytes > 0)
    result = sim_submit(queue, sim_task_new(value, sizeof *value, run_mark));
  return result == ACL_OK ? sim_submit(queue, sim_task_new(value, sizeof *value, run_compute))
                          : result;
}

/* Memory of what has elements, in the order in which tensors were taken. */
static acl_result take_operands(const sim_context_t* context, const sim_executor_t* executor,
                                const char* call, compute_t* compute) {
  acl_result result = ACL_OK;
  for (int i = 0, slot = 0; i < executor->handle_count && result == ACL_OK; i++) {
    const sim_operand_t* operand = &executor->handles[i];
    if (!operand->is_tensor) continue;
    if (operand->end != 0) result = take_operand(context, operand, slot, call, compute);
    slot++;
  }
  return result;
}

acl_result sim_issue(aclnn_function_t function, const char* call, const void* workspace,
                     uint64_t bytes, const void* handle, acl_stream stream) {
  sim_queue_t queue;
  sim_object_t* object;
  acl_result result = sim_begin_on_stream(stream, call, &queue);
  if (result == ACL_OK) result = find_executor(handle, call, &object);
  if (result == ACL_OK) result = check_executor(object, function, queue.context, call);
  if (result != ACL_OK) return result;
  const sim_executor_t* executor = object->as.executor;
  compute_t value = {.made = *executor, .call = call};
  value.seed = vdev_mix(vdev_machine_config(sim.machine)->seed ^ vdev_mix(object->serial));
  value.mark = (uint8_t)(1 + object->serial % MARKS);
  result = take_operands(queue.context, executor, call, &value);
  if (result == ACL_OK)
    result = take_workspace(queue.context, executor, workspace, bytes, call, &value);
  if (result == ACL_OK) result = submit(&queue, &value);
  if (result == ACL_OK && !executor->repeatable) (void)sim_object_end(object, SIM_SPENT);
  return result;
}

acl_result api_make_repeatable(acl_executor* handle) {
  static const char call[] = "aclSetAclOpExecutorRepeatable";
  sim_object_t* object;
  acl_result result = sim_begin(call);
  if (result == ACL_OK) result = find_executor(handle, call, &object);
  if (result == ACL_OK) object->as.executor->repeatable = true;
  return result;
}

acl_result api_destroy_executor(acl_executor* handle) {
  static const char call[] = "aclDestroyAclOpExecutor";
  sim_object_t* object;
  acl_result result = sim_begin(call);
  if (result == ACL_OK) result = find_executor(handle, call, &object);
  if (result != ACL_OK) return result;
  if (!object->as.executor->repeatable) return sim_broken(SIM_EXECUTOR_DESTROY, call);
  return sim_object_destroy(object, call);
}
