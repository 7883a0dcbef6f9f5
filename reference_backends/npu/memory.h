/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: the entries of the core table that memory.c implements.
 */
#ifndef TBK_NPU_MEMORY_H
#define TBK_NPU_MEMORY_H

#include "npu.h"

tbk_status_t npu_memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                              tbk_memory_t* out_memory, tbk_error_t* error);
tbk_status_t npu_memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                             tbk_error_t* error);
tbk_status_t npu_upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                        const void* source, uint64_t size_bytes, tbk_stream_t* stream,
                        tbk_error_t* error);
tbk_status_t npu_download(tbk_instance_t* self, int32_t device, void* destination,
                          tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                          tbk_stream_t* stream, tbk_error_t* error);
tbk_status_t npu_copy(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                      uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                      uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error);
tbk_status_t npu_fill(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                      uint8_t value, uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error);
tbk_status_t npu_memory_info(tbk_instance_t* self, int32_t device, uint64_t* out_free_bytes,
                             uint64_t* out_total_bytes, tbk_error_t* error);

#endif /* TBK_NPU_MEMORY_H */
