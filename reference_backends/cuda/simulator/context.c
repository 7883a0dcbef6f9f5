/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * context.c: beginning, devices, primary contexts and what each thread has current.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simulator.h"

const char tbk_cuda_simulator[] = "tbk_cuda_simulator 1";

sim_state_t sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .own = {.pools = 1}};

static _Thread_local struct {
  cu_context at[SIM_DEPTH];
  uint64_t generation[SIM_DEPTH];
  int depth;
  bool in_host_function;
} thread;

void sim_in_host_function(bool inside) {
  thread.in_host_function = inside;
}

static const vdev_option_t own_options[] = {
    {"report", offsetof(sim_own_options_t, answer), 0, 1, "abort|answer|", false},
    {"pageable", offsetof(sim_own_options_t, late), 0, 1, "staged|late|", false},
    {"pools", offsetof(sim_own_options_t, pools), 0, 1, NULL, false},
    {"fault_at", offsetof(sim_own_options_t, fault_at), 0, UINT64_MAX, NULL, false},
};
const sim_setup_t sim_setup = {{own_options, sizeof own_options / sizeof *own_options, &sim.own},
                               256};

cu_result api_init(unsigned flags) {
  if (flags != 0) return sim_broken(SIM_FLAGS, "cuInit");
  if (sim.pid != 0 && sim.pid != getpid()) return sim_broken(SIM_FORKED, "cuInit");
  pthread_mutex_lock(&sim.lock);
  if (sim.machine == NULL && (sim.machine = sim_machine_new()) != NULL) {
    uint64_t count = vdev_machine_config(sim.machine)->devices;
    sim.device_count = count < SIM_DEVICES ? (int)count : SIM_DEVICES;
    for (int i = 0; i < sim.device_count; i++)
      sim.contexts[i].device = vdev_device_at(sim.machine, i);
    sim.pid = getpid();
  }
  pthread_mutex_unlock(&sim.lock);
  return sim.machine != NULL ? CU_OK : 999;
}

cu_result sim_begin(const char* call) {
  if (sim.pid == 0) return sim_broken(SIM_UNINITIALIZED, call);
  if (sim.pid != getpid()) return sim_broken(SIM_FORKED, call);
  if (thread.in_host_function) return sim_broken(SIM_HOST_FUNCTION, call);
  return CU_OK;
}

static bool is_live(cu_context context, uint64_t generation) {
  pthread_mutex_lock(&sim.lock);
  bool live = context->references > 0 && context->generation == generation;
  pthread_mutex_unlock(&sim.lock);
  return live;
}

cu_result sim_begin_in_context(const char* call, cu_context* out_context) {
  cu_result result = sim_begin(call);
  if (result != CU_OK) return result;
  if (thread.depth == 0) return sim_broken(SIM_NO_CONTEXT, call);
  cu_context context = thread.at[thread.depth - 1];
  if (!is_live(context, thread.generation[thread.depth - 1]))
    return sim_broken(SIM_CONTEXT_GONE, call);
  *out_context = context;
  return __atomic_load_n(&context->fault, __ATOMIC_ACQUIRE);
}

cu_result sim_of_status(vdev_status_t status) {
  static const cu_result results[] = {
      [VDEV_OK] = CU_OK,
      [VDEV_INVALID] = 400,
      [VDEV_CLOSED] = 709,
      [VDEV_STATE] = 400,
      [VDEV_LOST] = 46,
      [VDEV_NO_ROOM] = CU_OUT_OF_MEMORY,
      [VDEV_FAILED] = 719,
      [VDEV_NOT_READY] = CU_NOT_READY,
      [VDEV_BUSY] = CU_DEVICE_UNAVAILABLE,
  };
  return results[status];
}

cu_result sim_after_wait(cu_context context, vdev_status_t status) {
  cu_result fault = __atomic_load_n(&context->fault, __ATOMIC_ACQUIRE);
  return fault != CU_OK ? fault : sim_of_status(status);
}

bool sim_is_context(cu_context context) {
  for (int i = 0; i < sim.device_count; i++) {
    if (&sim.contexts[i] == context) return true;
  }
  return false;
}

cu_result api_context_push(cu_context context) {
  cu_result result = sim_begin("cuCtxPushCurrent");
  if (result != CU_OK) return result;
  if (!sim_is_context(context)) return sim_broken(SIM_BAD_HANDLE, "cuCtxPushCurrent");
  if (!is_live(context, context->generation))
    return sim_broken(SIM_CONTEXT_GONE, "cuCtxPushCurrent");
  if (thread.depth == SIM_DEPTH) return sim_broken(SIM_DEPTH_RULE, "cuCtxPushCurrent");
  pthread_mutex_lock(&sim.lock);
  context->pushed++;
  thread.at[thread.depth] = context;
  thread.generation[thread.depth++] = context->generation;
  pthread_mutex_unlock(&sim.lock);
  return CU_OK;
}

cu_result api_context_pop(cu_context* out_context) {
  cu_result result = sim_begin("cuCtxPopCurrent");
  if (result != CU_OK) return result;
  if (thread.depth == 0) return sim_broken(SIM_POP, "cuCtxPopCurrent");
  cu_context context = thread.at[--thread.depth];
  pthread_mutex_lock(&sim.lock);
  if (context->generation == thread.generation[thread.depth]) context->pushed--;
  pthread_mutex_unlock(&sim.lock);
  if (out_context != NULL) *out_context = context;
  return CU_OK;
}

cu_result api_context_synchronize(void) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuCtxSynchronize", &context);
  if (result != CU_OK) return result;
  return sim_after_wait(context, vdev_device_synchronize(context->device, NULL));
}

