/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cublas_test.c: matrix products, and what a program must not do with them.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "../../cublas.h"
#include "selftest.h"

static cuda_cublas_t blas;

/* Matrices of floats lie one behind the other; `out` is 2 by 2. */
typedef struct scene {
  cublas_handle handle;
  cu_stream stream;
  cu_deviceptr left, right, out, workspace;
} scene_t;

typedef struct product {
  int left_form, right_form, rows, columns, inner;
  const void *alpha, *beta;
  int left_step, right_step, out_step, type, computed_in, algorithm;
} product_t;

static const float one = 1, none = 0, two = 2;
static const product_t plain = {0, 0, 2, 2, 3, &one, &none, 2, 3, 2, CUDA_FLOAT, 69, -1};

static int multiply(const scene_t* scene, product_t p) {
  return blas.gemm(scene->handle, p.left_form, p.right_form, p.rows, p.columns, p.inner, p.alpha,
                   scene->left, p.type, p.left_step, scene->right, p.type, p.right_step, p.beta,
                   scene->out, p.type, p.out_step, p.computed_in, p.algorithm);
}

static void find_cublas(void) {
#define LOOK_UP(member, symbol, parameters)             \
  do {                                                  \
    void* address = cu_symbol(symbol);                  \
    CU_ASSERT_PTR_NOT_NULL_FATAL(address);              \
    memcpy(&blas.member, &address, sizeof blas.member); \
  } while (0);
  CUDA_CUBLAS_MAP(LOOK_UP)
#undef LOOK_UP
}

