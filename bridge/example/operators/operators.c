/* acme/operators.c */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "acme_operators.h"

/* Contiguous float32 only; everything else is refused before any effect. */
static int plain(const tbk_tensor_t* tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    if (tensor->sizes[i] != 1 && tensor->strides[i] != expected) return 0;
    expected *= tensor->sizes[i];
  }
  return tensor->dtype == TBK_FLOAT32;
}

static float* first(const tbk_tensor_t* tensor) {
  return (float*)(uintptr_t)tensor->memory + tensor->offset;
}

static int64_t count(const tbk_tensor_t* tensor) {
  int64_t product = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    product *= tensor->sizes[i];
  return product;
}

static tbk_status_t refuse(tbk_status_t status, tbk_error_t* error, const char* reason) {
  if (error) snprintf(error->message, sizeof error->message, "%s", reason);
  return status;
}

static tbk_status_t swish(const void* arguments, tbk_error_t* error) {
  const tbk_args_acme__swish_t* args = arguments;
  if (args->struct_size < sizeof *args) return refuse(TBK_INVALID, error, "cut short");
  if (!plain(args->x) || !plain(args->out))
    return refuse(TBK_UNSUPPORTED, error, "contiguous float32 only");
  const double beta = args->beta;
  for (int64_t i = 0; i < count(args->out); ++i) {
    const double x = first(args->x)[i];
    first(args->out)[i] = (float)(x / (1 + exp(-beta * x)));
  }
  return TBK_OK;
}

static tbk_status_t swish_backward(const void* arguments, tbk_error_t* error) {
  const tbk_args_acme__swish_backward_t* args = arguments;
  if (args->struct_size < sizeof *args) return refuse(TBK_INVALID, error, "cut short");
  if (!plain(args->grad) || !plain(args->x) || !plain(args->out))
    return refuse(TBK_UNSUPPORTED, error, "contiguous float32 only");
  const double beta = args->beta;
  for (int64_t i = 0; i < count(args->out); ++i) {
    const double x = first(args->x)[i], s = 1 / (1 + exp(-beta * x));
    first(args->out)[i] = (float)(first(args->grad)[i] * (s + beta * x * s * (1 - s)));
  }
  return TBK_OK;
}

static tbk_status_t row_norms(const void* arguments, tbk_error_t* error) {
  const tbk_args_acme__row_norms_t* args = arguments;
  if (args->struct_size < sizeof *args) return refuse(TBK_INVALID, error, "cut short");
  if (!plain(args->x) || !plain(args->out) || args->x->rank != 2)
    return refuse(TBK_UNSUPPORTED, error, "contiguous float32 of two dimensions only");
  const int64_t columns = args->x->sizes[1];
  for (int64_t row = 0; row < args->x->sizes[0]; ++row) {
    double sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      sum += (double)first(args->x)[i] * first(args->x)[i];
    first(args->out)[row] = (float)sqrt(sum);
  }
  return TBK_OK;
}

static tbk_status_t scale(const void* arguments, tbk_error_t* error) {
  const tbk_args_acme__scale__t* args = arguments;
  if (args->struct_size < sizeof *args) return refuse(TBK_INVALID, error, "cut short");
  if (!plain(args->x)) return refuse(TBK_UNSUPPORTED, error, "contiguous float32 only");
  for (int64_t i = 0; i < count(args->x); ++i)
    first(args->x)[i] *= (float)args->by;
  return TBK_OK;
}

/* A row for each kernel: name, version, function. */
typedef struct row {
  tbk_kernel_t kernel; /* first: a pointer to it is one to the row */
  const char* name;
  uint32_t version;
  tbk_status_t (*compute)(const void* arguments, tbk_error_t* error);
} row_t;

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)stream;
  return ((const row_t*)kernel)->compute(arguments, error);
}

#define ROW(name, compute) \
  { {sizeof(tbk_kernel_t), launch, NULL, NULL, NULL}, TBK_NAME_##name, TBK_VERSION_##name, compute }
static const row_t rows[] = {
    ROW(acme__swish, swish),
    ROW(acme__swish_backward, swish_backward),
    ROW(acme__row_norms, row_norms),
    ROW(acme__scale_, scale),
};

int acme_is_open(tbk_instance_t* self, int32_t device);

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  if (!acme_is_open(self, device)) return NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (version == rows[i].version && strcmp(name, rows[i].name) == 0) return &rows[i].kernel;
  return NULL;
}

const tbk_kernel_ops_t acme_kernels = {sizeof acme_kernels, kernel_find};
