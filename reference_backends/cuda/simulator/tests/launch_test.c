/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * launch_test.c: device code, from its text to its work.
 */
#include <emit/job.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../nvrtc.h"
#include "selftest.h"

static cuda_nvrtc_t rtc;

static void find_nvrtc(void) {
#define LOOK_UP(member, symbol, parameters)           \
  do {                                                \
    void* address = cu_symbol(symbol);                \
    CU_ASSERT_PTR_NOT_NULL_FATAL(address);            \
    memcpy(&rtc.member, &address, sizeof rtc.member); \
  } while (0);
  CUDA_NVRTC_MAP(LOOK_UP)
#undef LOOK_UP
}

/* Compiles `source`; the machine code, of at most `room` bytes, where that goes well. */
static int compile(const char* source, const char* architecture, const char* kernel, char* cubin,
                   size_t room) {
  const char* const options[] = {architecture, "--fmad=false", kernel, "-DOUT=6"};
  nvrtc_program program = NULL;
  size_t size = 0;
  find_nvrtc();
  CU_ASSERT_EQUAL_FATAL(rtc.create_program(&program, source, "a.cu", 0, NULL, NULL), NVRTC_OK);
  const int result = rtc.compile_program(program, 4, options);
  CU_ASSERT_EQUAL(rtc.get_cubin_size(program, &size), NVRTC_OK);
  CU_ASSERT_TRUE_FATAL(size > 0 && size <= room);
  CU_ASSERT_EQUAL(rtc.get_cubin(program, cubin), NVRTC_OK);
  CU_ASSERT_EQUAL(rtc.destroy_program(&program), NVRTC_OK);
  return result;
}

static void only_what_it_was_built_with_is_compiled(void) {
  char cubin[512];
  cu_module module;
  CU_ASSERT_EQUAL(compile(emit_cuda_source, "--gpu-architecture=sm_90", "-DADD", cubin, 512), 0);
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.module_load_data(&module, cubin), CU_OK);
  CU_ASSERT_EQUAL(cu.module_unload(module), CU_OK);
  cubin[0] ^= 1;
  CU_ASSERT_EQUAL(cu.module_load_data(&module, cubin), 200);
  CU_ASSERT_EQUAL(compile(emit_cuda_source, "--gpu-architecture=sm_80", "-DADD", cubin, 512), 0);
  CU_ASSERT_EQUAL(cu.module_load_data(&module, cubin), 209);
  cu_leave(0);
  CU_ASSERT_EQUAL(compile(emit_cuda_source, "--gpu-architecture=sm_90", "-DNO", cubin, 512), 6);
  CU_ASSERT_EQUAL(compile("other", "--gpu-architecture=sm_90", "-DADD", cubin, 512), 6);
  CU_ASSERT_EQUAL(compile(emit_cuda_source, "--no-such", "-DADD", cubin, 512),
                  NVRTC_INVALID_OPTION);
}

typedef struct scene {
  cu_module module;
  cu_function function;
  cu_stream stream;
  cu_deviceptr memory;
  emit_shape_t shape;
  float alpha;
} scene_t;

/* A context with 64 floats, and the kernel that adds. */
static void set_scene(scene_t* scene, int device) {
  char cubin[512];
  *scene = (scene_t){.alpha = 2};
  scene->shape = (emit_shape_t){.count = 64, .rank = 1, .sizes = {64}};
  for (int k = 0; k < 3; k++)
    scene->shape.strides[k][0] = 1;
  CU_ASSERT_EQUAL(compile(emit_cuda_source, "--gpu-architecture=sm_90", "-DADD", cubin, 512), 0);
  cu_enter(device);
  CU_ASSERT_EQUAL_FATAL(cu.module_load_data(&scene->module, cubin), CU_OK);
  CU_ASSERT_EQUAL(cu.module_get_function(&scene->function, scene->module, "walk"), 500);
  CU_ASSERT_EQUAL(cu.module_get_function(&scene->function, scene->module, "run"), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_create(&scene->stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&scene->memory, 256), CU_OK);
}

