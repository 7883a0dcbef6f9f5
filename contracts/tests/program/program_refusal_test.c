/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is no program, and operands that do not fit one, are INVALID and harm nothing. Each change breaks
 * one rule; what this reads beyond its arrays, a sanitizer would see.
 */
#include <string.h>

#include "job.h"

static job_t job;

static tbk_program_t* program(void) {
  return (tbk_program_t*)((tbk_args_pointwise_t*)job_arguments())->program;
}

static tbk_instruction_t* instruction(size_t index) {
  return (tbk_instruction_t*)&program()->instructions[index];
}

static tbk_args_pointwise_t* pointwise(void) {
  return job_arguments();
}

static tbk_operand_set_t* set(void) {
  return (tbk_operand_set_t*)pointwise()->sets[0];
}

static tbk_tensor_t* input(size_t index) {
  return (tbk_tensor_t*)set()->inputs[index];
}

static tbk_tensor_t* output(void) {
  return (tbk_tensor_t*)set()->outputs[0];
}

/* v0 = LOAD 0, v1 = LOAD 1, v2 = CAST INT64, v3 = ADD, v4 = NUMBER, v5 = XOR, v6 = COORDINATE ... */
#define CHANGES(X)                                                              \
  X(version, program()->version = 77)                                           \
  X(no_results, program()->result_count = 0)                                    \
  X(many_instructions, program()->instruction_count = 1u << 20)                 \
  X(opcode, instruction(3)->opcode = 200)                                       \
  X(dtype, instruction(3)->dtype = TBK_FLOAT32)                                 \
  X(no_dtype, instruction(3)->dtype = 63)                                       \
  X(slot, instruction(0)->slot = 2)                                             \
  X(number, instruction(4)->slot = 1)                                           \
  X(dimension, instruction(6)->slot = 1)                                        \
  X(bounds, instruction(0)->bounds = 1)                                         \
  X(operand_count, instruction(3)->operand_count = 1)                           \
  X(operand_first, instruction(3)->operand_first = 1u << 30)                    \
  X(later, ((uint32_t*)program()->operands)[instruction(3)->operand_first] = 4) \
  X(result, ((uint32_t*)program()->results)[0] = 1000)                          \
  X(input_dtype, input(0)->dtype = TBK_BOOL)                                    \
  X(input_rank, input(0)->rank = 0)                                             \
  X(input_size, ((int64_t*)input(1)->sizes)[0] = 4)                             \
  X(output_dtype, output()->dtype = TBK_INT32)                                  \
  X(output_rank, output()->rank = 9)                                            \
  X(output_size, ((int64_t*)output()->sizes)[0] = -1)                           \
  X(no_input, set()->inputs = NULL)                                             \
  X(no_output, set()->outputs = NULL)                                           \
  X(no_numbers, set()->numbers = NULL)                                          \
  X(inner, (set()->inner_rank = 1, set()->inner_sizes = output()->sizes))       \
  X(index_bits, pointwise()->index_bits = 16)                                   \
  X(no_program, pointwise()->program = NULL)                                    \
  X(no_sets, pointwise()->sets = NULL)                                          \
  X(short_struct, pointwise()->struct_size = 8)

static const char text[] =
    "program 1\ninput 0 INT64\ninput 1 INT32\nnumber 0 INT64\nv0 = LOAD INT64 slot 0\n"
    "v1 = LOAD INT32 slot 1\nv2 = CAST INT64 v1\nv3 = ADD INT64 v0 v2\nv4 = NUMBER INT64 slot 0\n"
    "v5 = XOR INT64 v3 v4\nv6 = COORDINATE INT64 slot 0\nv7 = ADD INT64 v5 v6\nresult 0 v7\n";

#define CHANGE(name, change)        \
  static void change_##name(void) { \
    change;                         \
  }
CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(void);
} changes[] = {
#define ENTRY(name, change) {#name, change_##name},
    CHANGES(ENTRY)};

