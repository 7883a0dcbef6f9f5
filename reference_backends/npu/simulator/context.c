/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * context.c: devices, their default contexts, and what each thread has current.
 */
#include "simulator.h"

static _Thread_local struct {
  sim_context_t* context;
  uint64_t generation;
} current;

bool sim_is_any_set(void) {
  bool any = false;
  pthread_mutex_lock(&sim.lock);
  for (int i = 0; i < sim.device_count; i++)
    any = any || sim.contexts[i].references > 0;
  pthread_mutex_unlock(&sim.lock);
  return any;
}

static bool is_live(const sim_context_t* context, uint64_t generation) {
  pthread_mutex_lock(&sim.lock);
  bool live = context->references > 0 && context->generation == generation;
  pthread_mutex_unlock(&sim.lock);
  return live;
}

acl_result sim_begin_in_context(const char* call, sim_context_t** out_context) {
  acl_result result = sim_begin(call);
  if (result != ACL_OK) return result;
  if (current.context == NULL) return sim_broken(SIM_NO_CONTEXT, call);
  if (!is_live(current.context, current.generation)) return sim_broken(SIM_CONTEXT_GONE, call);
  *out_context = current.context;
  return ACL_OK;
}

static bool is_device(int64_t device) {
  return device >= 0 && device < sim.device_count;
}

static acl_result begin_on_device(int64_t device, const char* call) {
  acl_result result = sim_begin(call);
  if (result != ACL_OK) return result;
  return is_device(device) ? ACL_OK : sim_broken(SIM_DEVICE, call);
}

/* Opens the device, with its default stream; the lock is held. */
static acl_result start(sim_context_t* context) {
  vdev_status_t status = vdev_device_open(context->device);
  if (status != VDEV_OK) return sim_of_status(status);
  status = vdev_stream_new(context->device, &context->stream);
  if (status == VDEV_OK) status = vdev_event_new(context->device, true, &context->epoch);
  if (status == VDEV_OK) status = vdev_event_record(context->epoch, context->stream);
  if (status != VDEV_OK) vdev_device_close(context->device, NULL);
  if (status == VDEV_OK) context->generation++;
  return sim_of_status(status);
}

acl_result api_set_device(int32_t device) {
  acl_result result = begin_on_device(device, "aclrtSetDevice");
  if (result != ACL_OK) return result;
  sim_context_t* context = &sim.contexts[device];
  pthread_mutex_lock(&sim.lock);
  if (context->references == 0) result = start(context);
  if (result == ACL_OK) {
    context->references++;
    current.context = context;
    current.generation = context->generation;
  }
  pthread_mutex_unlock(&sim.lock);
  return result;
}

/* What was stopped begins anew with the next context. */
static void stop(sim_context_t* context) {
  vdev_device_synchronize(context->device, NULL);
  if (sim_objects_end(context, SIM_STREAM, SIM_EVENT))
    (void)sim_broken(SIM_LEFT, "aclrtResetDevice");
  if (sim_objects_end(context, SIM_EXECUTOR, SIM_EXECUTOR))
    (void)sim_broken(SIM_EXECUTOR_LEFT, "aclrtResetDevice");
  if (!sim_is_any_set() && sim_descriptors_left())
    (void)sim_broken(SIM_DESCRIPTORS_LEFT, "aclrtResetDevice");
  if (sim_memory_end(context)) (void)sim_broken(SIM_MEMORY_LEFT, "aclrtResetDevice");
  vdev_event_free(context->epoch);
  vdev_stream_drop(context->stream);
  vdev_device_close(context->device, NULL);
  for (int i = 0; i < SIM_DEVICES; i++)
    context->peers[i] = false;
  __atomic_store_n(&context->fault, 0, __ATOMIC_RELEASE);
}

acl_result api_reset_device(int32_t device) {
  acl_result result = begin_on_device(device, "aclrtResetDevice");
  if (result != ACL_OK) return result;
  sim_context_t* context = &sim.contexts[device];
  pthread_mutex_lock(&sim.lock);
  bool set = context->references > 0;
  bool last = set && --context->references == 0;
  pthread_mutex_unlock(&sim.lock);
  if (!set) return sim_broken(SIM_RESET, "aclrtResetDevice");
  if (last) stop(context);
  return ACL_OK;
}

acl_result api_default_context(int32_t device, uint32_t* out_flags, int32_t* out_active) {
  acl_result result = begin_on_device(device, "aclrtGetPrimaryCtxState");
  if (result != ACL_OK) return result;
  if (out_flags == NULL || out_active == NULL)
    return sim_broken(SIM_NULL_POINTER, "aclrtGetPrimaryCtxState");
  pthread_mutex_lock(&sim.lock);
  *out_flags = 0;
  *out_active = sim.contexts[device].references > 0;
  pthread_mutex_unlock(&sim.lock);
  return ACL_OK;
}