static cu_result launch(scene_t* scene, unsigned grid, unsigned block, unsigned shared_bytes) {
  cu_deviceptr none = 0;
  void* parameters[] = {&scene->shape,  &scene->alpha,  &scene->memory,
                        &scene->memory, &scene->memory, &none};
  return cu.launch_kernel(scene->function, grid, 1, 1, block, 1, 1, shared_bytes, scene->stream,
                          parameters, NULL);
}

static void a_launch_stays_within_limits(void) {
  scene_t scene;
  set_scene(&scene, 0);
  BREAKS(LAUNCH_LIMITS, 1, launch(&scene, 0, 64, 0));
  BREAKS(LAUNCH_LIMITS, 1, launch(&scene, 1u << 31, 64, 0));
  BREAKS(LAUNCH_LIMITS, 1, launch(&scene, 1, 2048, 0));
  BREAKS(LAUNCH_LIMITS, 1, launch(&scene, 1, 64, 1u << 20));
  BREAKS(LAUNCH_BOUNDS, 701, launch(&scene, 1, 128, 0));
  BREAKS(LAUNCH_SHAPE, 1, launch(&scene, 1, 32, 0));
  (void)cu_broken();
  CU_ASSERT_EQUAL(cu.launch_kernel(scene.function, 1, 1, 1, 64, 1, 1, 0, scene.stream, NULL, NULL),
                  1);
  CU_ASSERT_EQUAL(cu_broken(), SIM_NULL_POINTER);
  CU_ASSERT_EQUAL(cu.module_unload(scene.module), CU_OK);
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), 400);
  CU_ASSERT_EQUAL(cu_broken(), SIM_DESTROYED);
  scene.function = (cu_function)(void*)scene.stream;
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), 400);
  CU_ASSERT_EQUAL(cu_broken(), SIM_BAD_HANDLE);
  CU_ASSERT_EQUAL(cu.mem_free(scene.memory), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_destroy(scene.stream), CU_OK);
  cu_leave(0);
}

static void a_kernel_computes_in_the_order_of_its_stream(void) {
  scene_t scene;
  float numbers[64] = {1, 2, 3};
  set_scene(&scene, 0);
  (void)cu_broken();
  CU_ASSERT_EQUAL(cu.copy_h2d(scene.memory, numbers, 256, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), CU_OK);
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), CU_OK);
  scene.alpha = 0; /* parameters were copied in the call */
  CU_ASSERT_EQUAL(cu.copy_d2h(numbers, scene.memory, 256, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene.stream), CU_OK);
  CU_ASSERT_EQUAL(numbers[2], 27);
  CU_ASSERT_EQUAL(numbers[3], 0);
  CU_ASSERT_EQUAL(cu_broken(), 0);
  CU_ASSERT_EQUAL(cu.module_unload(scene.module), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free(scene.memory), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_destroy(scene.stream), CU_OK);
  cu_leave(0);
}

