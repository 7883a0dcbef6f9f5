/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: what the driver's codes mean, and what it says of what is left.
 */
#include <string.h>

#include "../../../acl.h"
#include "../../rules.h"
#include "faults.h"

/* What stands for NULL, where a function returns a handle. */
enum { NO_HANDLE = 1 };

static acl_context own; /* the caller's; NULL: it has none */

void fault_enter(const char* simulator) {
  acl_result (*init)(const char*);
  acl_result (*set_device)(int32_t);
  acl_result (*get_context)(acl_context*);
  FAULT_FIND(simulator, "aclInit", init);
  FAULT_FIND(simulator, "aclrtSetDevice", set_device);
  FAULT_FIND(simulator, "aclrtGetCurrentContext", get_context);
  if (init(NULL) != ACL_OK || set_device(1) != ACL_OK || get_context(&own) != ACL_OK) _Exit(126);
}

/* A thread that had no context keeps the backend's: nothing can be asked of that. */
void fault_look_behind(const char* simulator, fault_behind_t* out) {
  int (*broken)(void);
  acl_result (*reset)(int32_t);
  acl_result (*get_context)(acl_context*);
  acl_context now = NULL;
  FAULT_FIND(simulator, "tbk_simulator_broken", broken);
  FAULT_FIND(simulator, "aclrtResetDevice", reset);
  FAULT_FIND(simulator, "aclrtGetCurrentContext", get_context);
  out->broken = broken();
  if (own != NULL) {
    out->in_context = get_context(&now) != ACL_OK || now != own;
    (void)reset(1);
    (void)broken();
  }
  for (int32_t device = 0; device < 2; device++) {
    (void)reset(device);
    const int rule = broken();
    if (rule == SIM_UNINITIALIZED) return; /* there can be nothing */
    out->retained = rule != SIM_RESET || out->retained;
  }
}

static bool is_memory(int code) {
  return code == ACL_BAD_ALLOC || code == ACL_MEMORY_ALLOCATION || code == ACL_RESOURCE_ALLOC ||
         code == ACL_NO_EVENT_RESOURCE || code == ACL_NO_STREAM_RESOURCE || code == ACL_DEVICE_OOM;
}

static bool is_refusal(int code) {
  return code == ACL_NN_INVALID || code == ACL_NN_TILING || code == ACL_NN_NO_KERNEL ||
         code == ACL_FEATURE_NOT_SUPPORTED;
}

bool fault_fits(const char* symbol, int code, tbk_status_t status) {
  (void)symbol; /* all have one list of codes */
  if (is_memory(code)) return status == TBK_OUT_OF_MEMORY;
  if (code == NO_HANDLE)
    return status == TBK_OUT_OF_MEMORY || status == TBK_UNSUPPORTED || status == TBK_FAILED;
  if (is_refusal(code)) return status == TBK_UNSUPPORTED || status == TBK_FAILED; /* of a plan */
  if (code == ACL_AICORE_EXCEPTION) return status == TBK_DEVICE_LOST;
  if (code == ACL_INTERNAL) return status == TBK_DEVICE_LOST || status == TBK_FAILED;
  return status != TBK_OUT_OF_MEMORY && status != TBK_DEVICE_LOST;
}

/* What the driver refuses to give back, and what goes with a dead context, is not the backend's. */
const char* fault_left(const fault_behind_t* behind, const char* symbol, int code) {
  const bool dead = code == ACL_AICORE_EXCEPTION || code == ACL_INTERNAL;
  const bool entered = strstr(symbol, "Context") || strstr(symbol, "PrimaryCtx");
  const bool issued = strncmp(symbol, "aclnn", 5) == 0; /* nobody says whose the executor is then */
  const bool refused = dead || entered || strstr(symbol, "Free") || strstr(symbol, "Destroy") ||
                       strstr(symbol, "Synchronize") || strstr(symbol, "Repeatable") ||
                       strstr(symbol, "UnSubscribe") || issued;
  const bool left = behind->broken == SIM_LEFT || behind->broken == SIM_MEMORY_LEFT ||
                    behind->broken == SIM_EXECUTOR_LEFT || behind->broken == SIM_DESCRIPTORS_LEFT ||
                    behind->broken == SIM_REPORTS_LEFT;
  if (behind->broken != 0 && !(left && refused)) return "a rule is broken";
  if (behind->in_context && !entered) return "the caller is left in another context";
  if (behind->retained && !entered && !strstr(symbol, "Reset")) return "a device stays set";
  return NULL;
}
