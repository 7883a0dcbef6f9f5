// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Products and convolutions of something else.
#include <routes.h>

#include <algorithm>

namespace tbk::routes {
namespace {

using Matmul = tbk_args_matmul_t;
using Convolution = tbk_args_convolution_t;

bool make_one(tbk_scalar_t& factor) {
  const bool counts = factor.kind == TBK_SCALAR_INT ? factor.integer != 1 : factor.real != 1;
  factor.integer = 1;
  factor.real = 1;
  return counts;
}

bool lose_alpha(Matmul& a, Scratch&) {
  return make_one(a.alpha);
}

bool lose_beta(Matmul& a, Scratch&) {
  return a.c != nullptr && make_one(a.beta);
}

bool lose_summand(Matmul& a, Scratch&) {
  const bool counts = a.c != nullptr;
  a.c = nullptr;
  return counts;
}

bool first_row_of_summand(Matmul& a, Scratch& scratch) {
  return a.c != nullptr && a.c->memory != a.out->memory &&
         hold_still(a.c, a.c->rank - 2, a.c->rank - 2, scratch);
}

bool turn_first(Matmul& a, Scratch& scratch) {
  return exchange(a.a, a.a->rank - 2, a.a->rank - 1, scratch);
}

bool turn_second(Matmul& a, Scratch& scratch) {
  return exchange(a.b, a.b->rank - 2, a.b->rank - 1, scratch);
}

bool first_matrix_of_batch(Matmul& a, Scratch& scratch) {
  return hold_still(a.b, 0, a.b->rank - 3, scratch);
}

bool lose_last_of_sum(Matmul& a, Scratch& scratch) {
  return shorten(a.a, a.a->rank - 1, scratch) && shorten(a.b, a.b->rank - 2, scratch);
}

using Member = const int64_t* Convolution::*;

/// Makes all numbers of a list another one. Returns whether one was not that.
template <Member member, int64_t value>
bool flatten(Convolution& a, Scratch& scratch) {
  const auto count = static_cast<size_t>(a.input->rank - 2);
  int64_t* numbers = scratch.copy(a.*member, count);
  const bool counts = std::any_of(numbers, numbers + count, [](int64_t n) { return n != value; });
  std::fill_n(numbers, count, value);
  a.*member = numbers;
  return counts;
}

/// Takes the numbers of a list for the dimensions in the other order.
template <Member member>
bool reverse(Convolution& a, Scratch& scratch) {
  const auto count = static_cast<size_t>(a.input->rank - 2);
  int64_t* numbers = scratch.copy(a.*member, count);
  std::reverse(numbers, numbers + count);
  const bool counts = !std::equal(numbers, numbers + count, a.*member);
  a.*member = numbers;
  return counts;
}

bool lose_bias(Convolution& a, Scratch&) {
  const bool counts = a.bias != nullptr;
  a.bias = nullptr;
  return counts;
}

bool first_image_alone(Convolution& a, Scratch& scratch) {
  return a.mode == TBK_CONVOLUTION_INPUT ? hold_still(a.output, 0, 0, scratch)
                                         : hold_still(a.input, 0, 0, scratch);
}

bool first_channel_alone(Convolution& a, Scratch& scratch) {
  return a.mode == TBK_CONVOLUTION_INPUT ? hold_still(a.output, 1, 1, scratch)
                                         : hold_still(a.input, 1, 1, scratch);
}

bool turn_kernel(Convolution& a, Scratch& scratch) {
  return exchange(a.weight, a.weight->rank - 2, a.weight->rank - 1, scratch);
}

#define MATMUL(name, change) \
  { name, TBK_NAME_matmul, on<Matmul, change> }
#define CONVOLUTION(name, ...) \
  { name, TBK_NAME_convolution, on<Convolution, __VA_ARGS__> }
constexpr Fault table[] = {
    MATMUL("alpha is 1", lose_alpha),
    MATMUL("beta is 1", lose_beta),
    MATMUL("nothing is added", lose_summand),
    MATMUL("the first row is added", first_row_of_summand),
    MATMUL("the first matrix is turned", turn_first),
    MATMUL("the second matrix is turned", turn_second),
    MATMUL("one matrix for the whole batch", first_matrix_of_batch),
    MATMUL("the last of each sum is lost", lose_last_of_sum),
    CONVOLUTION("steps are 1", flatten<&Convolution::stride, 1>),
    CONVOLUTION("padding is 0", flatten<&Convolution::padding, 0>),
    CONVOLUTION("dilation is 1", flatten<&Convolution::dilation, 1>),
    CONVOLUTION("steps are of other dimensions", reverse<&Convolution::stride>),
    CONVOLUTION("padding is of other dimensions", reverse<&Convolution::padding>),
    CONVOLUTION("dilation is of other dimensions", reverse<&Convolution::dilation>),
    CONVOLUTION("bias is lost", lose_bias),
    CONVOLUTION("one image for all", first_image_alone),
    CONVOLUTION("one channel for all", first_channel_alone),
    CONVOLUTION("the kernel is turned", turn_kernel),
};

}  // namespace

Faults product_faults() {
  return all_of(table);
}

}  // namespace tbk::routes