static void memory_of_a_stream_is_freed_in_its_order(void) {
  scene_t scene;
  cu_deviceptr memory;
  size_t before, between, after, total;
  int pools = 0;
  set_scene(&scene, 0);
  CU_ASSERT_EQUAL(cu.device_get_attribute(&pools, CU_ATTRIBUTE_MEMORY_POOLS, 0), CU_OK);
  CU_ASSERT_EQUAL(pools, 1);
  CU_ASSERT_EQUAL(cu.mem_get_info(&before, &total), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc_async(&memory, 4096, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_get_info(&between, &total), CU_OK);
  CU_ASSERT_EQUAL(between, before - 4096);
  CU_ASSERT_EQUAL(cu.fill(memory, 1, 4096, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free_async(memory, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene.stream), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_get_info(&after, &total), CU_OK);
  CU_ASSERT_EQUAL(after, before);
  (void)cu_broken();
  CU_ASSERT_EQUAL(cu.mem_free_async(memory, scene.stream), 1);
  CU_ASSERT_EQUAL(cu_broken(), SIM_FREE);
  CU_ASSERT_EQUAL(cu.mem_alloc_async(&memory, 0, scene.stream), 1);
  CU_ASSERT_EQUAL(cu_broken(), SIM_SIZE_ELSEWHERE);
  CU_ASSERT_EQUAL(cu.module_unload(scene.module), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free(scene.memory), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_destroy(scene.stream), CU_OK);
  cu_leave(0);
}

static void wait_for(void* argument) {
  while (!atomic_load((atomic_bool*)argument))
    sched_yield();
}

static void a_block_is_freed_once_in_the_order_of_its_stream(void) {
  scene_t scene;
  cu_deviceptr memory;
  atomic_bool open = false;
  set_scene(&scene, 0);
  CU_ASSERT_EQUAL(cu.mem_alloc_async(&memory, 64, scene.stream), CU_OK);
  cu_begin_log();
  CU_ASSERT_EQUAL(cu.launch_host_func(scene.stream, wait_for, &open), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free_async(memory, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free_async(memory, scene.stream), CU_OK);
  atomic_store(&open, true);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene.stream), CU_OK);
  CU_ASSERT_TRUE(cu_end_log(SIM_FREE));
  cu_leave(0);
}

static void a_function_is_used_in_its_context_and_without_null(void) {
  scene_t scene;
  void* parameters[6] = {NULL};
  set_scene(&scene, 0);
  (void)cu_broken();
  CU_ASSERT_EQUAL(cu.module_get_function(&scene.function, scene.module, NULL), 1);
  CU_ASSERT_EQUAL(cu_broken(), SIM_NULL_POINTER);
  CU_ASSERT_EQUAL(
      cu.launch_kernel(scene.function, 1, 1, 1, 64, 1, 1, 0, scene.stream, parameters, NULL), 1);
  CU_ASSERT_EQUAL(cu_broken(), SIM_NULL_POINTER);
  CU_ASSERT_EQUAL(cu.mem_alloc_async(NULL, 8, scene.stream), 1);
  CU_ASSERT_EQUAL(cu_broken(), SIM_NULL_POINTER);
  cu_enter(1);
  CU_ASSERT_EQUAL(cu.stream_create(&scene.stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), 400);
  CU_ASSERT_EQUAL(cu_broken(), SIM_BAD_HANDLE);
  cu_leave(1);
  cu_leave(0);
}

static void an_access_out_of_range_kills_the_context(void) {
  scene_t scene;
  size_t free_bytes, total;
  set_scene(&scene, 1);
  scene.shape.offsets[0] = 1;
  cu_begin_log();
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene.stream), 700);
  CU_ASSERT_TRUE(cu_end_log(SIM_ACCESS));
  CU_ASSERT_EQUAL(cu.mem_get_info(&free_bytes, &total), 700);
  cu_leave(1);
}

/* Given back while the kernel waits for its turn. */
static void memory_is_there_until_the_kernel_is_through(void) {
  scene_t scene;
  atomic_bool open = false;
  set_scene(&scene, 3);
  cu_begin_log();
  CU_ASSERT_EQUAL(cu.launch_host_func(scene.stream, wait_for, &open), CU_OK);
  CU_ASSERT_EQUAL(launch(&scene, 1, 64, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free(scene.memory), CU_OK);
  atomic_store(&open, true);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene.stream), 700);
  CU_ASSERT_TRUE(cu_end_log(SIM_ACCESS));
  cu_leave(3);
}

CU_TestInfo cu_launch_tests[] = {
    {"only what it was built with is compiled", only_what_it_was_built_with_is_compiled},
    {"a launch stays within limits", a_launch_stays_within_limits},
    {"a kernel computes in the order of its stream", a_kernel_computes_in_the_order_of_its_stream},
    {"memory of a stream is freed in its order", memory_of_a_stream_is_freed_in_its_order},
    {"a block is freed once, in the order of its stream",
     a_block_is_freed_once_in_the_order_of_its_stream},
    {"a function is used in its context, and without NULL",
     a_function_is_used_in_its_context_and_without_null},
    CU_TEST_INFO_NULL};

CU_TestInfo cu_death_tests[] = {
    {"an access out of range kills the context", an_access_out_of_range_kills_the_context},
    {"memory is there until the kernel is through", memory_is_there_until_the_kernel_is_through},
    CU_TEST_INFO_NULL};
