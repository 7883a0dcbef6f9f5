/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal_kernel.c: what the header allows kernels to refuse, to want and to take their time for.
 */
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "legal.h"

static bool is_strided(const tbk_tensor_t* tensor) {
  return tensor_elements(tensor) > 0 && !tensor_contiguous(tensor);
}

/* A copy takes whatever dtype is declared. */
static const char* refused(const legal_t* legal, const char* name, const arguments_copy_t* copy) {
  const bool copies = strcmp(name, TBK_NAME_copy_) == 0;
  for (int i = 0; i < copy->count; i++) {
    const tbk_tensor_t* tensor = &copy->tensors[i];
    const bool condition = strcmp(name, TBK_NAME_where_self) == 0 && tensor->dtype == TBK_BOOL;
    if (tensor->dtype < 0 || tensor->dtype > 63) return NULL; /* the reference's to refuse */
    if ((legal->dtypes >> tensor->dtype & 1) == 0 && !condition) return "a dtype not declared";
    if (tensor->rank > (int32_t)legal->max_rank) return "the rank";
    if (tensor->rank == 0 && legal->refuses[LEGAL_RANK_0]) return "rank 0";
    if (tensor_elements(tensor) == 0 && legal->refuses[LEGAL_EMPTY]) return "no elements";
    if (is_strided(tensor) && legal->refuses[LEGAL_STRIDED]) return "strides";
    if (tensor->offset != 0 && legal->refuses[LEGAL_OFFSET]) return "an offset";
    if (tensor->dtype != TBK_FLOAT32 && !condition && legal->refuses[LEGAL_DTYPE] && !copies)
      return "a dtype";
    if (tensor_elements(tensor) > 4096 && legal->refuses[LEGAL_LARGE]) return "the size";
    for (int k = 0; k < i && legal->refuses[LEGAL_ALIAS]; k++)
      if (copy->tensors[k].memory == tensor->memory && tensor->memory != 0) return "an alias";
  }
  return NULL;
}

static tbk_status_t judge(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                          const void* arguments, tbk_error_t* error) {
  char text[96];
  arguments_copy_t copy;
  if (arguments == NULL || *(const size_t*)arguments < arguments_size(KERNEL_NAME) ||
      !arguments_copy(&copy, KERNEL_NAME, arguments))
    return TBK_OK;
  const char* reason = refused(legal_of(self), KERNEL_NAME, &copy);
  if (reason == NULL) return TBK_OK;
  uint64_t free_bytes, total_bytes; /* a lost device answers nothing else any more */
  if (INNER(self, core)->memory_info(self, device, &free_bytes, &total_bytes, error) ==
      TBK_DEVICE_LOST)
    return TBK_DEVICE_LOST;
  snprintf(text, sizeof text, "%s is not for this kernel: %s", KERNEL_NAME, reason);
  return wrap_fail(error, TBK_UNSUPPORTED, text);
}

/* Loading code may need the whole device to be idle, as lazy loading does in some drivers. */
static void compile(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel) {
  const legal_t* legal = legal_of(self);
  wrap_t* wrap = wrap_of(self);
  kernel_copy_t* copy = &wrap->kernels[(const kernel_copy_t*)kernel - wrap->kernels];
  if (legal->compile == LEGAL_COMPILES_NEVER) return;
  pthread_mutex_lock(&wrap->lock);
  const bool first = copy->extra[0] == 0;
  copy->extra[0] = 1;
  pthread_mutex_unlock(&wrap->lock);
  if (first && legal->compile == LEGAL_COMPILES_IDLE)
    ignore(INNER(self, stream)->device_synchronize(self, device, NULL));
  if (first) wrap_sleep_ms(20);
}

/* Operator libraries want the base of a storage aligned, and read what lies there in wide words. */
static bool is_aligned(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                       const void* arguments) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  arguments_copy_t copy;
  if (legal_of(self)->aligned == 0 || arguments == NULL ||
      *(const size_t*)arguments < arguments_size(KERNEL_NAME) ||
      !arguments_copy(&copy, KERNEL_NAME, arguments) ||
      INNER(self, core)->device_properties(self, device, &properties, NULL) != TBK_OK ||
      (properties.flags & TBK_DEVICE_FLAT_ADDRESS) == 0)
    return true;
  for (int i = 0; i < copy.count; i++)
    if (copy.tensors[i].memory % properties.memory_alignment != 0) return false;
  return true;
}

/* Memory for what is between two steps of a kernel: what the host has taken, it cannot get. */
static bool has_scratch(tbk_instance_t* self, int32_t device) {
  const tbk_core_t* core = INNER(self, core);
  const uint64_t bytes = legal_of(self)->scratch;
  tbk_memory_t memory = 0;
  if (bytes == 0) return true;
  tbk_status_t status = core->memory_alloc(self, device, bytes, &memory, NULL);
  if (status == TBK_OK) ignore(core->memory_free(self, device, memory, NULL));
  return status != TBK_OUT_OF_MEMORY;
}

LAUNCH(legal_launch) {
  tbk_status_t status = judge(self, device, kernel, arguments, error);
  if (status != TBK_OK) return status;
  if (!is_aligned(self, device, kernel, arguments))
    return wrap_fail(error, TBK_FAILED, "the memory of a tensor is not aligned");
  if (!has_scratch(self, device))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for what is between");
  compile(self, device, kernel);
  return LAUNCH_INNER;
}

LAUNCH_PLAN(legal_launch_plan) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  const bool aligned = legal_of(self)->aligned != 0;
  if (aligned && INNER(self, core)->device_properties(self, device, &properties, NULL) == TBK_OK &&
      workspace_offset % properties.memory_alignment != 0)
    return wrap_fail(error, TBK_FAILED, "the workspace is not aligned");
  return LAUNCH_PLAN_INNER;
}

PREPARE(legal_prepare) {
  tbk_status_t status = judge(self, device, kernel, arguments, error);
  if (status != TBK_OK) return status;
  if (!has_scratch(self, device))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for what is between");
  compile(self, device, kernel);
  if (legal_of(self)->prepare != LEGAL_PREPARE_REFUSES || !out_plan || !out_workspace_bytes)
    return PREPARE_INNER;
  tbk_plan_t* plan = NULL;
  uint64_t bytes = 0;
  out_plan = &plan; /* the caller's are not written by a refusal */
  out_workspace_bytes = &bytes;
  status = PREPARE_INNER;
  if (status != TBK_OK) return status;
  wrap_of(self)->inner_plan_destroy(self, plan);
  return wrap_fail(error, TBK_UNSUPPORTED, "nothing is planned here");
}

KERNEL_FIND(legal_kernel_find) {
  const legal_t* legal = legal_of(self);
  if (legal->only[0] != '\0' && strcmp(legal->only, name) != 0) return NULL;
  const tbk_kernel_t* found = wrap_kernel_find(self, device, name, version);
  if (found != NULL && legal->prepare == LEGAL_PREPARE_ABSENT) {
    wrap_t* wrap = wrap_of(self);
    tbk_kernel_t* table = &wrap->kernels[(const kernel_copy_t*)found - wrap->kernels].table;
    table->prepare = NULL;
    table->launch_plan = NULL;
    table->plan_destroy = NULL;
  }
  return found;
}

void legal_patch_kernels(wrap_t* wrap) {
  wrap->launching.launch = legal_launch;
  wrap->launching.prepare = legal_prepare;
  wrap->launching.launch_plan = legal_launch_plan;
  wrap->kernel.kernel_find = legal_kernel_find;
}
