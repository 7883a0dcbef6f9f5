/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * state.c: beginning and end, rules and messages.
 */
#include <stdio.h>
#include <unistd.h>

#include "simulator.h"

const char tbk_npu_simulator[] = "tbk_npu_simulator 1";

sim_state_t sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .serial = SIM_DEFAULT_SERIAL};

static const sim_rule_row_t rows[] = {
#define SIM_RULE_ROW(name, number, class, answer, source, sentence) \
  [number] = {number, class, answer, source, sentence},
    SIM_RULES(SIM_RULE_ROW)
#undef SIM_RULE_ROW
};

static _Thread_local char message[256];
static _Thread_local bool in_host_function;

static void keep_message(int rule) {
  snprintf(message, sizeof message, "SIM-ACL-%03d: %s", rule, rows[rule].sentence);
}

const sim_driver_t sim_driver = {"NPU", "SIM-ACL", rows, &sim.own.answer, keep_message};

acl_result sim_refuse(acl_result result, const char* why) {
  snprintf(message, sizeof message, "%d: %s", result, why);
  return result;
}

acl_result sim_no_memory(void) {
  return sim_refuse(ACL_BAD_ALLOC, "no host memory left");
}

/* Reading it clears it; who reads may keep the text until then. */
const char* api_recent_error(void) {
  static _Thread_local char given[sizeof message];
  if (message[0] == '\0') return NULL;
  snprintf(given, sizeof given, "%s", message);
  message[0] = '\0';
  return given;
}

static const vdev_option_t own_options[] = {
    {"report", offsetof(sim_own_options_t, answer), 0, 1, "abort|answer|", false},
    {"fault_at", offsetof(sim_own_options_t, fault_at), 0, UINT64_MAX, NULL, false},
    {"initialized", offsetof(sim_own_options_t, foreign), 0, 1, "never|before|", false},
};
const sim_setup_t sim_setup = {{own_options, sizeof own_options / sizeof *own_options, &sim.own},
                               SIM_ALIGNMENT};

static void make_machine(void) {
  sim.machine = sim_machine_new();
  if (sim.machine == NULL) return;
  uint64_t count = vdev_machine_config(sim.machine)->devices;
  sim.device_count = count < SIM_DEVICES ? (int)count : SIM_DEVICES;
  for (int i = 0; i < sim.device_count; i++)
    sim.contexts[i].device = vdev_device_at(sim.machine, i);
  sim.pid = getpid();
}

acl_result api_init(const char* config_path) {
  (void)config_path; /* what it may say does not concern this driver */
  if (sim.pid != 0 && sim.pid != getpid()) return sim_broken(SIM_FORKED, "aclInit");
  if (sim.finalized) return sim_broken(SIM_FINALIZED, "aclInit");
  pthread_mutex_lock(&sim.lock);
  bool again = sim.machine != NULL;
  if (!again) make_machine();
  pthread_mutex_unlock(&sim.lock);
  if (sim.machine == NULL) return sim_refuse(ACL_INTERNAL, "no such simulated driver");
  return again || sim.own.foreign ? sim_refuse(ACL_REPEAT_INITIALIZE, "aclInit was called before")
                                  : ACL_OK;
}

acl_result api_finalize(void) {
  acl_result result = sim_begin("aclFinalize");
  if (result != ACL_OK) return result;
  if (sim.own.foreign) return sim_broken(SIM_FOREIGN, "aclFinalize");
  if (sim_is_any_set()) (void)sim_broken(SIM_STILL_SET, "aclFinalize");
  pthread_mutex_lock(&sim.lock);
  sim.finalized = true;
  pthread_mutex_unlock(&sim.lock);
  return ACL_OK;
}

acl_result sim_begin(const char* call) {
  if (sim.pid == 0) return sim_broken(SIM_UNINITIALIZED, call);
  if (sim.pid != getpid()) return sim_broken(SIM_FORKED, call);
  if (sim.finalized) return sim_broken(SIM_FINALIZED, call);
  if (in_host_function) return sim_broken(SIM_HOST_FUNCTION, call);
  return ACL_OK;
}

void sim_run_host_function(void (*function)(void*), void* argument) {
  in_host_function = true;
  function(argument);
  in_host_function = false;
}

acl_result sim_of_status(vdev_status_t status) {
  static const struct {
    acl_result result;
    const char* why;
  } answers_of[] = {
      [VDEV_OK] = {ACL_OK, ""},
      [VDEV_INVALID] = {ACL_RT_PARAM_INVALID, "things of two devices"},
      [VDEV_CLOSED] = {ACL_INVALID_HANDLE, "the device was reset"},
      [VDEV_STATE] = {ACL_RT_PARAM_INVALID, "a call out of turn"},
      [VDEV_LOST] = {ACL_DRIVER_INTERNAL, "the device is lost"},
      [VDEV_NO_ROOM] = {ACL_RESOURCE_ALLOC, "a limit is reached, or the host has no memory left"},
      [VDEV_FAILED] = {ACL_AICORE_EXCEPTION, "work failed"},
      [VDEV_NOT_READY] = {ACL_EVENT_NOT_COMPLETE, "work is not complete"},
      [VDEV_BUSY] = {ACL_DEVICE_SETUP, "another process has the device"},
  };
  return status == VDEV_OK ? ACL_OK : sim_refuse(answers_of[status].result, answers_of[status].why);
}

acl_result sim_fault(const sim_context_t* context) {
  int fault = __atomic_load_n(&context->fault, __ATOMIC_ACQUIRE);
  return fault == 0 ? ACL_OK : sim_refuse(fault, "an error of work has stopped the context");
}

acl_result sim_after_wait(const sim_context_t* context, vdev_status_t status, int code) {
  acl_result fault = sim_fault(context);
  if (fault != ACL_OK) return fault;
  return status == VDEV_FAILED ? sim_refuse(code, "work failed") : sim_of_status(status);
}

acl_result api_get_version(int32_t* out_major, int32_t* out_minor, int32_t* out_patch) {
  acl_result result = sim_begin("aclrtGetVersion");
  if (result != ACL_OK) return result;
  if (out_major == NULL || out_minor == NULL || out_patch == NULL)
    return sim_broken(SIM_NULL_POINTER, "aclrtGetVersion");
  *out_major = 1;
  *out_minor = 15;
  *out_patch = 0;
  return ACL_OK;
}
