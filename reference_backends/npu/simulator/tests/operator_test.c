/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operator_test.c: operators in two phases; at the end, errors of work.
 */
#include <string.h>

#include "selftest.h"

enum { COUNT = 8, BYTES = 32, ROOM = 1024, WORKSPACE = 8192 };

/* A device with memory for four tensors of COUNT floats, each with what must lie behind it, and a workspace. */
typedef struct scene {
  acl_stream stream;
  char* memory[4];
  char* workspace;
  uint64_t bytes;
  acl_executor* executor;
} scene_t;

static void set_scene(scene_t* scene) {
  *scene = (scene_t){.stream = NULL};
  acl_enter(0);
  OK(acl.stream_create(&scene->stream));
  for (int i = 0; i < 4; i++) {
    OK(acl.malloc_padded((void**)&scene->memory[i], ROOM, 0));
    OK(acl.fill(scene->memory[i], ROOM, 0, ROOM));
  }
  OK(acl.malloc_padded((void**)&scene->workspace, WORKSPACE, 0));
  (void)acl_broken();
}

static void end_scene(scene_t* scene) {
  OK(acl.stream_synchronize(scene->stream));
  for (int i = 0; i < 4; i++)
    OK(acl.free(scene->memory[i]));
  OK(acl.free(scene->workspace));
  OK(acl.stream_destroy(scene->stream));
  acl_leave(0);
}

static acl_tensor* tensor(void* data, int dtype, int64_t rows, int64_t columns) {
  const int64_t sizes[] = {rows, columns}, strides[] = {columns, 1}, storage = rows * columns;
  return handles.create_tensor(sizes, 2, dtype, strides, 0, ACL_FORMAT_ND, &storage, 1, data);
}

static acl_tensor* floats(void* data) {
  return tensor(data, ACL_FLOAT32, 2, COUNT / 2);
}

static acl_scalar* number(double value) {
  return handles.create_scalar(&value, ACL_FLOAT64);
}

static void fill_with(scene_t* scene, void* data, double value) {
  acl_tensor* self = floats(data);
  acl_scalar* scalar = number(value);
  OK(nn.fill.plan(self, scalar, &scene->bytes, &scene->executor));
  CU_ASSERT_EQUAL(scene->bytes, 0);
  OK(nn.fill.issue(NULL, 0, scene->executor, scene->stream));
  OK(handles.destroy_tensor(self));
  OK(handles.destroy_scalar(scalar));
}

static float read(scene_t* scene, const char* data, int index) {
  float values[COUNT] = {0};
  OK(acl.stream_synchronize(scene->stream));
  OK(acl.copy(values, sizeof values, data, sizeof values, ACL_DEVICE_TO_HOST));
  return values[index];
}

