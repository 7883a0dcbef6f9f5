/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "convolution_copy.h"

#include <string.h>
#include <tbk/program.h>

void convolution_copy_view(convolution_view_t* to, const tbk_tensor_t* old) {
  to->tensor = *old;
  memcpy(to->sizes, old->sizes, (size_t)old->rank * sizeof(int64_t));
  memcpy(to->strides, old->strides, (size_t)old->rank * sizeof(int64_t));
  to->tensor.sizes = to->sizes;
  to->tensor.strides = to->strides;
}

void convolution_copy_numbers(convolution_copy_t* to, const tbk_args_convolution_t* a) {
  const size_t bytes = (size_t)(a->input->rank - 2) * sizeof(int64_t);
  memcpy(to->stride, a->stride, bytes);
  memcpy(to->padding, a->padding, bytes);
  memcpy(to->dilation, a->dilation, bytes);
  to->arguments.stride = to->stride;
  to->arguments.padding = to->padding;
  to->arguments.dilation = to->dilation;
}

convolution_copy_t* convolution_copy_of(const void* arguments) {
  static _Thread_local convolution_copy_t copy;
  const tbk_args_convolution_t* a = arguments;
  if (a->struct_size < sizeof *a || tbk_convolution_check(a, NULL) != TBK_OK) return NULL;
  copy.arguments = *a;
  convolution_copy_view(&copy.views[OUT], a->output);
  convolution_copy_view(&copy.views[IN], a->input);
  convolution_copy_view(&copy.views[BY], a->weight);
  if (a->bias != NULL) convolution_copy_view(&copy.views[BIAS], a->bias);
  convolution_copy_numbers(&copy, a);
  copy.arguments.output = &copy.views[OUT].tensor;
  copy.arguments.input = &copy.views[IN].tensor;
  copy.arguments.weight = &copy.views[BY].tensor;
  if (a->bias != NULL) copy.arguments.bias = &copy.views[BIAS].tensor;
  copy.mode = a->mode;
  copy.dtype = a->input->dtype;
  copy.last = a->input->rank - 1;
  return &copy;
}
