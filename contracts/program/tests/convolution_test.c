/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_test.c: which calls of tbk::convolution are well formed. Each case changes one member of one that
 * is; and members drawn at random are refused in words, or are within what the struct says.
 */
#include <string.h>

#include "draw.h"
#include "program_test.h"

/* Two images of 4 channels in 2 groups and 5 x 6 places; 6 channels of 3 x 3 come of them. */
typedef struct call {
  int64_t input_sizes[4], weight_sizes[4], output_sizes[4], bias_sizes[1], strides[4];
  int64_t stride[3], padding[3], dilation[3];
  tbk_tensor_t input, weight, output, bias;
  tbk_args_convolution_t args;
} call_t;

static tbk_tensor_t tensor(int32_t rank, const int64_t* sizes, const int64_t* strides) {
  return (tbk_tensor_t){sizeof(tbk_tensor_t), 0, 0, 0, TBK_FLOAT32, rank, sizes, strides};
}

static void open_call(call_t* c) {
  *c = (call_t){.input_sizes = {2, 4, 5, 6},
                .weight_sizes = {6, 2, 3, 2},
                .output_sizes = {2, 6, 3, 3},
                .bias_sizes = {6},
                .strides = {200, 40, 8, 1},
                .stride = {2, 2, 1},
                .padding = {1, 0, 0},
                .dilation = {1, 1, 1}};
  c->input = tensor(4, c->input_sizes, c->strides);
  c->weight = tensor(4, c->weight_sizes, c->strides);
  c->output = tensor(4, c->output_sizes, c->strides);
  c->bias = tensor(1, c->bias_sizes, c->strides);
  c->args = (tbk_args_convolution_t){.struct_size = sizeof c->args,
                                     .mode = TBK_CONVOLUTION_OUTPUT,
                                     .input = &c->input,
                                     .weight = &c->weight,
                                     .output = &c->output,
                                     .bias = &c->bias,
                                     .stride = c->stride,
                                     .padding = c->padding,
                                     .dilation = c->dilation,
                                     .groups = 2,
                                     .index_bits = 64};
}

static const int64_t no_step[4] = {0, 0, 0, 0};
static const int64_t far_apart[4] = {INT64_C(1) << 31, 40, 8, 1};

static void set_dtypes(call_t* c, int32_t dtype) {
  c->input.dtype = c->weight.dtype = c->output.dtype = c->bias.dtype = dtype;
}

static void set_ranks(call_t* c, int32_t rank) {
  c->input.rank = c->weight.rank = c->output.rank = rank;
}

static void set_mode(call_t* c, int64_t mode) {
  c->args.mode = mode;
  c->args.bias = NULL;
}

#define CHANGED call_t* c
#define CHANGES(X)                                                                                 \
  X(fits, (void)c, NULL)                                                                           \
  X(no_bias, c->args.bias = NULL, NULL)                                                            \
  X(one_dimension, set_ranks(c, 3), NULL)                                                          \
  X(integers, set_dtypes(c, TBK_UINT8), NULL)                                                      \
  X(by_input, set_mode(c, TBK_CONVOLUTION_INPUT), NULL)                                            \
  X(by_input_biased, (c->args.mode = TBK_CONVOLUTION_INPUT, c->bias_sizes[0] = 4), NULL)           \
  X(by_weight, set_mode(c, TBK_CONVOLUTION_WEIGHT), NULL)                                          \
  X(reads_one, c->weight.strides = c->input.strides = no_step, NULL)                               \
  X(larger, c->output_sizes[2] = 100, NULL)                                                        \
  X(nothing, (c->input_sizes[0] = c->output_sizes[0] = 0, c->weight_sizes[2] = 0), NULL)           \
  X(no_channels,                                                                                   \
    c->input_sizes[1] = c->weight_sizes[0] = c->weight_sizes[1] = c->output_sizes[1] =             \
        c->bias_sizes[0] = 0,                                                                      \
    NULL)                                                                                          \
  X(short_struct, c->args.struct_size = 8, "no arguments")                                         \
  X(mode, c->args.mode = 3, "mode is 3")                                                           \
  X(bits, c->args.index_bits = 16, "index_bits is 16")                                             \
  X(no_groups, c->args.groups = 0, "groups is 0")                                                  \
  X(no_stride, c->args.stride = NULL, "dilation at NULL")                                          \
  X(no_padding, c->args.padding = NULL, "dilation at NULL")                                        \
  X(no_dilation, c->args.dilation = NULL, "dilation at NULL")                                      \
  X(no_input, c->args.input = NULL, "input: it is not there")                                      \
  X(no_weight, c->args.weight = NULL, "weight: it is not there")                                   \
  X(no_output, c->args.output = NULL, "output: it is not there")                                   \
  X(truth, set_dtypes(c, TBK_BOOL), "input: dtype 11")                                             \
  X(complex_numbers, set_dtypes(c, TBK_COMPLEX64), "input: dtype 9")                               \
  X(weight_dtype, c->weight.dtype = TBK_FLOAT64, "weight: dtype 7; declared is FLOAT32")           \
  X(output_dtype, c->output.dtype = TBK_FLOAT16, "output: dtype 5")                                \
  X(bias_dtype, c->bias.dtype = TBK_FLOAT16, "bias: dtype 5")                                      \
  X(no_space, set_ranks(c, 2), "input: rank 2")                                                    \
  X(four, set_ranks(c, 6), "input: rank 6")                                                        \
  X(weight_rank, c->weight.rank = 3, "weight: rank 3")                                             \
  X(output_rank, c->output.rank = 3, "output: rank 3")                                             \
  X(overlap, c->output.strides = no_step, "output: it is written, and has a stride")               \
  X(overlap_input, (set_mode(c, TBK_CONVOLUTION_INPUT), c->input.strides = no_step),               \
    "input: it is written")                                                                        \
  X(overlap_weight, (set_mode(c, TBK_CONVOLUTION_WEIGHT), c->weight.strides = no_step),            \
    "weight: it is written")                                                                       \
  X(images, c->output_sizes[0] = 1, "2 images come to 1")                                          \
  X(divide_input, c->args.groups = 3, "3 groups do not divide 4 and 6")                            \
  X(divide_output, c->args.groups = 4, "4 groups do not divide 4 and 6")                           \
  X(weight_channels, c->weight_sizes[1] = 4, "a weight of 6 x 4 channels; they are 6 x 2")         \
  X(weight_filters, c->weight_sizes[0] = 5, "a weight of 5 x 2 channels")                          \
  X(still, c->stride[1] = 0, "dimension 1: stride 0")                                              \
  X(negative, c->padding[0] = -1, "dimension 0: padding -1")                                       \
  X(same_place, c->dilation[1] = 0, "dimension 1: dilation 0")                                     \
  X(too_far, c->dilation[0] = INT64_MAX, "dimension 0: positions reach further than 64")           \
  X(far, (c->args.index_bits = 32, c->stride[1] = INT64_C(1) << 30), "further than 32 bits")       \
  X(padded, (c->args.index_bits = 32, c->padding[1] = INT32_MAX), "further than 32 bits")          \
  X(reaches, (c->args.index_bits = 32, c->weight.strides = far_apart), "weight: index_bits is 32") \
  X(bias_reaches, (c->args.index_bits = 32, c->bias.strides = far_apart), "bias: index_bits is")   \
  X(bias_rank, c->bias.rank = 0, "bias: rank 0")                                                   \
  X(bias_size, c->bias_sizes[0] = 4, "bias: 4 elements for 6 channels")                            \
  X(bias_of_input, c->args.mode = TBK_CONVOLUTION_INPUT, "bias: 6 elements for 4 channels")        \
  X(bias_of_weight, c->args.mode = TBK_CONVOLUTION_WEIGHT, "by the weight has no bias")

