/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: kernels on the host: what an order shows, and what an access may reach.
 */
#include <cunit_run.h>
#include <emit/host.h>
#include <emit/job.h>
#include <string.h>

enum { SEEDS = 20, COUNT = EMIT_HOST_GROUP };

extern const emit_host_kernel_t with_barrier, without_barrier;

/* Runs a kernel of phases.c on 0 ... 63; whether it turned them round and reached nothing else. */
static bool turns_round(const emit_host_kernel_t* kernel, int64_t first, uint64_t seed,
                        bool* out_inside) {
  uint32_t numbers[COUNT + 1], scalar = 0, *pointer = numbers;
  const void* parameters[EMIT_HOST_PARAMETERS] = {&first,   &scalar,  &pointer,
                                                  &pointer, &pointer, &pointer};
  const emit_host_range_t ranges[EMIT_HOST_POINTERS] = {{(uintptr_t)numbers, COUNT * 4}};
  for (uint32_t i = 0; i <= COUNT; i++)
    numbers[i] = i;
  *out_inside = emit_host_run(kernel, 1, parameters, ranges, seed);
  bool right = numbers[COUNT] == COUNT;
  for (uint32_t i = 0; i < COUNT; i++)
    right = right && numbers[i] == COUNT - 1 - i;
  return right;
}

static void a_missing_barrier_shows(void) {
  int wrong = 0;
  bool inside;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    CU_ASSERT_TRUE(turns_round(&with_barrier, 0, seed, &inside));
    CU_ASSERT_TRUE(inside);
    wrong += !turns_round(&without_barrier, 0, seed, &inside);
  }
  CU_ASSERT_EQUAL(wrong, SEEDS);
}

static void an_access_out_of_range_is_told(void) {
  bool inside;
  CU_ASSERT_FALSE(turns_round(&with_barrier, 1, 0, &inside));
  CU_ASSERT_FALSE(inside);
  (void)turns_round(&with_barrier, -1, 0, &inside);
  CU_ASSERT_FALSE(inside);
}

static void each_variant_is_there_once(void) {
  size_t count = 0;
  for (; emit_variants[count] != NULL && emit_host_kernels[count] != NULL; count++) {
    CU_ASSERT_STRING_EQUAL(emit_variants[count], emit_host_kernels[count]->options);
    CU_ASSERT_TRUE(strlen(emit_variants[count]) < EMIT_OPTIONS_BYTES);
    for (size_t i = 0; i < count; i++)
      CU_ASSERT_STRING_NOT_EQUAL(emit_variants[i], emit_variants[count]);
  }
  CU_ASSERT_PTR_NULL(emit_variants[count]);
  CU_ASSERT_PTR_NULL(emit_host_kernels[count]);
  CU_ASSERT_TRUE(count > 0);
}

static bool is_variant(const char* options) {
  for (const char* const* variant = emit_variants; *variant != NULL; variant++)
    if (strcmp(*variant, options) == 0) return true;
  return false;
}

/* A tensor of two rows, of any dtype. */
static tbk_tensor_t tensor(int32_t dtype) {
  static const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
  return (tbk_tensor_t){sizeof(tbk_tensor_t), 0, 0, 0, dtype, 2, sizes, strides};
}

static void build(const emit_operator_t* operator, const void* arguments) {
  emit_job_t job;
  tbk_error_t error = {{0}};
  CU_ASSERT_EQUAL(emit_build(operator, arguments, false, &job, &error), TBK_OK);
  CU_ASSERT_TRUE(is_variant(job.options));
  CU_ASSERT_TRUE(job.scalar_bytes > 0);
}

static void build_all(int32_t dtype, int32_t from) {
  const tbk_tensor_t t = tensor(dtype), condition = tensor(TBK_BOOL), other = tensor(from);
  tbk_args_fill__Scalar_t fill = {.struct_size = sizeof fill, .self = &t};
  tbk_args_copy__t copy = {.struct_size = sizeof copy, .self = &t, .src = &other};
  tbk_args_add_Tensor_t add = {.struct_size = sizeof add, .self = &t, .other = &t, .out = &t};
  tbk_args_mul_Tensor_t mul = {.struct_size = sizeof mul, .self = &t, .other = &t, .out = &t};
  tbk_args_where_self_t where = {
      .struct_size = sizeof where, .condition = &condition, .self = &t, .other = &t, .out = &t};
  tbk_args_sum_dim_IntList_t sum = {.struct_size = sizeof sum, .self = &t, .keepdim = 1, .out = &t};
  static const int64_t ones[] = {1, 1};
  tbk_tensor_t one = t;
  one.sizes = ones;
  sum.out = &one;
  tbk_args_mm_t mm = {.struct_size = sizeof mm, .self = &t, .mat2 = &t, .out = &t};
  build(&emit_fill, &fill);
  build(&emit_copy, &copy);
  build(&emit_add, &add);
  build(&emit_mul, &mul);
  build(&emit_where, &where);
  build(&emit_sum, &sum);
  build(&emit_mm, &mm);
}

static void each_job_has_a_variant(void) {
  static const int32_t dtypes[] = {
#define VALUE(name, value, size_bytes) value,
      TBK_DTYPE_MAP(VALUE)
#undef VALUE
  };
  const size_t count = sizeof dtypes / sizeof *dtypes;
  for (size_t i = 0; i < count; i++)
    build_all(dtypes[i], dtypes[(i + 1) % count]);
  const tbk_generator_t generator = {1, 4};
  const emit_job_t job = emit_random(&generator, 0, 0, 5);
  CU_ASSERT_TRUE(is_variant(job.options));
}

static CU_TestInfo tests[] = {{"a missing barrier shows", a_missing_barrier_shows},
                              {"an access out of range is told", an_access_out_of_range_is_told},
                              {"each variant is there once", each_variant_is_there_once},
                              {"each job has a variant", each_job_has_a_variant},
                              CU_TEST_INFO_NULL};

extern CU_TestInfo program_tests[];

int main(void) {
  CU_SuiteInfo suites[] = {{"emit", NULL, NULL, NULL, NULL, tests},
                           {"programs", NULL, NULL, NULL, NULL, program_tests},
                           CU_SUITE_INFO_NULL};
  return cunit_run(suites);
}