static void operators_compute_in_order(void) {
  scene_t scene;
  set_scene(&scene);
  acl_tensor *a = floats(scene.memory[0]), *b = floats(scene.memory[1]),
             *c = floats(scene.memory[2]);
  acl_scalar* two = number(2);
  fill_with(&scene, scene.memory[0], 3);
  fill_with(&scene, scene.memory[1], 4);
  OK(nn.add.plan(a, b, two, c, &scene.bytes, &scene.executor));
  OK(nn.add.issue(NULL, 0, scene.executor, scene.stream));
  CU_ASSERT_EQUAL(read(&scene, scene.memory[2], COUNT - 1), 11);
  OK(nn.mul.plan(a, b, c, &scene.bytes, &scene.executor));
  OK(nn.mul.issue(NULL, 0, scene.executor, scene.stream));
  CU_ASSERT_EQUAL(read(&scene, scene.memory[2], 0), 12);
  OK(nn.copy.plan(a, c, &scene.bytes, &scene.executor));
  OK(nn.copy.issue(NULL, 0, scene.executor, scene.stream));
  CU_ASSERT_EQUAL(read(&scene, scene.memory[0], 1), 12);
  OK(nn.zero.plan(a, &scene.bytes, &scene.executor));
  OK(nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  CU_ASSERT_EQUAL(read(&scene, scene.memory[0], 1), 0);
  acl_tensor* condition = tensor(scene.memory[3], ACL_BOOL, 2, COUNT / 2);
  OK(nn.where.plan(condition, a, b, c, &scene.bytes, &scene.executor));
  OK(nn.where.issue(NULL, 0, scene.executor, scene.stream));
  CU_ASSERT_EQUAL(read(&scene, scene.memory[2], 5), 4);
  OK(handles.destroy_tensor(a));
  OK(handles.destroy_tensor(b));
  OK(handles.destroy_tensor(c));
  OK(handles.destroy_tensor(condition));
  OK(handles.destroy_scalar(two));
  end_scene(&scene);
  CU_ASSERT_EQUAL(acl_broken(), 0);
}

static acl_result plan_sum(scene_t* scene, void* from, void* to, int dtype) {
  const int64_t both[] = {0, 1};
  acl_tensor *in = tensor(from, dtype, 2, COUNT / 2), *out = tensor(to, dtype, 1, 1);
  acl_ints* dims = handles.create_ints(both, 2);
  acl_result result = nn.sum.plan(in, dims, true, dtype, out, &scene->bytes, &scene->executor);
  if (result == ACL_OK)
    result = nn.sum.issue(scene->workspace, scene->bytes, scene->executor, scene->stream);
  OK(handles.destroy_tensor(in));
  OK(handles.destroy_tensor(out));
  OK(handles.destroy_ints(dims));
  return result;
}

static void sums_and_products_take_a_workspace(void) {
  scene_t scene;
  set_scene(&scene);
  fill_with(&scene, scene.memory[0], 3);
  OK(plan_sum(&scene, scene.memory[0], scene.memory[1], ACL_FLOAT32));
  CU_ASSERT_TRUE(scene.bytes > 0);
  CU_ASSERT_EQUAL(read(&scene, scene.memory[1], 0), 3 * COUNT);
  acl_tensor *a = floats(scene.memory[0]), *b = tensor(scene.memory[0], ACL_FLOAT32, COUNT / 2, 2);
  acl_tensor* c = tensor(scene.memory[2], ACL_FLOAT32, 2, 2);
  OK(nn.mm.plan(a, b, c, ACL_KEEP_DTYPE, &scene.bytes, &scene.executor));
  CU_ASSERT_TRUE(scene.bytes > 0);
  OK(nn.mm.issue(scene.workspace, scene.bytes, scene.executor, scene.stream));
  CU_ASSERT_EQUAL(read(&scene, scene.memory[2], 3), 4.5 * COUNT);
  fill_with(&scene, scene.memory[0], 1.0 / 3);
  OK(nn.mm.plan(a, b, c, ACL_KEEP_DTYPE, &scene.bytes, &scene.executor));
  OK(nn.mm.issue(scene.workspace, scene.bytes, scene.executor, scene.stream));
  const float wide = read(&scene, scene.memory[2], 3);
  OK(nn.mm.plan(a, b, c, 3, &scene.bytes, &scene.executor)); /* HF32 */
  OK(nn.mm.issue(scene.workspace, scene.bytes, scene.executor, scene.stream));
  const float narrow = read(&scene, scene.memory[2], 3);
  CU_ASSERT_TRUE(narrow < wide && wide - narrow < wide / 500);
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, nn.mm.plan(a, b, c, 9, &scene.bytes, &scene.executor));
  OK(nn.mm.plan(a, b, c, ACL_KEEP_DTYPE, &scene.bytes, &scene.executor));
  char* workspace = scene.workspace;
  BREAKS(NN_NULL, ACL_NN_NULL, nn.mm.issue(NULL, scene.bytes, scene.executor, scene.stream));
  BREAKS(WORKSPACE_SIZE, ACL_NN_INVALID,
         nn.mm.issue(workspace, scene.bytes - 1, scene.executor, scene.stream));
  BREAKS(WORKSPACE_BASE, ACL_NN_INVALID,
         nn.mm.issue(workspace + 32, scene.bytes, scene.executor, scene.stream));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID,
         nn.mm.issue(workspace + WORKSPACE - 64, scene.bytes, scene.executor, scene.stream));
  OK(nn.mm.issue(workspace, scene.bytes, scene.executor, scene.stream));
  OK(handles.destroy_tensor(a));
  OK(handles.destroy_tensor(b));
  OK(handles.destroy_tensor(c));
  end_scene(&scene);
}

