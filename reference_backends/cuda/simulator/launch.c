/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * launch.c: modules, functions, and kernels as work of a stream.
 */
#include <emit/host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator.h"

/* What compute capability 9.0 allows (rule 27); more shared memory is for kernels that ask for it beforehand, by
 * a function that is not simulated. */
enum {
  GRID_X_MOST = 2147483647,
  GRID_MOST = 65535,
  BLOCK_MOST = 1024,
  BLOCK_Z_MOST = 64,
  SHARED_MOST = 48 << 10
};

cu_result api_module_load_data(cu_module* out_module, const void* image) {
  cu_context context;
  cu_result result = sim_begin_in_context("cuModuleLoadData", &context);
  if (result != CU_OK) return result;
  if (out_module == NULL || image == NULL) return sim_broken(SIM_NULL_POINTER, "cuModuleLoadData");
  sim_object_t value = {.kind = SIM_MODULE, .context = context};
  result = sim_image_kernel(image, SIM_ARCHITECTURE, &value.kernel);
  void* handle = NULL;
  if (result == CU_OK) result = sim_object_add(&value, &handle);
  if (result == CU_OK) *out_module = handle;
  return result;
}

cu_result api_module_unload(cu_module module) {
  return sim_object_destroy(module, SIM_MODULE, "cuModuleUnload");
}

/* A function lives as long as its module, and has the module's handle, but for a bit. */
cu_result api_module_get_function(cu_function* out_function, cu_module module, const char* name) {
  static const char call[] = "cuModuleGetFunction";
  enum { NOT_FOUND = 500 };
  cu_context context;
  sim_object_t* object;
  cu_result result = sim_begin_in_context(call, &context);
  if (result == CU_OK) result = sim_object_find(module, SIM_MODULE, call, &object);
  if (result != CU_OK) return result;
  if (out_function == NULL || name == NULL) return sim_broken(SIM_NULL_POINTER, call);
  if (strcmp(name, "run") != 0) return NOT_FOUND;
  *out_function = (cu_function)(void*)((uintptr_t)module | 1);
  return CU_OK;
}

static cu_result find_function(cu_function function, cu_context context, const char* call,
                               sim_object_t** out_module) {
  if (((uintptr_t)function & 1) == 0) return sim_broken(SIM_BAD_HANDLE, call);
  const void* module = (const void*)((uintptr_t)function & ~(uintptr_t)1);
  cu_result result = sim_object_find(module, SIM_MODULE, call, out_module);
  if (result == CU_OK && (*out_module)->context != context) return sim_broken(SIM_BAD_HANDLE, call);
  return result;
}

static bool is_within(unsigned value, unsigned most) {
  return value > 0 && value <= most;
}

/* The kernels are compiled for groups of 64 in one dimension, and say so to the compiler. */
static cu_result check_limits(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                              const char* call) {
  const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  const bool fits = is_within(grid[0], GRID_X_MOST) && is_within(grid[1], GRID_MOST) &&
                    is_within(grid[2], GRID_MOST) && is_within(block[0], BLOCK_MOST) &&
                    is_within(block[1], BLOCK_MOST) && is_within(block[2], BLOCK_Z_MOST) &&
                    threads <= BLOCK_MOST && shared_bytes <= SHARED_MOST;
  if (!fits) return sim_broken(SIM_LAUNCH_LIMITS, call);
  if (threads > EMIT_HOST_GROUP) return sim_broken(SIM_LAUNCH_BOUNDS, call);
  const bool known = block[0] == EMIT_HOST_GROUP && grid[1] == 1 && grid[2] == 1;
  return known ? CU_OK : sim_broken(SIM_LAUNCH_SHAPE, call);
}

void sim_kill(cu_context context, cu_result fault) {
  __atomic_store_n(&context->fault, fault, __ATOMIC_RELEASE);
}

static size_t words_of(size_t bytes) {
  return (bytes + 7) / 8;
}

