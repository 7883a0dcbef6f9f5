/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_test.c: products against plain loops, of elements that are not aligned, which no allocator hands out
 * and the contract tests cannot have; and of batches that are folded into one product.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum { OUT, A, B, OPERANDS, RANK = 3 };

typedef struct product {
  session_tensor_t tensors[OPERANDS];
  int64_t batch, m, n, k;
  bool shares_b, is_turned[OPERANDS]; /* columns go without gaps */
  int64_t beta;                       /* of what the output has before, where it is not 0 */
  bool is_lost;                       /* beta is NaN */
} product_t;

static double number(const session_tensor_t* tensor, int64_t at) {
  float narrow;
  double wide;
  int16_t whole;
  const void* element = session_element(tensor, at);
  memcpy(&narrow, element, sizeof narrow);
  memcpy(&whole, element, sizeof whole);
  if (tensor->tensor.dtype != TBK_FLOAT64)
    return tensor->tensor.dtype == TBK_FLOAT32 ? (double)narrow : (double)whole;
  memcpy(&wide, element, sizeof wide);
  return wide;
}

static void set_number(session_tensor_t* tensor, int64_t at, int64_t value) {
  const float narrow = (float)value;
  const double wide = (double)value;
  const int16_t whole = (int16_t)value;
  void* element = session_element(tensor, at);
  switch (tensor->tensor.dtype) {
    case TBK_FLOAT32:
      memcpy(element, &narrow, sizeof narrow);
      break;
    case TBK_FLOAT64:
      memcpy(element, &wide, sizeof wide);
      break;
    default:
      memcpy(element, &whole, sizeof whole);
  }
}

/* Tensors of small whole numbers. A stride of b is 0 where it is shared; behind the last matrix there is room for
 * one more. What the output has before is no number where it must not be read. */
static void open_product(session_t* session, product_t* p, int32_t dtype) {
  const int64_t sizes[OPERANDS][RANK] = {
      {p->batch + 1, p->m, p->n}, {p->batch + 1, p->m, p->k}, {p->batch + 1, p->k, p->n}};
  uint64_t state = 3;
  for (int i = 0; i < OPERANDS; i++) {
    session_tensor_t* tensor = &p->tensors[i];
    const int64_t rows = sizes[i][1], columns = sizes[i][2];
    const int64_t strides[RANK] = {i == B && p->shares_b ? 0 : rows * columns,
                                   p->is_turned[i] ? 1 : columns, p->is_turned[i] ? rows : 1};
    *tensor = session_tensor(session, dtype, RANK, sizes[i], strides, 0);
    tensor->sizes[0]--;
    tensor->tensor.sizes = tensor->sizes;
    tensor->tensor.strides = tensor->strides;
    memset(tensor->host, 0xff, tensor->bytes);
    for (int64_t at = 0; (i != OUT || p->beta) && at < session_count(tensor); at++)
      set_number(tensor, at, (int64_t)(session_draw(&state) % 9) - 4);
  }
}

/* With `shift`, all lies so many bytes behind where the allocator put it. */
static void launch(session_t* session, product_t* p, uint64_t shift) {
  const bool real = p->tensors[OUT].tensor.dtype != TBK_INT16;
  const tbk_kernel_t* kernel =
      session->backend->kernel->kernel_find(session->self, 0, TBK_NAME_matmul, TBK_VERSION_matmul);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  for (int i = 0; i < OPERANDS; i++) {
    p->tensors[i].tensor.memory += shift;
    p->tensors[i].bytes -= shift;
    session_upload(session, &p->tensors[i]);
  }
  const tbk_args_matmul_t arguments = {
      .struct_size = sizeof arguments,
      .a = &p->tensors[A].tensor,
      .b = &p->tensors[B].tensor,
      .out = &p->tensors[OUT].tensor,
      .c = p->beta ? &p->tensors[OUT].tensor : NULL,
      .beta = {real ? TBK_SCALAR_DOUBLE : TBK_SCALAR_INT, p->beta,
               p->is_lost ? NAN : (double)p->beta, 0},
      .alpha = {real ? TBK_SCALAR_DOUBLE : TBK_SCALAR_INT, 2, 2, 0},
      .index_bits = 64};
  tbk_error_t error = {{0}};
  CU_ASSERT_EQUAL(kernel->launch(session->self, 0, kernel, &arguments, NULL, &error), TBK_OK);
  session_download(session, &p->tensors[OUT]);
  for (int i = 0; i < OPERANDS; i++)
    p->tensors[i].tensor.memory -= shift;
}