CHANGE_TABLE(changes, CHANGES);

static void close_call(call_t* c) {
  (void)c; /* nothing of it is allocated */
}

static void checks_calls(void) {
  CHECK_CHANGES(changes, call_t, open_call, tbk_convolution_check(&it.args, &error), close_call);
}

/* A number that is near to what may stand there, or anything. */
static int64_t odd_number(uint64_t* state) {
  uint64_t drawn = program_random(state);
  return drawn % 8 == 0 ? (int64_t)program_random(state) : (int64_t)(drawn >> 8) % 8 - 1;
}

static void change_at_random(call_t* c, uint64_t* state) {
  int64_t* const numbers[] = {&c->args.mode,       &c->args.groups,     &c->args.index_bits,
                              &c->stride[0],       &c->padding[1],      &c->dilation[0],
                              &c->input_sizes[1],  &c->input_sizes[2],  &c->weight_sizes[0],
                              &c->weight_sizes[2], &c->output_sizes[1], &c->output_sizes[3],
                              &c->bias_sizes[0],   &c->strides[2],      &c->input.offset};
  tbk_tensor_t* const tensors[] = {&c->input, &c->weight, &c->output, &c->bias};
  switch (program_random(state) % 8) {
    case 0:
      tensors[program_random(state) % 4]->dtype = (int32_t)odd_number(state);
      break;
    case 1:
      tensors[program_random(state) % 4]->rank = (int32_t)(program_random(state) % 5);
      break;
    default:
      *numbers[program_random(state) % (sizeof numbers / sizeof *numbers)] = odd_number(state);
  }
}

/* What is accepted lies within what the struct promises; a sanitizer sees who reads beyond an array. */
static void refuses_what_is_drawn_in_words(void) {
  uint64_t state = 1;
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    call_t c;
    tbk_error_t error = {""};
    open_call(&c);
    for (uint64_t left = 1 + program_random(&state) % 3; left > 0; --left)
      change_at_random(&c, &state);
    tbk_status_t status = tbk_convolution_check(&c.args, &error);
    if (status != TBK_OK) CU_ASSERT_TRUE_FATAL(status == TBK_INVALID && error.message[0] != '\0');
    if (status != TBK_OK) continue;
    ++accepted;
    CU_ASSERT_TRUE_FATAL(c.args.mode >= 0 && c.args.mode <= TBK_CONVOLUTION_WEIGHT);
    CU_ASSERT_TRUE_FATAL(c.input.dtype == c.output.dtype && c.input.rank == c.weight.rank);
    CU_ASSERT_EQUAL_FATAL(c.weight_sizes[1] * c.args.groups, c.input_sizes[1]);
    CU_ASSERT_EQUAL_FATAL(c.weight_sizes[0], c.output_sizes[1]);
    CU_ASSERT_TRUE_FATAL(c.stride[0] > 0 && c.dilation[0] > 0 && c.padding[1] >= 0);
  }
  CU_ASSERT_TRUE(accepted > 1000);
}

CU_TestInfo convolution_tests[] = {
    {"checks_calls", checks_calls},
    {"refuses_what_is_drawn_in_words", refuses_what_is_drawn_in_words},
    CU_TEST_INFO_NULL,
};
