/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_far.c: places in an allocation of which 31 or 32 bits are kept, on a device that has room beyond.
 */
#include "arguments.h"
#include "calls.h"

static uint64_t bits(uint64_t value, int kept) {
  return value & ((UINT64_C(1) << kept) - 1);
}

#define KEEPS(f, signature, offset, kept, inner) \
  signature(f) {                                 \
    (offset) = bits(offset, kept);               \
    return inner;                                \
  }
KEEPS(upload_offset_keeps_32_bits, UPLOAD, offset, 32, UPLOAD_INNER)
KEEPS(download_offset_keeps_32_bits, DOWNLOAD, offset, 32, DOWNLOAD_INNER)
KEEPS(copy_source_offset_keeps_32_bits, COPY, source_offset, 32, COPY_INNER)
KEEPS(copy_destination_offset_keeps_31_bits, COPY, destination_offset, 31, COPY_INNER)
KEEPS(fill_offset_keeps_31_bits, FILL, offset, 31, FILL_INNER)

/* Of the address of an operand, once its offset is added. */
static void cut(tbk_tensor_t* tensor, int kept) {
  const uint64_t size = dtype_bytes(tensor->dtype);
  tensor->offset = (int64_t)(bits((uint64_t)tensor->offset * size, kept) / size);
}

#define LAUNCHES(f, operand, kept)                                        \
  LAUNCH(f) {                                                             \
    arguments_copy_t c;                                                   \
    if (!arguments_copy(&c, KERNEL_NAME, arguments)) return LAUNCH_INNER; \
    cut(operand, kept);                                                   \
    arguments = &c.as;                                                    \
    return LAUNCH_INNER;                                                  \
  }
LAUNCHES(launch_output_offset_keeps_32_bits, arguments_output(&c), 32)
LAUNCHES(launch_input_offset_keeps_31_bits, &c.tensors[0], 31)

extern const mutant_t mutants_far[];
const mutant_t mutants_far[] = {
    FAR_ROW(upload_offset_keeps_32_bits, "CPY-004", core.upload, "offsets from 2^32 on"),
    FAR_ROW(download_offset_keeps_32_bits, "CPY-009", core.download, "offsets from 2^32 on"),
    FAR_ROW(copy_source_offset_keeps_32_bits, "CPY-015", core.copy, "offsets from 2^32 on"),
    FAR_ROW(copy_destination_offset_keeps_31_bits, "CPY-015", core.copy, "offsets from 2^31 on"),
    FAR_ROW(fill_offset_keeps_31_bits, "CPY-018", core.fill, "offsets from 2^31 on"),
    FAR_ROW(launch_output_offset_keeps_32_bits, "KRN-112", launching.launch,
            "an output from 2^32 bytes on"),
    FAR_ROW(launch_input_offset_keeps_31_bits, "KRN-112", launching.launch,
            "the first input from 2^31 bytes on"),
    {0}};
