/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * programs.c: kernels that are written from programs, compiled for the host, beside plain loops. What each
 * opcode means is judged by the contract tests; here it is the frame: spaces, strides, classes, runs and
 * groups.
 */
#include <cunit_run.h>
#include <emit/generic.h>
#include <emit/host.h>
#include <emit/object.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "everything.h"

enum { MOST = 6, BYTES = 1 << 16 };

/* A launch on memory of the host: tensors of a guarded block each. */
typedef struct bench {
  unsigned char blocks[MOST][BYTES];
  int64_t sizes[MOST][8], strides[MOST][8];
  tbk_tensor_t tensors[MOST];
  const tbk_tensor_t* pointers[MOST];
} bench_t;

static bench_t bench;

static void* block(int which) {
  return bench.blocks[which];
}

/* Tensor `which`, of `rank` sizes and strides. */
static void set(int which, int32_t dtype, int32_t rank, const int64_t* sizes,
                const int64_t* strides, int64_t offset) {
  if (rank > 0) {
    memcpy(bench.sizes[which], sizes, (size_t)rank * sizeof *sizes);
    memcpy(bench.strides[which], strides, (size_t)rank * sizeof *strides);
  }
  bench.tensors[which] = (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                                        .memory = (uintptr_t)bench.blocks[which],
                                        .storage_bytes = BYTES,
                                        .offset = offset,
                                        .dtype = dtype,
                                        .rank = rank,
                                        .sizes = bench.sizes[which],
                                        .strides = bench.strides[which]};
  bench.pointers[which] = &bench.tensors[which];
}

static bool run_object(const emit_launch_t* launch, const emit_host_kernel_t* kernel,
                       uint64_t seed) {
  const void* parameters[EMIT_HOST_PARAMETERS_MOST] = {launch->words};
  emit_host_range_t ranges[EMIT_HOST_POINTERS_MOST];
  for (int i = 0; i < launch->pointer_count; i++) {
    parameters[1 + i] = &launch->memory[i];
    ranges[i] = (emit_host_range_t){launch->memory[i], launch->memory[i] ? BYTES : 0};
  }
  return emit_host_run(kernel, launch->groups, parameters, ranges, seed);
}

/* Compiles and runs the one set of the arguments; false where an access went elsewhere. */
static bool run(const emit_generic_t* generic, const void* arguments, emit_launch_t* out_launch) {
  const emit_limits_t limits = {true, EMIT_WORDS};
  emit_launch_t* launches = NULL;
  size_t count = 0;
  tbk_error_t error = {""};
  tbk_status_t status =
      emit_generic_launches(generic, arguments, &limits, &launches, &count, &error);
  CU_ASSERT_EQUAL(status, TBK_OK);
  if (status != TBK_OK) puts(error.message);
  if (status != TBK_OK || count != 1) return false;
  *out_launch = launches[0];
  char* source = emit_generic_source(generic, arguments, &launches[0], emit_cuda_prelude);
  emit_object_t object;
  const bool made =
      emit_object_compile(emit_host_prelude, source + strlen(emit_cuda_prelude), &object);
  if (!made) puts(object.log);
  free(source);
  CU_ASSERT_TRUE_FATAL(made);
  const emit_host_kernel_t* kernel = emit_host_load(object.bytes, object.size);
  free(object.bytes);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  const bool inside = run_object(&launches[0], kernel, 7);
  free(launches);
  return inside;
}

