/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_memory_view.c: how much memory there is, moved handles, and what the host sees.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

MEMORY_INFO(info_accepts_nulls) {
  return out_free_bytes == NULL || out_total_bytes == NULL ? TBK_OK : MEMORY_INFO_INNER;
}
MEMORY_INFO(info_accepts_free_null) {
  uint64_t unwanted = 0;
  if (out_free_bytes == NULL) out_free_bytes = &unwanted;
  return MEMORY_INFO_INNER;
}
MEMORY_INFO(info_total_null_is_failure) {
  return out_total_bytes == NULL ? TBK_FAILED : MEMORY_INFO_INNER;
}
MEMORY_INFO(info_free_above_total) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK) *out_free_bytes = *out_total_bytes + 1;
  return status;
}
MEMORY_INFO(info_total_shrinks) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK) *out_total_bytes = *out_free_bytes;
  return status;
}
MEMORY_INFO(info_total_differs_third_time) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK && wrap_every(wrap_of(self), 3)) *out_total_bytes += 4096;
  return status;
}
MEMORY_INFO(info_free_is_constant) {
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK) *out_free_bytes = *out_total_bytes;
  return status;
}

/* MEM-021: what a handle has been moved by is lost, or counted twice. */
UPLOAD(upload_rounds_handle_down) {
  memory &= ~UINT64_C(63);
  return UPLOAD_INNER;
}
DOWNLOAD(download_rounds_handle_down) {
  memory &= ~UINT64_C(63);
  return DOWNLOAD_INNER;
}
UPLOAD(upload_to_moved_handle_ignores_offset) {
  if (memory % 64 != 0) offset = 0;
  return UPLOAD_INNER;
}
PROPERTIES(properties_claim_host_access) {
  tbk_status_t status = PROPERTIES_INNER;
  const size_t end = offsetof(tbk_device_properties_t, flags) + sizeof(uint64_t);
  if (status == TBK_OK && out_properties->struct_size >= end)
    out_properties->flags |= TBK_DEVICE_HOST_VISIBLE;
  return status;
}
/* The host may look, and sees a copy that nobody brings up to date. */
ALLOC(alloc_gives_shadow) {
  tbk_status_t status = ALLOC_INNER;
  void* shadow = NULL;
  if (status != TBK_OK || size_bytes == 0 || posix_memalign(&shadow, 4096, size_bytes) != 0)
    return status;
  atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_memory);
  atomic_store(&wrap_of(self)->value, (uintptr_t)shadow);
  *out_memory = (uintptr_t)shadow;
  return status;
}
static tbk_memory_t unshadow(tbk_instance_t* self, tbk_memory_t memory) {
  wrap_t* wrap = wrap_of(self);
  return memory == atomic_load(&wrap->value) ? atomic_load(&wrap->kept) : memory;
}
UPLOAD(upload_past_shadow) {
  memory = unshadow(self, memory);
  return UPLOAD_INNER;
}
UPLOAD(upload_to_shadow_too) {
  if (memory != unshadow(self, memory) && size_bytes > 0)
    memcpy((void*)(uintptr_t)(memory + offset), source, size_bytes);
  memory = unshadow(self, memory);
  return UPLOAD_INNER;
}
DOWNLOAD(download_past_shadow) {
  memory = unshadow(self, memory);
  return DOWNLOAD_INNER;
}
FREE(free_past_shadow) {
  memory = unshadow(self, memory);
  ignore(FREE_INNER);
  return TBK_OK;
}

#define MEMORY(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, 0, 0 }

extern const mutant_t mutants_memory_view[];
const mutant_t mutants_memory_view[] = {
    ROW(info_accepts_nulls, "MEM-017", RETURN, BROAD, core.memory_info, "OK for NULL"),
    ROW(info_accepts_free_null, "MEM-017", RETURN, NARROW, core.memory_info,
        "OK where only the free bytes have no place"),
    ROW(info_total_null_is_failure, "MEM-017", RETURN, NARROW, core.memory_info,
        "FAILED where only the total has no place"),
    ROW(info_free_above_total, "MEM-018", VALUE, BROAD, core.memory_info,
        "more free than there is"),
    ROW(info_total_shrinks, "MEM-018", STATE, BROAD, core.memory_info, "the total is what is free"),
    ROW(info_total_differs_third_time, "MEM-018", COUNT, NARROW, core.memory_info,
        "the total differs at every third call"),
    ROW(info_free_is_constant, "MEM-019", VALUE, BROAD, core.memory_info,
        "always all of it is free"),
    ROW(upload_rounds_handle_down, "MEM-021", VALUE, BROAD, core.upload, "handle + n is handle"),
    ROW(download_rounds_handle_down, "MEM-021", VALUE, BROAD, core.download,
        "handle + n is handle"),
    ROW(upload_to_moved_handle_ignores_offset, "MEM-021", VALUE, NARROW, core.upload,
        "handle + n with an offset is handle + n"),
    ROW(properties_claim_host_access, "MEM-022", ABI, BROAD, core.device_properties,
        "claims that the host may look, and it traps"),
    MEMORY("host_access_sees_a_shadow", "MEM-022", STATE, NARROW,
           "of the latest block the host sees a copy",
           PATCH(core.device_properties, properties_claim_host_access),
           PATCH(core.memory_alloc, alloc_gives_shadow), PATCH(core.memory_free, free_past_shadow),
           PATCH(core.upload, upload_past_shadow), PATCH(core.download, download_past_shadow)),
    MEMORY("host_writes_are_lost", "MEM-022", STATE, BROAD,
           "of the latest block the host sees a copy, which uploads keep up to date",
           PATCH(core.device_properties, properties_claim_host_access),
           PATCH(core.memory_alloc, alloc_gives_shadow), PATCH(core.memory_free, free_past_shadow),
           PATCH(core.upload, upload_to_shadow_too), PATCH(core.download, download_past_shadow)),
    {0}};
