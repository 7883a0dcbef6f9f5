/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_program_detour.c: tbk::convolution by a detour: what it reads has been in another dtype, or padding
 * has been an operand.
 */
#include <tbk/dtypes.h>

#include "convolution_copy.h"

/* A tensor without gaps, with the sizes of another. */
static bool make(tbk_instance_t* self, int32_t device, const tbk_tensor_t* like, int32_t dtype,
                 convolution_view_t* out) {
  int64_t count = 1;
  convolution_copy_view(out, like);
  out->tensor.dtype = dtype;
  out->tensor.offset = 0;
  for (int32_t d = like->rank - 1; d >= 0; d--) {
    out->strides[d] = count > 0 ? count : 1;
    count *= like->sizes[d];
  }
  out->tensor.storage_bytes = (uint64_t)(count * tbk_dtype_bytes(dtype));
  return INNER(self, core)
             ->memory_alloc(self, device, out->tensor.storage_bytes + 1, &out->tensor.memory,
                            NULL) == TBK_OK;
}

static tbk_status_t convert(tbk_instance_t* self, int32_t device, const tbk_tensor_t* to,
                            const tbk_tensor_t* from, tbk_stream_t* stream) {
  const tbk_kernel_t* kernel =
      INNER(self, kernel)->kernel_find(self, device, TBK_NAME_copy_, TBK_VERSION_copy_);
  const tbk_args_copy__t args = {.struct_size = sizeof args, .self = to, .src = from};
  return kernel->launch(self, device, kernel, &args, stream, NULL);
}

static void finish(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                   convolution_view_t* views, int count) {
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  for (int i = 0; i < count; i++)
    ignore(INNER(self, core)->memory_free(self, device, views[i].tensor.memory, NULL));
}

/* What is read has been FLOAT16 for a moment, which has as many digits as matrix units keep of FLOAT32. */
LAUNCH(products_have_11_digits) {
  convolution_copy_t* c = convolution_copy_of(arguments);
  convolution_view_t narrow[2], wide[2];
  if (c == NULL || c->dtype != TBK_FLOAT32) return LAUNCH_INNER;
  for (int i = 0; i < 2; i++) {
    convolution_view_t* read = &c->views[(c->mode + 1 + i) % 3];
    if (!make(self, device, &read->tensor, TBK_FLOAT16, &narrow[i]) ||
        !make(self, device, &read->tensor, TBK_FLOAT32, &wide[i]))
      return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for a detour");
    ignore(convert(self, device, &narrow[i].tensor, &read->tensor, stream));
    ignore(convert(self, device, &wide[i].tensor, &narrow[i].tensor, stream));
    convolution_copy_view(read, &wide[i].tensor);
  }
  arguments = &c->arguments;
  tbk_status_t status = LAUNCH_INNER;
  finish(self, device, stream, narrow, 2);
  finish(self, device, stream, wide, 2);
  return status;
}

LAUNCH(integers_are_summed_as_doubles) {
  convolution_copy_t* c = convolution_copy_of(arguments);
  convolution_view_t doubles[3];
  if (c == NULL || c->dtype != TBK_INT64 || c->arguments.bias != NULL) return LAUNCH_INNER;
  for (int i = 0; i < 3; i++) {
    if (!make(self, device, &c->views[i].tensor, TBK_FLOAT64, &doubles[i]))
      return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for a detour");
    ignore(convert(self, device, &doubles[i].tensor, &c->views[i].tensor, stream));
  }
  const convolution_view_t written = c->views[c->mode];
  for (int i = 0; i < 3; i++)
    convolution_copy_view(&c->views[i], &doubles[i].tensor);
  arguments = &c->arguments;
  tbk_status_t status = LAUNCH_INNER;
  tbk_tensor_t back = written.tensor;
  back.sizes = written.sizes;
  back.strides = written.strides;
  ignore(convert(self, device, &back, &doubles[c->mode].tensor, stream));
  finish(self, device, stream, doubles, 3);
  return status;
}

/* A first call makes weight * 0, and that is the bias of the second. */
LAUNCH(padding_is_multiplied) {
  convolution_copy_t* c = convolution_copy_of(arguments);
  convolution_view_t zero, product[1];
  if (c == NULL || c->mode != TBK_CONVOLUTION_OUTPUT || c->padding[0] == 0) return LAUNCH_INNER;
  convolution_copy_t first = *c;
  convolution_copy_numbers(&first, &c->arguments);
  int64_t one[RANK] = {1, c->views[IN].sizes[1], 1, 1, 1}, many[RANK] = {1, c->views[OUT].sizes[1]};
  tbk_tensor_t input = c->views[IN].tensor, output = c->views[OUT].tensor;
  for (int32_t d = 2; d <= c->last; d++) {
    one[d] = c->views[BY].sizes[d];
    many[d] = first.dilation[d - 2] = 1;
    first.padding[d - 2] = 0;
  }
  input.sizes = one;
  output.sizes = many;
  if (!make(self, device, &input, c->dtype, &zero) ||
      !make(self, device, &output, c->dtype, &product[0]))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for a detour");
  ignore(
      INNER(self, core)
          ->fill(self, device, zero.tensor.memory, 0, 0, zero.tensor.storage_bytes, stream, NULL));
  first.arguments.input = &zero.tensor;
  first.arguments.output = &product[0].tensor;
  arguments = &first.arguments;
  tbk_status_t status = LAUNCH_INNER;
  tbk_tensor_t bias = product[0].tensor;
  bias.rank = 1;
  bias.sizes = &many[1];
  bias.strides = &product[0].strides[1];
  c->arguments.bias = &bias;
  arguments = &c->arguments;
  if (status == TBK_OK) status = LAUNCH_INNER;
  finish(self, device, stream, &zero, 1);
  finish(self, device, stream, product, 1);
  return status;
}

#define DETOUR_ROW(function, clause, operation, narrow, note) \
  KERNEL_ROW(function, clause, operation, narrow, TBK_NAME_convolution, launch, note)

const mutant_t mutants_program_detour[] = {
    DETOUR_ROW(padding_is_multiplied, "PRG-050", VALUE, BROAD, "NaN comes of 0"),
    DETOUR_ROW(products_have_11_digits, "PRG-051", VALUE, BROAD, "of FLOAT32"),
    DETOUR_ROW(integers_are_summed_as_doubles, "PRG-053", VALUE, BROAD, "of INT64"),
    {0},
};