static double sum(const product_t* p, int64_t place, int64_t i, int64_t j) {
  double total = 0;
  for (int64_t q = 0; q < p->k; q++)
    total += number(&p->tensors[A], (place * p->m + i) * p->k + q) *
             number(&p->tensors[B], (place * p->k + q) * p->n + j);
  return total;
}

static void compare(const product_t* p, const double* before) {
  int64_t at = 0;
  for (int64_t place = 0; place < p->batch; place++)
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < p->n; j++, at++) {
        const double added = p->beta ? (double)p->beta * before[at] : 0;
        CU_ASSERT_EQUAL(number(&p->tensors[OUT], at), 2 * sum(p, place, i, j) + added);
      }
}

static void close_product(session_t* session, product_t* p) {
  for (int i = 0; i < OPERANDS; i++)
    session_free(session, &p->tensors[i]);
}

static void run_all(product_t p, bool is_odd) {
  static const int32_t dtypes[] = {TBK_FLOAT32, TBK_FLOAT64, TBK_INT16};
  session_t session = session_open(NULL);
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    open_product(&session, &p, dtypes[i]);
    const int64_t count = session_count(&p.tensors[OUT]);
    double* before = calloc((size_t)count, sizeof *before);
    for (int64_t at = 0; at < count; at++)
      before[at] = number(&p.tensors[OUT], at);
    launch(&session, &p, is_odd ? 1 : 0);
    compare(&p, before);
    free(before);
    close_product(&session, &p);
  }
  session_close(&session);
}

static void elements_that_are_not_aligned(void) {
  run_all((product_t){.batch = 2, .m = 19, .n = 35, .k = 17}, true);
}

static void batches_of_one_matrix(void) {
  run_all((product_t){.batch = 5, .m = 7, .n = 9, .k = 11, .shares_b = true}, false);
}

static void batches_of_one_row(void) {
  run_all((product_t){.batch = 40, .m = 1, .n = 9, .k = 11, .shares_b = true}, false);
}

static void more_than_a_tile(void) {
  run_all((product_t){.batch = 1, .m = 300, .n = 530, .k = 600}, false);
}