static void operators_refuse_what_chips_do(void) {
  const int64_t sizes[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, one = 1;
  scene_t scene;
  set_scene(&scene);
  acl_tensor* doubles = tensor(scene.memory[0], ACL_FLOAT64, 2, 2);
  acl_tensor* numbers = tensor(scene.memory[0], ACL_COMPLEX128, 2, 2);
  acl_tensor* none = tensor(scene.memory[0], ACL_FLOAT32, 0, 2);
  acl_tensor* empty = tensor(scene.memory[1], ACL_FLOAT32, 0, 0);
  acl_tensor* deep =
      handles.create_tensor(sizes, 9, ACL_FLOAT32, NULL, 0, ACL_FORMAT_ND, &one, 1, NULL);
  acl_tensor* other = tensor(scene.memory[1], 99, 2, 2);
  CU_ASSERT_EQUAL(nn.mm.plan(doubles, doubles, doubles, 0, &scene.bytes, &scene.executor),
                  ACL_NN_INVALID);
  CU_ASSERT_EQUAL(nn.mul.plan(numbers, numbers, numbers, &scene.bytes, &scene.executor),
                  ACL_NN_TILING);
  CU_ASSERT_EQUAL(plan_sum(&scene, scene.memory[0], scene.memory[1], ACL_COMPLEX64),
                  ACL_NN_NO_KERNEL);
  CU_ASSERT_EQUAL(nn.mm.plan(none, none, none, 0, &scene.bytes, &scene.executor), ACL_NN_INVALID);
  CU_ASSERT_EQUAL(nn.mm.plan(empty, none, none, 0, &scene.bytes, &scene.executor), ACL_NN_TILING);
  CU_ASSERT_EQUAL(nn.zero.plan(deep, &scene.bytes, &scene.executor), ACL_NN_INVALID);
  CU_ASSERT_EQUAL(nn.zero.plan(other, &scene.bytes, &scene.executor), ACL_NN_INVALID);
  CU_ASSERT_PTR_NOT_NULL(acl.recent_error());
  int value = 1;
  CU_ASSERT_PTR_NULL(handles.create_scalar(&value, ACL_INT32));
  CU_ASSERT_EQUAL(acl_broken(), 0);
  OK(handles.destroy_tensor(doubles));
  OK(handles.destroy_tensor(numbers));
  OK(handles.destroy_tensor(none));
  OK(handles.destroy_tensor(empty));
  OK(handles.destroy_tensor(deep));
  OK(handles.destroy_tensor(other));
  end_scene(&scene);
}

/* What cannot be described gives no tensor. */
static void no_tensor(sim_rule_t rule, int64_t size, int64_t stride, int64_t offset, int format,
                      void* data) {
  const int64_t storage = COUNT;
  (void)acl_broken();
  CU_ASSERT_PTR_NULL(
      handles.create_tensor(&size, 1, ACL_FLOAT32, &stride, offset, format, &storage, 1, data));
  CU_ASSERT_EQUAL(acl_broken(), rule);
  acl_tried[rule] = true;
}

static void a_tensor_is_what_can_be_described(void) {
  const int64_t size = 1;
  scene_t scene;
  set_scene(&scene);
  char* data = scene.memory[0];
  no_tensor(SIM_DESCRIPTION, -1, 1, 0, ACL_FORMAT_ND, data);
  no_tensor(SIM_DESCRIPTION, 2, -1, 1, ACL_FORMAT_ND, data);
  no_tensor(SIM_DESCRIPTION, 2, 1, -1, ACL_FORMAT_ND, data);
  no_tensor(SIM_DESCRIPTION, 2, 1, 0, 29, data);
  no_tensor(SIM_STORAGE, 2, COUNT, 0, ACL_FORMAT_ND, data);
  no_tensor(SIM_STORAGE, 1, 1, COUNT, ACL_FORMAT_ND, data);
  no_tensor(SIM_BASE, 1, 1, 0, ACL_FORMAT_ND, data + 4);
  BREAKS(NN_NULL, NULL, handles.create_tensor(NULL, 1, 0, NULL, 0, ACL_FORMAT_ND, &size, 1, data));
  BREAKS(NN_NULL, NULL, handles.create_scalar(NULL, ACL_INT64));
  BREAKS(NN_NULL, NULL, handles.create_ints(NULL, 1));
  acl_tensor* self = floats(data);
  OK(handles.destroy_tensor(self));
  BREAKS(DESTROYED, ACL_INVALID_HANDLE, handles.destroy_tensor(self));
  BREAKS(NN_NULL, ACL_NN_NULL, nn.zero.plan(NULL, &scene.bytes, &scene.executor));
  BREAKS(DESTROYED, ACL_INVALID_HANDLE, nn.zero.plan(self, &scene.bytes, &scene.executor));
  self = floats(data);
  BREAKS(NN_NULL, ACL_NN_NULL, nn.zero.plan(self, NULL, &scene.executor));
  OK(handles.destroy_tensor(self));
  end_scene(&scene);
}

static void what_describes_is_destroyed(void) {
  void* const made[] = {floats(NULL), number(1), handles.create_ints(NULL, 0)};
  for (int i = 0; i < 3; i++)
    CU_ASSERT_PTR_NOT_NULL_FATAL(made[i]);
  for (int i = 0; i < 3; i++) {
    acl_enter(0);
    acl_enter(1);
    (void)acl_broken();
    acl_leave(1);
    CU_ASSERT_EQUAL(acl_broken(), 0); /* the other device may need them */
    BREAKS(DESCRIPTORS_LEFT, ACL_OK, acl.reset_device(0));
    OK(i == 0   ? handles.destroy_tensor(made[0])
       : i == 1 ? handles.destroy_scalar(made[1])
                : handles.destroy_ints(made[2]));
  }
}

static acl_executor* plan_zero(scene_t* scene, void* data) {
  acl_tensor* self = floats(data);
  scene->executor = NULL;
  OK(nn.zero.plan(self, &scene->bytes, &scene->executor));
  BREAKS(EXECUTOR_KIND, ACL_NN_EXECUTOR, nn.copy.issue(NULL, 0, scene->executor, scene->stream));
  OK(nn.zero.issue(NULL, 0, scene->executor, scene->stream));
  OK(handles.destroy_tensor(self));
  return scene->executor;
}

static void an_executor_is_issued_once(void) {
  scene_t scene;
  acl_context context;
  set_scene(&scene);
  OK(acl.get_context(&context));
  acl_executor* used = plan_zero(&scene, scene.memory[0]);
  acl_tensor *self = floats(scene.memory[0]), *gone = floats(scene.memory[1]);
  BREAKS(EXECUTOR_USED, ACL_NN_EXECUTOR, nn.zero.issue(NULL, 0, used, scene.stream));
  BREAKS(EXECUTOR_USED, ACL_NN_EXECUTOR, handles.make_repeatable(used));
  BREAKS(EXECUTOR_NULL, ACL_NN_EXECUTOR_NULL, nn.zero.issue(NULL, 0, NULL, scene.stream));
  BREAKS(BAD_HANDLE, ACL_INVALID_HANDLE, handles.destroy_executor((acl_executor*)(void*)self));
  OK(nn.zero.plan(self, &scene.bytes, &scene.executor));
  BREAKS(EXECUTOR_DESTROY, ACL_NN_EXECUTOR, handles.destroy_executor(scene.executor));
  OK(handles.make_repeatable(scene.executor));
  acl_enter(1);
  BREAKS(EXECUTOR_CONTEXT, ACL_NN_RUNTIME, nn.zero.issue(NULL, 0, scene.executor, NULL));
  acl_leave(1);
  OK(acl.set_context(context));
  OK(nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(handles.destroy_executor(scene.executor));
  BREAKS(DESTROYED, ACL_INVALID_HANDLE, handles.destroy_executor(scene.executor));
  OK(nn.zero.plan(gone, &scene.bytes, &scene.executor));
  OK(handles.destroy_tensor(gone));
  BREAKS(DESCRIPTOR, ACL_NN_INVALID, nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(handles.destroy_tensor(self));
  end_scene(&scene);
  CU_ASSERT_EQUAL(acl_broken(), SIM_EXECUTOR_LEFT);
  acl_tried[SIM_EXECUTOR_LEFT] = true;
}

static void operands_lie_where_they_may(void) {
  scene_t scene;
  set_scene(&scene);
  acl_tensor *nowhere = floats(NULL), *last = floats(scene.memory[0] + ROOM - BYTES);
  acl_tensor *self = floats(scene.memory[0]), *half = tensor(scene.memory[0], ACL_FLOAT32, 2, 4);
  acl_tensor* behind = floats(scene.memory[0] + ROOM + BYTES);
  acl_tensor* tight = tensor(scene.memory[0], ACL_FLOAT32, 4, ROOM / 16);
  OK(nn.zero.plan(nowhere, &scene.bytes, &scene.executor)); /* the first phase looks at no memory */
  BREAKS(NN_NULL, ACL_NN_NULL, nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(nn.zero.plan(behind, &scene.bytes, &scene.executor));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID, nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(nn.zero.plan(last, &scene.bytes, &scene.executor));
  OK(nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(nn.zero.plan(tight, &scene.bytes, &scene.executor));
  OK(nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(nn.copy.plan(self, half, &scene.bytes, &scene.executor));
  BREAKS(ALIAS, ACL_NN_INVALID, nn.copy.issue(NULL, 0, scene.executor, scene.stream));
  void* bare;
  OK(acl.malloc_align32(&bare, BYTES, 0));
  acl_tensor* unpadded = floats(bare);
  OK(nn.zero.plan(unpadded, &scene.bytes, &scene.executor));
  BREAKS(PADDING, ACL_NN_INVALID, nn.zero.issue(NULL, 0, scene.executor, scene.stream));
  OK(acl.free(bare));
  acl_tensor* const all[] = {nowhere, last, self, half, behind, tight, unpadded};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    OK(handles.destroy_tensor(all[i]));
  end_scene(&scene);
}

/* The result goes where the operator works. */
static void write_into_the_workspace(void* argument) {
  scene_t* scene = argument;
  OK(plan_sum(scene, scene->memory[0], scene->workspace, ACL_FLOAT32));
  OK(acl.stream_synchronize(scene->stream));
}

static void a_workspace_is_taken_until_the_end(void) {
  scene_t scene;
  set_scene(&scene);
  CU_ASSERT_TRUE(acl_logs("SIM-ACL-056", write_into_the_workspace, &scene));
  acl_tried[SIM_WORKSPACE_TAKEN] = true;
  end_scene(&scene);
}

CU_TestInfo acl_operator_tests[] = {
    {"operators compute in order", operators_compute_in_order},
    {"sums and products take a workspace", sums_and_products_take_a_workspace},
    {"operators refuse what chips do", operators_refuse_what_chips_do},
    {"a tensor is what can be described", a_tensor_is_what_can_be_described},
    {"what describes is destroyed", what_describes_is_destroyed},
    {"an executor is issued once", an_executor_is_issued_once},
    {"operands lie where they may", operands_lie_where_they_may},
    {"a workspace is taken until the end", a_workspace_is_taken_until_the_end},
    CU_TEST_INFO_NULL};