static void set_scene(scene_t* scene, int device) {
  find_cublas();
  cu_enter(device);
  CU_ASSERT_EQUAL_FATAL(blas.create(&scene->handle), CUBLAS_OK);
  CU_ASSERT_EQUAL(cu.stream_create(&scene->stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  cu_deviceptr* const all[] = {&scene->left, &scene->right, &scene->out, &scene->workspace};
  for (size_t i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(cu.mem_alloc(all[i], 24), CU_OK);
  CU_ASSERT_EQUAL(blas.set_stream(scene->handle, scene->stream), CUBLAS_OK);
  CU_ASSERT_EQUAL(blas.set_workspace(scene->handle, scene->workspace, 24), CUBLAS_OK);
  CU_ASSERT_EQUAL(blas.set_pointer_mode(scene->handle, CUBLAS_SCALARS_ON_HOST), CUBLAS_OK);
}

static void end_scene(const scene_t* scene, int device) {
  const cu_deviceptr all[] = {scene->left, scene->right, scene->out, scene->workspace};
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene->stream), CU_OK);
  for (size_t i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(cu.mem_free(all[i]), CU_OK);
  CU_ASSERT_EQUAL(blas.destroy(scene->handle), CUBLAS_OK);
  CU_ASSERT_EQUAL(cu.stream_destroy(scene->stream), CU_OK);
  cu_leave(device);
}

static void upload(const scene_t* scene, const float* left, const float* right) {
  CU_ASSERT_EQUAL(cu.copy_h2d(scene->left, left, 24, scene->stream), CU_OK);
  CU_ASSERT_EQUAL(cu.copy_h2d(scene->right, right, 24, scene->stream), CU_OK);
}

static void download(const scene_t* scene, float out[4]) {
  CU_ASSERT_EQUAL(cu.copy_d2h(out, scene->out, 16, scene->stream), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene->stream), CU_OK);
}

/* By columns: 2 by 3 times 3 by 2; and the same, of factors that are written by rows. */
static void a_product_is_right_in_each_form(void) {
  static const float left[] = {1, 4, 2, 5, 3, 6}, right[] = {7, 9, 11, 8, 10, 12};
  static const float by_rows[2][6] = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
  scene_t scene;
  float out[4] = {0};
  set_scene(&scene, 0);
  (void)cu_broken();
  upload(&scene, left, right);
  CU_ASSERT_EQUAL(multiply(&scene, plain), CUBLAS_OK);
  download(&scene, out);
  CU_ASSERT_TRUE(out[0] == 58 && out[1] == 139 && out[2] == 64 && out[3] == 154);
  product_t transposed = plain;
  transposed.left_form = transposed.right_form = CUBLAS_TRANSPOSED;
  transposed.left_step = 3, transposed.right_step = 2;
  upload(&scene, by_rows[0], by_rows[1]);
  CU_ASSERT_EQUAL(cu.fill(scene.out, 0, 16, scene.stream), CU_OK);
  CU_ASSERT_EQUAL(multiply(&scene, transposed), CUBLAS_OK);
  download(&scene, out);
  CU_ASSERT_TRUE(out[0] == 58 && out[1] == 139 && out[2] == 64 && out[3] == 154);
  CU_ASSERT_EQUAL(cu_broken(), 0);
  end_scene(&scene, 0);
}

static float computed(const scene_t* scene, int computed_in, int mode) {
  float out[4] = {0};
  product_t product = plain;
  product.computed_in = computed_in;
  CU_ASSERT_EQUAL(blas.set_math_mode(scene->handle, mode), CUBLAS_OK);
  CU_ASSERT_EQUAL(multiply(scene, product), CUBLAS_OK);
  download(scene, out);
  return out[0];
}

static void tf32_loses_what_it_would(void) {
  static const float fine[6] = {1 + 0x1p-12f}, unit[6] = {1};
  scene_t scene;
  set_scene(&scene, 0);
  upload(&scene, fine, unit);
  CU_ASSERT_EQUAL(computed(&scene, CUBLAS_COMPUTE_FLOAT, CUBLAS_MATH_DEFAULT), fine[0]);
  CU_ASSERT_EQUAL(computed(&scene, CUBLAS_COMPUTE_FLOAT, CUBLAS_MATH_TF32), 1);
  CU_ASSERT_EQUAL(computed(&scene, CUBLAS_COMPUTE_TF32, CUBLAS_MATH_DEFAULT), 1);
  CU_ASSERT_EQUAL(computed(&scene, CUBLAS_COMPUTE_FLOAT_EXACT, CUBLAS_MATH_TF32), fine[0]);
  end_scene(&scene, 0);
}

static void a_handle_is_of_its_context_and_ends(void) {
  scene_t scene;
  cublas_handle left, gone;
  cu_context popped;
  find_cublas();
  BREAKS(NO_CONTEXT, CUBLAS_NOT_INITIALIZED, blas.create(&gone));
  set_scene(&scene, 0);
  BREAKS(NULL_POINTER, CUBLAS_INVALID_VALUE, blas.create(NULL));
  BREAKS(BAD_HANDLE, CUBLAS_NOT_INITIALIZED, blas.set_math_mode(NULL, 0));
  BREAKS(BAD_HANDLE, CUBLAS_NOT_INITIALIZED, blas.destroy((cublas_handle)(void*)scene.stream));
  CU_ASSERT_EQUAL(blas.create(&gone), CUBLAS_OK);
  CU_ASSERT_EQUAL(blas.destroy(gone), CUBLAS_OK);
  BREAKS(DESTROYED, CUBLAS_NOT_INITIALIZED, blas.destroy(gone));
  BREAKS(DESTROYED, CUBLAS_NOT_INITIALIZED, blas.set_stream(gone, scene.stream));
  cu_enter(1);
  BREAKS(CUBLAS_CONTEXT, CUBLAS_NOT_INITIALIZED, multiply(&scene, plain));
  CU_ASSERT_EQUAL(blas.create(&left), CUBLAS_OK);
  CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
  BREAKS(LEFT, CU_OK, cu.primary_release(1));
  end_scene(&scene, 0);
}

static void a_stream_is_there_when_work_goes_to_it(void) {
  scene_t scene;
  cu_stream gone;
  set_scene(&scene, 0);
  CU_ASSERT_EQUAL(cu.stream_create(&gone, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(blas.set_stream(scene.handle, gone), CUBLAS_OK);
  CU_ASSERT_EQUAL(cu.stream_destroy(gone), CU_OK);
  BREAKS(DESTROYED, CUBLAS_NOT_INITIALIZED, multiply(&scene, plain));
  BREAKS(DESTROYED, CUBLAS_NOT_INITIALIZED, blas.set_stream(scene.handle, gone));
  CU_ASSERT_EQUAL(blas.set_stream(scene.handle, NULL), CUBLAS_OK);
  BREAKS(LEGACY_STREAM, CUBLAS_OK, multiply(&scene, plain));
  CU_ASSERT_EQUAL(cu.context_synchronize(), CU_OK);
  end_scene(&scene, 0);
}

static void arguments_are_what_the_page_allows(void) {
  scene_t scene;
  int version;
  set_scene(&scene, 0);
  product_t wrong[8];
  for (int i = 0; i < 8; i++)
    wrong[i] = plain;
  wrong[0].left_form = 3, wrong[1].right_form = -1, wrong[2].rows = -1, wrong[3].left_step = 1;
  wrong[4].right_step = 2, wrong[5].out_step = 0, wrong[6].algorithm = 5, wrong[7].inner = -1;
  for (int i = 0; i < 8; i++)
    BREAKS(CUBLAS_ARGUMENT, CUBLAS_INVALID_VALUE, multiply(&scene, wrong[i]));
  BREAKS(CUBLAS_ARGUMENT, CUBLAS_INVALID_VALUE, blas.set_math_mode(scene.handle, 64));
  BREAKS(CUBLAS_ARGUMENT, CUBLAS_INVALID_VALUE, blas.set_pointer_mode(scene.handle, 2));
  BREAKS(CUBLAS_ARGUMENT, CUBLAS_INVALID_VALUE, blas.get_property(3, &version));
  product_t unknown = plain;
  unknown.type = 3;
  CU_ASSERT_EQUAL(multiply(&scene, unknown), CUBLAS_NOT_SUPPORTED);
  unknown = plain;
  unknown.computed_in = 64;
  CU_ASSERT_EQUAL(multiply(&scene, unknown), CUBLAS_NOT_SUPPORTED);
  unknown = plain;
  unknown.rows = 0;
  CU_ASSERT_EQUAL(multiply(&scene, unknown), CUBLAS_OK);
  end_scene(&scene, 0);
}

/* A real library serves them, and whoever gives them by mistake must not be served in another way. */
static void other_scalars_are_refused_by_name(void) {
  scene_t scene;
  set_scene(&scene, 0);
  product_t other = plain;
  other.alpha = &two;
  BREAKS(CUBLAS_OTHER, CUBLAS_INVALID_VALUE, multiply(&scene, other));
  other = plain;
  other.beta = plain.alpha;
  BREAKS(CUBLAS_OTHER, CUBLAS_INVALID_VALUE, multiply(&scene, other));
  CU_ASSERT_EQUAL(blas.set_pointer_mode(scene.handle, 1), CUBLAS_OK);
  other.alpha = other.beta = (const void*)(uintptr_t)scene.out;
  BREAKS(CUBLAS_OTHER, CUBLAS_INVALID_VALUE, multiply(&scene, other));
  CU_ASSERT_EQUAL(blas.set_pointer_mode(scene.handle, 0), CUBLAS_OK);
  end_scene(&scene, 0);
}

static void scalars_and_memory_are_where_they_must_be(void) {
  scene_t scene;
  set_scene(&scene, 0);
  product_t wrong = plain;
  wrong.alpha = NULL;
  BREAKS(NULL_POINTER, CUBLAS_INVALID_VALUE, multiply(&scene, wrong));
  wrong.alpha = (const void*)(uintptr_t)scene.out;
  BREAKS(CUBLAS_SCALARS, CUBLAS_INVALID_VALUE, multiply(&scene, wrong));
  CU_ASSERT_EQUAL(blas.set_pointer_mode(scene.handle, 1), CUBLAS_OK);
  BREAKS(CUBLAS_SCALARS, CUBLAS_INVALID_VALUE, multiply(&scene, plain));
  CU_ASSERT_EQUAL(blas.set_pointer_mode(scene.handle, 0), CUBLAS_OK);
  wrong = plain;
  wrong.left_step = 3;
  BREAKS(RANGE, CUBLAS_INVALID_VALUE, multiply(&scene, wrong));
  scene.left += 2;
  wrong.left_step = 2;
  BREAKS(RANGE, CUBLAS_INVALID_VALUE, multiply(&scene, wrong));
  scene.left -= 2;
  BREAKS(CUBLAS_WORKSPACE, CUBLAS_INVALID_VALUE,
         blas.set_workspace(scene.handle, scene.out + 8, 8));
  BREAKS(RANGE, CUBLAS_INVALID_VALUE, blas.set_workspace(scene.handle, scene.out, 4096));
  end_scene(&scene, 0);
}

static void wait_for(void* argument) {
  while (!atomic_load((atomic_bool*)argument))
    sched_yield();
}

static void a_workspace_outlives_the_product(void) {
  scene_t scene;
  atomic_bool open = false;
  set_scene(&scene, 2);
  cu_begin_log();
  CU_ASSERT_EQUAL(cu.launch_host_func(scene.stream, wait_for, &open), CU_OK);
  CU_ASSERT_EQUAL(multiply(&scene, plain), CUBLAS_OK);
  CU_ASSERT_EQUAL(cu.mem_free(scene.workspace), CU_OK);
  atomic_store(&open, true);
  CU_ASSERT_EQUAL(cu.stream_synchronize(scene.stream), 700);
  CU_ASSERT_TRUE(cu_end_log(SIM_CUBLAS_FREED));
  CU_ASSERT_EQUAL(multiply(&scene, plain), CUBLAS_EXECUTION_FAILED);
  cu_leave(2);
}

CU_TestInfo cu_cublas_tests[] = {
    {"a product is right in each form", a_product_is_right_in_each_form},
    {"TF32 loses what it would", tf32_loses_what_it_would},
    {"a handle is of its context, and ends", a_handle_is_of_its_context_and_ends},
    {"a stream is there when work goes to it", a_stream_is_there_when_work_goes_to_it},
    {"arguments are what the page allows", arguments_are_what_the_page_allows},
    {"other scalars are refused by name", other_scalars_are_refused_by_name},
    {"scalars and memory are where they must be", scalars_and_memory_are_where_they_must_be},
    CU_TEST_INFO_NULL};

CU_TestInfo cu_cublas_death_tests[] = {
    {"a workspace outlives the product", a_workspace_outlives_the_product}, CU_TEST_INFO_NULL};
