/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "elements.h"

#include <stdlib.h>
#include <string.h>
#include <tbk/dtypes.h>

static void change_all(element_fn function, int32_t dtype, uint8_t* bytes, uint64_t size_bytes) {
  const size_t width = (size_t)tbk_dtype_bytes(dtype);
  for (uint64_t at = 0; at + width <= size_bytes; at += width) {
    uint64_t bits = 0;
    memcpy(&bits, bytes + at, width);
    bits = function(dtype, bits);
    memcpy(bytes + at, &bits, width);
  }
}

tbk_status_t elements_launch(const tbk_tensor_t* operand, element_fn function, tbk_instance_t* self,
                             int32_t device, const tbk_kernel_t* kernel, const void* arguments,
                             tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_core_t* core = INNER(self, core);
  const uint64_t bytes = operand->storage_bytes;
  uint8_t* kept = malloc(2 * bytes + 1);
  if (kept == NULL) return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for elements");
  tbk_status_t status = core->download(self, device, kept, operand->memory, 0, bytes, NULL, error);
  memcpy(kept + bytes, kept, bytes);
  change_all(function, operand->dtype, kept + bytes, bytes);
  if (status == TBK_OK)
    status = core->upload(self, device, operand->memory, 0, kept + bytes, bytes, NULL, error);
  if (status == TBK_OK) status = LAUNCH_INNER;
  if (status == TBK_OK && stream != NULL)
    status = INNER(self, stream)->stream_synchronize(self, stream, error);
  if (status == TBK_OK)
    status = core->upload(self, device, operand->memory, 0, kept, bytes, NULL, error);
  free(kept);
  return status;
}

uint64_t elements_keep_24_digits(int32_t dtype, uint64_t bits) {
  (void)dtype;
  return bits & ~UINT64_C(0x1fffffff);
}