/* What a launch was given must be there until it is through. */
static bool is_live(const sim_launch_t* launch) {
  sim_block_t block;
  for (int i = 0; i < EMIT_HOST_POINTERS_MOST; i++)
    if (launch->pointers[i] != 0 && !sim_find_block(launch->context, launch->pointers[i], &block))
      return false;
  return true;
}

void sim_launch_run(vdev_work_t* work) {
  sim_launch_t* launch = (sim_launch_t*)work;
  const void* parameters[EMIT_HOST_PARAMETERS_MOST];
  const uint64_t* next = launch->words;
  if (__atomic_load_n(&launch->context->fault, __ATOMIC_ACQUIRE) != CU_OK) return;
  for (int i = 0; i < launch->kernel->parameter_count; i++) {
    parameters[i] = next;
    next += words_of(launch->kernel->parameter_bytes[i]);
  }
  if (is_live(launch) &&
      emit_host_run(launch->kernel, launch->groups, parameters, launch->ranges, launch->seed) &&
      is_live(launch))
    return;
  const cu_result fault = sim_broken(SIM_ACCESS, launch->kernel->options);
  if (fault != CU_OK) sim_kill(launch->context, fault);
}

/* Finds what a pointer points into; whoever goes elsewhere faults. */
static void take_pointer(sim_launch_t* launch, int which, uint64_t* pointer) {
  sim_block_t block;
  if (!sim_find_block(launch->context, *pointer, &block)) return;
  launch->pointers[which] = *pointer;
  launch->ranges[which] = (emit_host_range_t){(uintptr_t)block.at, block.size_bytes};
  *pointer = (uintptr_t)block.at + block.offset;
}

static bool take_parameters(sim_launch_t* launch, void** parameters) {
  const emit_host_kernel_t* kernel = launch->kernel;
  const int first_pointer = kernel->parameter_count - kernel->pointer_count;
  uint64_t *next = launch->words, *end = next + SIM_PARAMETER_WORDS;
  for (int i = 0; i < kernel->parameter_count; i++) {
    const size_t words = words_of(kernel->parameter_bytes[i]);
    if (parameters[i] == NULL || words > (size_t)(end - next)) return false;
    memcpy(next, parameters[i], kernel->parameter_bytes[i]);
    if (i >= first_pointer) take_pointer(launch, i - first_pointer, next);
    next += words;
  }
  return true;
}

bool sim_launch_set(sim_launch_t* launch, cu_context context, const emit_host_kernel_t* kernel,
                    int64_t groups, void** parameters) {
  const uint64_t count = __atomic_load_n(&sim.work, __ATOMIC_RELAXED);
  launch->context = context;
  launch->kernel = kernel;
  launch->groups = groups;
  launch->seed = vdev_mix(vdev_machine_config(sim.machine)->seed ^ vdev_mix(count));
  return take_parameters(launch, parameters);
}

cu_result api_launch_kernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, cu_stream stream, void** parameters,
                            void** extra) {
  static const char call[] = "cuLaunchKernel";
  const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  cu_context context;
  vdev_stream_t* queue;
  sim_object_t* module;
  cu_result result = sim_begin_on_stream(stream, call, &context, &queue);
  if (result == CU_OK) result = find_function(function, context, call, &module);
  if (result != CU_OK) return result;
  if (parameters == NULL || extra != NULL) return sim_broken(SIM_NULL_POINTER, call);
  result = check_limits(grid, block, shared_bytes, call);
  if (result != CU_OK) return result;
  sim_count_work(context, queue);
  sim_launch_t* launch = vdev_work_new(sizeof *launch, sim_launch_run);
  if (launch == NULL) return CU_OUT_OF_MEMORY;
  if (!sim_launch_set(launch, context, module->kernel, grid_x, parameters)) {
    free(launch);
    return sim_broken(SIM_NULL_POINTER, call);
  }
  return sim_of_status(vdev_submit(queue, launch));
}