/* The device must be usable as before: the same launch unchanged comes last. */
static void what_is_no_program_is_refused(tbk_fixture_t* fx) {
  static const int64_t sizes[1] = {5};
  job_form_t form = {.program = job_program(fx, text), .rank = 1, .sizes = sizes};
  job_make(fx, &job, &form);
  job_ready(fx, &job);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    tbk_checks_context(changes[i].name);
    job_describe(&job);
    changes[i].change();
    CHECK_STATUS(TBK_INVALID, job_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    job_check_untouched(fx, &job, TBK_HERE(changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-002");
  job_describe(&job);
  CHECK_OK(job_launch(fx, &job, NULL));
  job_check(fx, &job, TBK_HERE("program"));
}

/* ------------------------------------------------------------------------------------ reduction -- */

static tbk_args_reduce_t* reduce(void) {
  return job_arguments();
}

static tbk_reduction_t* reduction(void) {
  return (tbk_reduction_t*)reduce()->reduction;
}

static tbk_operand_set_t* reduce_set(void) {
  return (tbk_operand_set_t*)reduce()->sets[0];
}

#define REDUCE_CHANGES(X)                                                  \
  X(r_no_map, reduction()->map = NULL)                                     \
  X(r_no_combine, reduction()->combine = NULL)                             \
  X(r_no_finish, reduction()->finish = NULL)                               \
  X(r_no_identity, reduction()->identity = NULL)                           \
  X(r_flags, reduction()->flags = 64)                                      \
  X(r_swapped, reduction()->combine = reduction()->finish)                 \
  X(r_inner_rank, reduce_set()->inner_rank = 9)                            \
  X(r_inner_size, ((int64_t*)reduce_set()->inner_sizes)[0] = 4)            \
  X(r_minus, ((int64_t*)reduce_set()->inner_sizes)[0] = -1)                \
  X(r_no_inner, reduce_set()->inner_sizes = NULL)                          \
  X(r_output, ((tbk_tensor_t*)reduce_set()->outputs[0])->dtype = TBK_BOOL) \
  X(r_bits, reduce()->index_bits = 0)                                      \
  X(r_none, reduce()->reduction = NULL)
REDUCE_CHANGES(CHANGE)

static const struct {
  const char* name;
  void (*change)(void);
} reduce_changes[] = {REDUCE_CHANGES(ENTRY)};

static void what_is_no_reduction_is_refused(tbk_fixture_t* fx) {
  static const int64_t sizes[1] = {5}, inner[1] = {3};
  static const uint64_t identity[1] = {0};
  const tbk_reduction_t sum = {
      sizeof sum,
      job_program(fx, "program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nresult 0 v0\n"),
      job_program(fx,
                  "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
                  "v1 = PARAMETER INT64 slot 1\nv2 = ADD INT64 v0 v1\nresult 0 v2\n"),
      job_program(fx, "program 1\nparameter 0 INT64\nv0 = PARAMETER INT64 slot 0\nresult 0 v0\n"),
      identity,
      TBK_REDUCTION_COMMUTATIVE};
  job_form_t form = {
      .reduction = &sum, .rank = 1, .sizes = sizes, .inner_rank = 1, .inner_sizes = inner};
  job_make(fx, &job, &form);
  job_ready(fx, &job);
  for (size_t i = 0; i < sizeof reduce_changes / sizeof *reduce_changes; ++i) {
    tbk_checks_context(reduce_changes[i].name);
    job_describe(&job);
    reduce_changes[i].change();
    CHECK_STATUS(TBK_INVALID, job_launch(fx, &job, NULL));
    CHECK(fx->error.message[0] != '\0');
    job_check_untouched(fx, &job, TBK_HERE(reduce_changes[i].name));
  }
  tbk_checks_context(NULL);
  TBK_CHECKS("PRG-016");
  job_describe(&job);
  CHECK_OK(job_launch(fx, &job, NULL));
  job_check(fx, &job, TBK_HERE("reduction"));
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-011", "op:tbk::pointwise dtype:INT64 dtype:INT32", 0,
             what_is_no_program_is_refused),
    TBK_CASE("PRG-019", "op:tbk::reduce dtype:INT64", 0, what_is_no_reduction_is_refused),
};
TBK_SUITE(program_refusal);