static cu_result check_device(cu_device device, const void* out, const char* call) {
  cu_result result = sim_begin(call);
  if (result != CU_OK) return result;
  if (device < 0 || device >= sim.device_count) return sim_broken(SIM_DEVICE, call);
  return out == NULL ? sim_broken(SIM_NULL_POINTER, call) : CU_OK;
}

cu_result api_primary_retain(cu_context* out, cu_device device) {
  cu_result result = check_device(device, out, "cuDevicePrimaryCtxRetain");
  if (result != CU_OK) return result;
  cu_context context = &sim.contexts[device];
  pthread_mutex_lock(&sim.lock);
  if (context->references == 0) {
    result = sim_of_status(vdev_device_open(context->device));
    if (result == CU_OK) result = sim_of_status(vdev_stream_new(context->device, &context->legacy));
    if (result == CU_OK) {
      context->generation++;
      context->pushed = 0;
    }
  }
  if (result == CU_OK) context->references++;
  pthread_mutex_unlock(&sim.lock);
  if (result == CU_OK) *out = context;
  return result;
}

cu_result api_primary_release(cu_device device) {
  cu_result result = check_device(device, &device, "cuDevicePrimaryCtxRelease");
  if (result != CU_OK) return result;
  cu_context context = &sim.contexts[device];
  pthread_mutex_lock(&sim.lock);
  bool retained = context->references > 0;
  bool last = retained && --context->references == 0;
  bool pushed = last && context->pushed > 0;
  pthread_mutex_unlock(&sim.lock);
  if (!retained) return sim_broken(SIM_RELEASE, "cuDevicePrimaryCtxRelease");
  if (!last) return CU_OK;
  if (pushed) (void)sim_broken(SIM_STILL_PUSHED, "cuDevicePrimaryCtxRelease");
  vdev_device_synchronize(context->device, NULL);
  vdev_arena_t* arena = vdev_device_arena(context->device);
  bool left = vdev_arena_free_bytes(arena) < vdev_machine_config(sim.machine)->arena.memory_bytes;
  left = sim_objects_end(context) || left;
  left = sim_pinned_end(context) || left;
  if (left) (void)sim_broken(SIM_LEFT, "cuDevicePrimaryCtxRelease");
  vdev_stream_drop(context->legacy);
  vdev_device_close(context->device, NULL);
  return CU_OK;
}

cu_result api_device_get_count(int* out_count) {
  cu_result result = sim_begin("cuDeviceGetCount");
  if (result != CU_OK) return result;
  if (out_count == NULL) return sim_broken(SIM_NULL_POINTER, "cuDeviceGetCount");
  *out_count = sim.device_count;
  return CU_OK;
}

cu_result api_device_get(cu_device* out_device, int index) {
  cu_result result = check_device(index, out_device, "cuDeviceGet");
  if (result == CU_OK) *out_device = index;
  return result;
}

cu_result api_device_get_name(char* name, int length, cu_device device) {
  cu_result result = check_device(device, name, "cuDeviceGetName");
  if (result == CU_OK) snprintf(name, (size_t)length, "simulated CUDA device %d", device);
  return result;
}

cu_result api_device_get_attribute(int* out, int attribute, cu_device device) {
  cu_result result = check_device(device, out, "cuDeviceGetAttribute");
  if (result != CU_OK) return result;
  if (attribute == CU_ATTRIBUTE_CC_MAJOR) {
    *out = SIM_ARCHITECTURE / 10;
  } else if (attribute == CU_ATTRIBUTE_CC_MINOR) {
    *out = SIM_ARCHITECTURE % 10;
  } else if (attribute == CU_ATTRIBUTE_MEMORY_POOLS) {
    *out = (int)sim.own.pools;
  } else {
    return sim_broken(SIM_FLAGS, "cuDeviceGetAttribute");
  }
  return CU_OK;
}

cu_result api_device_total_mem(size_t* out_bytes, cu_device device) {
  cu_result result = check_device(device, out_bytes, "cuDeviceTotalMem");
  if (result == CU_OK) *out_bytes = vdev_machine_config(sim.machine)->arena.memory_bytes;
  return result;
}

cu_result api_device_can_access_peer(int* out_can, cu_device device, cu_device peer) {
  cu_result result = check_device(device, out_can, "cuDeviceCanAccessPeer");
  if (result == CU_OK) result = check_device(peer, out_can, "cuDeviceCanAccessPeer");
  if (result == CU_OK) *out_can = device != peer;
  return result;
}

/* Not in need of cuInit. 12.8, as the compiler beside it. */
cu_result api_get_version(int* out_version) {
  if (out_version == NULL) return sim_broken(SIM_NULL_POINTER, "cuDriverGetVersion");
  *out_version = 12080;
  return CU_OK;
}

cu_result api_error_string(cu_result result, const char** out_text) {
  static const struct {
    cu_result result;
    const char* text;
  } texts[] = {{0, "no error"},
               {1, "invalid argument"},
               {2, "out of memory"},
               {3, "not initialised"},
               {46, "device busy or unavailable"},
               {101, "no such device"},
               {201, "no context, or an invalid one"},
               {200, "an image that is no image"},
               {209, "no code for this device in the image"},
               {400, "invalid handle"},
               {500, "no such name"},
               {600, "not ready"},
               {700, "an illegal address"},
               {701, "more than a launch may use"},
               {709, "the context is destroyed"},
               {719, "a launch failed"},
               {800, "not permitted"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (texts[i].result != result) continue;
    *out_text = texts[i].text;
    return CU_OK;
  }
  *out_text = NULL;
  return CU_INVALID_VALUE;
}