/* That a thread has none is an answer. One that is gone is told as it is: setting it is the fault. */
acl_result api_get_context(acl_context* out) {
  acl_result result = sim_begin("aclrtGetCurrentContext");
  if (result != ACL_OK) return result;
  if (out == NULL) return sim_broken(SIM_NULL_POINTER, "aclrtGetCurrentContext");
  if (current.context == NULL) return sim_refuse(ACL_CONTEXT_NULL, "the thread has no context");
  *out = current.context;
  return ACL_OK;
}

static sim_context_t* context_of(const void* handle) {
  for (int i = 0; i < sim.device_count; i++)
    if (handle == &sim.contexts[i]) return &sim.contexts[i];
  return NULL;
}

acl_result api_set_context(acl_context handle) {
  acl_result result = sim_begin("aclrtSetCurrentContext");
  if (result != ACL_OK) return result;
  sim_context_t* context = context_of(handle);
  if (context == NULL) return sim_broken(SIM_BAD_HANDLE, "aclrtSetCurrentContext");
  pthread_mutex_lock(&sim.lock);
  bool live = context->references > 0;
  if (live) {
    current.context = context;
    current.generation = context->generation;
  }
  pthread_mutex_unlock(&sim.lock);
  return live ? ACL_OK : sim_broken(SIM_CONTEXT_GONE, "aclrtSetCurrentContext");
}

acl_result api_synchronize_device(void) {
  sim_context_t* context;
  int code = 0;
  acl_result result = sim_begin_in_context("aclrtSynchronizeDevice", &context);
  if (result != ACL_OK) return result;
  vdev_status_t status = vdev_device_synchronize(context->device, &code);
  return sim_after_wait(context, status, code);
}

acl_result api_device_count(uint32_t* out_count) {
  acl_result result = sim_begin("aclrtGetDeviceCount");
  if (result != ACL_OK) return result;
  if (out_count == NULL) return sim_broken(SIM_NULL_POINTER, "aclrtGetDeviceCount");
  *out_count = (uint32_t)sim.device_count;
  return ACL_OK;
}

const char* api_soc_name(void) {
  return sim_begin("aclrtGetSocName") == ACL_OK ? "simulated Ascend" : NULL;
}

acl_result api_device_info(uint32_t device, int attribute, int64_t* out_value) {
  acl_result result = begin_on_device(device, "aclrtGetDeviceInfo");
  if (result != ACL_OK) return result;
  if (out_value == NULL) return sim_broken(SIM_NULL_POINTER, "aclrtGetDeviceInfo");
  if (attribute != ACL_ATTR_TOTAL_GLOBAL_MEM) return sim_broken(SIM_FLAGS, "aclrtGetDeviceInfo");
  *out_value = (int64_t)vdev_machine_config(sim.machine)->arena.memory_bytes;
  return ACL_OK;
}

acl_result api_memory_info(int attribute, size_t* out_free, size_t* out_total) {
  enum { ATTRIBUTES = 12 };
  sim_context_t* context;
  acl_result result = sim_begin_in_context("aclrtGetMemInfo", &context);
  if (result != ACL_OK) return result;
  if (out_free == NULL || out_total == NULL) return sim_broken(SIM_NULL_POINTER, "aclrtGetMemInfo");
  if (attribute < 0 || attribute >= ATTRIBUTES) return sim_broken(SIM_FLAGS, "aclrtGetMemInfo");
  bool has = attribute == ACL_HBM_MEM; /* all of it is of that kind */
  *out_free = has ? vdev_arena_free_bytes(vdev_device_arena(context->device)) : 0;
  *out_total = has ? vdev_machine_config(sim.machine)->arena.memory_bytes : 0;
  return ACL_OK;
}

acl_result api_peer_can_access(int32_t* out_can, int32_t device, int32_t peer) {
  static const char call[] = "aclrtDeviceCanAccessPeer";
  acl_result result = begin_on_device(device, call);
  if (result == ACL_OK) result = begin_on_device(peer, call);
  if (result != ACL_OK) return result;
  if (out_can == NULL) return sim_broken(SIM_NULL_POINTER, call);
  *out_can = device != peer;
  return ACL_OK;
}

acl_result api_peer_enable(int32_t peer, uint32_t flags) {
  static const char call[] = "aclrtDeviceEnablePeerAccess";
  sim_context_t* context;
  acl_result result = sim_begin_in_context(call, &context);
  if (result != ACL_OK) return result;
  if (!is_device(peer) || context == &sim.contexts[peer]) return sim_broken(SIM_DEVICE, call);
  if (flags != 0) return sim_broken(SIM_FLAGS, call);
  pthread_mutex_lock(&sim.lock);
  context->peers[peer] = true;
  pthread_mutex_unlock(&sim.lock);
  return ACL_OK;
}