/* Of so few, BLAS is asked for one after the other. */
static void few_rows_or_columns(void) {
  static const int64_t sizes[][2] = {{1, 1}, {1, 20}, {2, 20}, {3, 4}, {4, 3}, {20, 2}, {20, 1}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (unsigned way = 0; way < 16; way++)
      run_all((product_t){.batch = 1,
                          .m = sizes[s][0],
                          .n = sizes[s][1],
                          .k = 33,
                          .is_turned = {[OUT] = way & 1, [A] = way & 2, [B] = way & 4},
                          .beta = way & 8 ? 3 : 0},
              false);
}

static bool is_alike(double seen, double right) {
  return isnan(right) ? isnan(seen) : seen == right;
}

/* What is no number, and infinities beside zeros, in one of the factors or as beta: BLAS skips nothing. */
static void check_odd(session_t* session, product_t p, int32_t dtype, int odd, double value) {
  open_product(session, &p, dtype);
  for (int64_t i = 0; i < session_count(&p.tensors[A]); i++)
    set_number(&p.tensors[A], i, i % 3);
  if (odd == A || odd == B) {
    const float narrow = (float)value;
    memcpy(session_element(&p.tensors[odd], 0),
           dtype == TBK_FLOAT32 ? (const void*)&narrow : &value,
           dtype == TBK_FLOAT32 ? sizeof narrow : sizeof value);
  }
  launch(session, &p, 0);
  int64_t wrong = 0;
  for (int64_t i = 0; i < p.m; i++)
    for (int64_t j = 0; j < p.n; j++)
      wrong += !is_alike(number(&p.tensors[OUT], i * p.n + j),
                         p.is_lost ? (double)NAN : 2 * sum(&p, 0, i, j));
  CU_ASSERT_EQUAL(wrong, 0);
  close_product(session, &p);
}

static void numbers_that_are_not_finite(void) {
  static const int64_t sizes[][2] = {{1, 20}, {2, 20}, {5, 20}, {20, 2}, {1, 1}};
  session_t session = session_open(NULL);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (unsigned way = 0; way < 8; way++) {
      const int32_t dtype = way & 1 ? TBK_FLOAT64 : TBK_FLOAT32;
      product_t p = {.batch = 1, .m = sizes[s][0], .n = sizes[s][1], .k = 33};
      p.is_turned[A] = way & 2;
      p.is_turned[B] = way & 4;
      check_odd(&session, p, dtype, A, NAN);
      check_odd(&session, p, dtype, B, INFINITY);
      p.beta = 1;
      p.is_lost = true;
      check_odd(&session, p, dtype, OUT, 0);
    }
  session_close(&session);
}

/* One of several threads: its stream, its tensors, and what it saw. */
typedef struct worker {
  session_t session;
  product_t product;
  pthread_t thread;
  int64_t wrong;
} worker_t;

static bool is_product(const product_t* p) {
  for (int64_t i = 0; i < p->m * p->n; i++)
    if (number(&p->tensors[OUT], i) != sum(p, 0, i / p->n, i % p->n)) return false;
  return true;
}

static void* multiply_often(void* context) {
  enum { ROUNDS = 20000 };
  worker_t* worker = context;
  session_t* session = &worker->session;
  product_t* p = &worker->product;
  const tbk_kernel_t* kernel =
      session->backend->kernel->kernel_find(session->self, 0, TBK_NAME_matmul, TBK_VERSION_matmul);
  const tbk_args_matmul_t arguments = {.struct_size = sizeof arguments,
                                       .a = &p->tensors[A].tensor,
                                       .b = &p->tensors[B].tensor,
                                       .out = &p->tensors[OUT].tensor,
                                       .alpha = {TBK_SCALAR_DOUBLE, 1, 1, 0},
                                       .index_bits = 64};
  for (int round = 0; round < ROUNDS; round++) {
    if (kernel->launch(session->self, 0, kernel, &arguments, session->stream, NULL) != TBK_OK ||
        session->backend->stream->stream_synchronize(session->self, session->stream, NULL) !=
            TBK_OK)
      worker->wrong++;
    session_download(session, &p->tensors[OUT]);
    worker->wrong += !is_product(p);
  }
  return NULL;
}

/* An OpenBLAS without threads is not made for two calls at a time. */
static void products_of_several_threads(void) {
  enum { WORKERS = 4 };
  session_t session = session_open(NULL);
  worker_t workers[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker_t){session, {.batch = 1, .m = 5, .n = 6, .k = 7}, 0, 0};
    CU_ASSERT_EQUAL_FATAL(session.backend->stream->stream_create(session.self, 0, 0,
                                                                 &workers[i].session.stream, NULL),
                          TBK_OK);
    open_product(&session, &workers[i].product, TBK_FLOAT32);
    for (int k = A; k < OPERANDS; k++)
      session_upload(&session, &workers[i].product.tensors[k]);
  }
  for (int i = 0; i < WORKERS; i++)
    CU_ASSERT_EQUAL_FATAL(pthread_create(&workers[i].thread, NULL, multiply_often, &workers[i]), 0);
  for (int i = 0; i < WORKERS; i++) {
    pthread_join(workers[i].thread, NULL);
    CU_ASSERT_EQUAL(workers[i].wrong, 0);
    session.backend->stream->stream_destroy(session.self, workers[i].session.stream);
    close_product(&session, &workers[i].product);
  }
  session_close(&session);
}

const CU_TestInfo cpu_matmul_tests[] = {
    {"elements_that_are_not_aligned", elements_that_are_not_aligned},
    {"batches_of_one_matrix", batches_of_one_matrix},
    {"batches_of_one_row", batches_of_one_row},
    {"more_than_a_tile", more_than_a_tile},
    {"few_rows_or_columns", few_rows_or_columns},
    {"numbers_that_are_not_finite", numbers_that_are_not_finite},
    {"products_of_several_threads", products_of_several_threads},
    CU_TEST_INFO_NULL,
};