static tbk_program_t* parse(const char* text) {
  tbk_program_t* program = NULL;
  tbk_error_t error = {""};
  if (tbk_program_parse(text, &program, &error) != TBK_OK) puts(error.message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  return program;
}

/* Tensors 0 ... are the outputs, then the inputs. */
static bool pointwise(const char* text, const uint64_t* numbers, int64_t index_bits,
                      emit_launch_t* out_launch) {
  tbk_program_t* program = parse(text);
  const tbk_operand_set_t one = {.struct_size = sizeof one,
                                 .outputs = bench.pointers,
                                 .inputs = bench.pointers + program->result_count,
                                 .numbers = numbers};
  const tbk_operand_set_t* sets[] = {&one};
  const tbk_args_pointwise_t arguments = {sizeof arguments, program, sets, 1, index_bits};
  const bool inside = run(&emit_pointwise, &arguments, out_launch);
  free(program);
  return inside;
}

static const char add_scaled[] =
    "program 1\ninput 0 FLOAT32\ninput 1 FLOAT32\nnumber 0 FLOAT32\n"
    "v0 = LOAD FLOAT32 slot 0\nv1 = LOAD FLOAT32 slot 1\nv2 = NUMBER FLOAT32 slot 0\n"
    "v3 = MUL FLOAT32 v1 v2\nv4 = ADD FLOAT32 v0 v3\nresult 0 v4\n";

static void fill_floats(int which, int64_t count) {
  float* to = block(which);
  for (int64_t i = 0; i < count; i++)
    to[i] = (float)((i * 7 + which * 13) % 101) / 4 - 9;
}

static void spaces_and_strides(void) {
  static const int64_t sizes[] = {3, 4, 5}, dense[] = {20, 5, 1}, turned[] = {1, 3, 12},
                       broadcast[] = {0, 1, 0};
  const uint64_t two = 0x40000000;
  for (int64_t bits = 32; bits <= 64; bits += 32) {
    emit_launch_t launch;
    set(0, TBK_FLOAT32, 3, sizes, dense, 4);
    set(1, TBK_FLOAT32, 3, sizes, turned, 2);
    set(2, TBK_FLOAT32, 3, sizes, broadcast, 0);
    fill_floats(1, 100);
    fill_floats(2, 100);
    memset(block(0), 0x55, BYTES);
    CU_ASSERT_TRUE(pointwise(add_scaled, &two, bits, &launch));
    const float *out = block(0), *a = block(1), *b = block(2);
    for (int64_t i = 0; i < 60; i++) {
      const int64_t x = i / 20, y = i / 5 % 4, z = i % 5;
      CU_ASSERT_EQUAL(out[4 + i], a[2 + x + 3 * y + 12 * z] + 2 * b[y]);
    }
    uint32_t guard;
    memcpy(&guard, &out[3], sizeof guard);
    CU_ASSERT_EQUAL(guard, 0x55555555);
    memcpy(&guard, &out[64], sizeof guard);
    CU_ASSERT_EQUAL(guard, 0x55555555);
  }
}

/* What has one form of strides and another size is the same kernel. */
static void names_know_no_sizes(void) {
  static const int64_t one[] = {1};
  const uint64_t two = 0x40000000;
  char first[EMIT_NAME_BYTES] = "";
  for (int64_t count = 1; count < 200; count += 63) {
    emit_launch_t launch;
    for (int k = 0; k < 3; k++)
      set(k, TBK_FLOAT32, 1, &count, one, k);
    CU_ASSERT_TRUE(pointwise(add_scaled, &two, 32, &launch));
    if (first[0] == '\0') memcpy(first, launch.name, sizeof first);
    CU_ASSERT_STRING_EQUAL(launch.name, first);
  }
}

/* Coordinates are those of the launch, though it could be folded, and has a dimension of one element. */
static void coordinates_are_kept(void) {
  static const char text[] =
      "program 1\nv0 = COORDINATE INT64 slot 0\nv1 = COORDINATE INT64 slot 2\n"
      "v2 = CONSTANT INT64 bits 0xa\nv3 = MUL INT64 v0 v2\nv4 = ADD INT64 v3 v1\nresult 0 v4\n";
  static const int64_t sizes[] = {3, 1, 4}, dense[] = {4, 4, 1};
  emit_launch_t launch;
  set(0, TBK_INT64, 3, sizes, dense, 0);
  CU_ASSERT_TRUE(pointwise(text, NULL, 32, &launch));
  const int64_t* out = block(0);
  for (int64_t i = 0; i < 12; i++)
    CU_ASSERT_EQUAL(out[i], i / 4 * 10 + i % 4);
}

static void indices_are_bounded(void) {
  static const char text[] =
      "program 1\ninput 0 INT64\ninput 1 INT32 indexed 1\nv0 = LOAD INT64 slot 0\n"
      "v1 = LOAD INT32 slot 1 clamp v0\nv2 = LOAD INT32 slot 1 zero v0\nresult 0 v1\nresult 1 v2\n";
  static const int64_t five[] = {5}, three[] = {3}, one[] = {1}, minus[] = {-1};
  static const int64_t index[] = {-4, 0, 2, 3, INT64_MAX};
  static const int32_t clamped[] = {30, 30, 10, 10, 10}, zeroed[] = {0, 30, 10, 0, 0};
  emit_launch_t launch;
  set(0, TBK_INT32, 1, five, one, 0);
  set(1, TBK_INT32, 1, five, one, 0);
  set(2, TBK_INT64, 1, five, one, 0);
  set(3, TBK_INT32, 1, three, minus, 2); /* backwards: 30, 20, 10 */
  memcpy(block(2), index, sizeof index);
  memcpy(block(3), (const int32_t[]){10, 20, 30}, 12);
  CU_ASSERT_TRUE(pointwise(text, NULL, 64, &launch));
  CU_ASSERT_EQUAL(memcmp(block(0), clamped, sizeof clamped), 0);
  CU_ASSERT_EQUAL(memcmp(block(1), zeroed, sizeof zeroed), 0);
}

static const char load_one[] = "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nresult 0 v0\n";
static const char state_alone[] =
    "program 1\nparameter 0 INT64\nv0 = PARAMETER INT64 slot 0\nresult 0 v0\n";

static bool reduce(const char* map, const char* combine, const char* finish, uint64_t identity,
                   uint64_t flags, int64_t inner, emit_launch_t* out_launch) {
  tbk_program_t *first = parse(map), *second = parse(combine), *third = parse(finish);
  const tbk_reduction_t reduction = {sizeof reduction, first, second, third, &identity, flags};
  const tbk_operand_set_t one = {.struct_size = sizeof one,
                                 .outputs = bench.pointers,
                                 .inputs = bench.pointers + third->result_count,
                                 .inner_sizes = &inner,
                                 .inner_rank = 1};
  const tbk_operand_set_t* sets[] = {&one};
  const tbk_args_reduce_t arguments = {.struct_size = sizeof arguments,
                                       .reduction = &reduction,
                                       .sets = sets,
                                       .set_count = 1,
                                       .index_bits = 32};
  const bool inside = run(&emit_reduce, &arguments, out_launch);
  free(first);
  free(second);
  free(third);
  return inside;
}

/* The later one where it is not 0, times 3 and the earlier: associative, and order counts. */
static const char last_not_zero[] =
    "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
    "v1 = PARAMETER INT64 slot 1\nv2 = CONSTANT INT64 bits 0x0\nv3 = NE BOOL v1 v2\n"
    "v4 = SELECT INT64 v3 v1 v0\nresult 0 v4\n";
static const char sum[] =
    "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
    "v1 = PARAMETER INT64 slot 1\nv2 = ADD INT64 v0 v1\nresult 0 v2\n";

static void sums_of_every_length(void) {
  static const int64_t lengths[] = {0, 1, 63, 64, 65, 255, 256, 257, 300, 3000};
  for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
    const int64_t inner = lengths[n], rows = 2, sizes[] = {rows, inner}, strides[] = {1, rows};
    static const int64_t one[] = {1};
    int64_t* in = block(1);
    emit_launch_t launch;
    set(0, TBK_INT64, 1, &rows, one, 0);
    set(1, TBK_INT64, 2, sizes, strides, 1);
    for (int64_t i = 0; i < 7000; i++)
      in[i] = i * i - 5;
    for (uint64_t flags = 0; flags <= TBK_REDUCTION_COMMUTATIVE; flags++) {
      CU_ASSERT_TRUE(reduce(load_one, sum, state_alone, 0, flags, inner, &launch));
      for (int64_t row = 0; row < rows; row++) {
        int64_t total = 0;
        for (int64_t i = 0; i < inner; i++)
          total += in[1 + row + i * rows];
        CU_ASSERT_EQUAL(((int64_t*)block(0))[row], total);
      }
    }
  }
}

