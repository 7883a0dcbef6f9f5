/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: what the driver's codes mean, and what it says of what is left.
 */
#include <string.h>

#include "../../../driver.h"
#include "../../../nvrtc.h"
#include "../../rules.h"
#include "faults.h"

static cu_context own; /* the caller's; NULL: it has none */

void fault_enter(const char* simulator) {
  cu_result (*init)(unsigned);
  cu_result (*retain)(cu_context*, cu_device);
  cu_result (*push)(cu_context);
  FAULT_FIND(simulator, "cuInit", init);
  FAULT_FIND(simulator, "cuDevicePrimaryCtxRetain", retain);
  FAULT_FIND(simulator, "cuCtxPushCurrent_v2", push);
  if (init(0) != CU_OK || retain(&own, 1) != CU_OK || push(own) != CU_OK) _Exit(126);
}

/* Takes the caller's context from the thread; returns whether it was there. */
static bool leave(const char* simulator) {
  cu_result (*pop)(cu_context*);
  cu_result (*release)(cu_device);
  cu_context last = NULL;
  FAULT_FIND(simulator, "cuCtxPopCurrent_v2", pop);
  FAULT_FIND(simulator, "cuDevicePrimaryCtxRelease_v2", release);
  const bool was_there = pop(&last) == CU_OK && last == own;
  (void)release(1);
  return was_there;
}

void fault_look_behind(const char* simulator, fault_behind_t* out) {
  int (*broken)(void);
  cu_result (*mem_get_info)(size_t*, size_t*);
  cu_result (*release)(cu_device);
  size_t free_bytes, total;
  FAULT_FIND(simulator, "tbk_simulator_broken", broken);
  FAULT_FIND(simulator, "cuMemGetInfo_v2", mem_get_info);
  FAULT_FIND(simulator, "cuDevicePrimaryCtxRelease_v2", release);
  out->broken = broken();
  out->in_context = own != NULL && !leave(simulator);
  (void)broken();
  (void)mem_get_info(&free_bytes, &total);
  int rule = broken();
  if (rule == SIM_UNINITIALIZED) return; /* there can be nothing */
  out->in_context = rule != SIM_NO_CONTEXT || out->in_context;
  for (cu_device device = 0; device < 2; device++) {
    (void)release(device);
    out->retained = broken() != SIM_RELEASE || out->retained;
  }
}

static bool is_work(int code) {
  return code >= 700 && code <= 719 && code != 701; /* 701: nothing was launched */
}

bool fault_fits(const char* symbol, int code, tbk_status_t status) {
  if (strncmp(symbol, "nvrtc", 5) == 0)
    return (status == TBK_OUT_OF_MEMORY) == (code == NVRTC_OUT_OF_MEMORY);
  if (code == CU_OUT_OF_MEMORY) return status == TBK_OUT_OF_MEMORY;
  if (is_work(code)) return status == TBK_DEVICE_LOST;
  return status != TBK_OUT_OF_MEMORY && status != TBK_DEVICE_LOST;
}

/* What the driver refuses to give back, and what goes with a dead context, is not the backend's. */
const char* fault_left(const fault_behind_t* behind, const char* symbol, int code) {
  const bool refused = strstr(symbol, "Free") || strstr(symbol, "Destroy") ||
                       strstr(symbol, "Push") || strstr(symbol, "Unload") || is_work(code);
  const bool popped = strstr(symbol, "Pop") == NULL;
  const bool excused =
      (behind->broken == SIM_LEFT && refused) || (behind->broken == SIM_STILL_PUSHED && !popped);
  if (behind->broken != 0 && !excused) return "a rule is broken";
  if (behind->in_context && popped) return "the caller is left in another context";
  if (behind->retained && !strstr(symbol, "Release")) return "a context stays retained";
  return NULL;
}

/* Nothing else: what kernels take of memory in order, the scenario's product does. */
void fault_own(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  (void)of, (void)memory, (void)stream;
}