static void order_is_kept(void) {
  static const int64_t lengths[] = {5, 255, 256, 1000, 4000}, one[] = {1}, two[] = {1};
  for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
    const int64_t inner = lengths[n], sizes[] = {1, inner}, strides[] = {0, 1};
    int64_t* in = block(1);
    emit_launch_t launch;
    set(0, TBK_INT64, 1, two, one, 0);
    set(1, TBK_INT64, 2, sizes, strides, 0);
    for (int64_t last = 0; last < inner; last += 1 + inner / 7) {
      for (int64_t i = 0; i < inner; i++)
        in[i] = i <= last ? i + 1 : 0;
      CU_ASSERT_TRUE(reduce(load_one, last_not_zero, state_alone, 0, 0, inner, &launch));
      CU_ASSERT_EQUAL(*(int64_t*)block(0), last + 1);
    }
  }
}

/* One after the other they would be wrong by a hundredth. */
static void floats_are_summed_in_runs(void) {
  static const char load[] = "program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nresult 0 v0\n";
  static const char add[] =
      "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\nv0 = PARAMETER FLOAT32 slot 0\n"
      "v1 = PARAMETER FLOAT32 slot 1\nv2 = ADD FLOAT32 v0 v1\nresult 0 v2\n";
  static const char state[] =
      "program 1\nparameter 0 FLOAT32\nv0 = PARAMETER FLOAT32 slot 0\nresult 0 v0\n";
  static const int64_t inner = 1000000, sizes[] = {1, 1000000}, still[] = {0, 0}, one[] = {1};
  emit_launch_t launch;
  set(0, TBK_FLOAT32, 1, one, one, 0);
  set(1, TBK_FLOAT32, 2, sizes, still, 0);
  *(float*)block(1) = 0.1f;
  for (uint64_t flags = 0; flags <= TBK_REDUCTION_COMMUTATIVE; flags++) {
    CU_ASSERT_TRUE(reduce(load, add, state, 0, flags, inner, &launch));
    const double error = fabs(*(float*)block(0) - 1e6 * (double)0.1f) / 1e5;
    CU_ASSERT_TRUE(error < 1e-5);
  }
}

static void what_reaches_out_is_refused(void) {
  static const int64_t many[] = {BYTES}, one[] = {1}, none[] = {0};
  const uint64_t two = 0x40000000;
  const emit_limits_t limits = {true, EMIT_WORDS}, few = {true, 4};
  tbk_program_t* program = parse(add_scaled);
  const tbk_operand_set_t set_of_all = {.struct_size = sizeof set_of_all,
                                        .outputs = bench.pointers,
                                        .inputs = bench.pointers + 1,
                                        .numbers = &two};
  const tbk_operand_set_t* sets[] = {&set_of_all};
  const tbk_args_pointwise_t arguments = {sizeof arguments, program, sets, 1, 32};
  emit_launch_t* launches;
  size_t count;
  tbk_error_t error;
  for (int k = 0; k < 3; k++)
    set(k, TBK_FLOAT32, 1, many, one, 0);
  CU_ASSERT_EQUAL(
      emit_generic_launches(&emit_pointwise, &arguments, &limits, &launches, &count, &error),
      TBK_INVALID);
  for (int k = 0; k < 3; k++)
    set(k, TBK_FLOAT32, 1, many, none, 0);
  CU_ASSERT_EQUAL(
      emit_generic_launches(&emit_pointwise, &arguments, &limits, &launches, &count, &error),
      TBK_UNSUPPORTED);
  for (int k = 0; k < 3; k++)
    set(k, TBK_FLOAT32, 0, NULL, NULL, 0);
  CU_ASSERT_EQUAL(
      emit_generic_launches(&emit_pointwise, &arguments, &few, &launches, &count, &error),
      TBK_UNSUPPORTED);
  free(program);
}

static void compile(const emit_generic_t* generic, const void* arguments,
                    const emit_launch_t* launch, void* closure) {
  emit_object_t object;
  char* source = emit_generic_source(generic, arguments, launch, emit_cuda_prelude);
  const bool made =
      emit_object_compile(emit_host_prelude, source + strlen(emit_cuda_prelude), &object);
  if (!made) printf("%s: %s\n", launch->name, object.log);
  CU_ASSERT_TRUE(made);
  *(int*)closure += made;
  free(object.bytes);
  free(source);
}

static void everything_compiles(void) {
  int made = 0;
  const int count = everything(compile, &made);
  CU_ASSERT_TRUE(count > 30);
  CU_ASSERT_EQUAL(made, count);
}

CU_TestInfo program_tests[] = {
    {"spaces_and_strides", spaces_and_strides},
    {"names_know_no_sizes", names_know_no_sizes},
    {"coordinates_are_kept", coordinates_are_kept},
    {"indices_are_bounded", indices_are_bounded},
    {"sums_of_every_length", sums_of_every_length},
    {"order_is_kept", order_is_kept},
    {"floats_are_summed_in_runs", floats_are_summed_in_runs},
    {"what_reaches_out_is_refused", what_reaches_out_is_refused},
    {"everything_compiles", everything_compiles},
    CU_TEST_INFO_NULL,
};
