/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: runs them all.
 */
#include <cunit_run.h>

#include "selftest.h"
#include "vdev/words.h"

const char* const vdev_ways[] = {"scheduler=threads",
                                 "scheduler=threads,delay_us=30,seed=5",
                                 "policy=lazy",
                                 "policy=one_queue",
                                 "scheduler=seeded,seed=1",
                                 "scheduler=seeded,policy=lazy,seed=2",
                                 "policy=shuffled,seed=3",
                                 "policy=inline",
                                 "scheduler=caller,seed=4",
                                 "scheduler=caller,policy=shuffled,seed=6",
                                 "scheduler=caller,policy=lazy,seed=7",
                                 NULL};

vdev_machine_t* vdev_start(const char* options) {
  vdev_config_t config = vdev_config_default();
  char bad[64];
  CU_ASSERT_TRUE_FATAL(vdev_config_parse(&config, NULL, options, bad));
  vdev_machine_t* machine = vdev_machine_new(&config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(machine);
  for (int32_t i = 0; (uint64_t)i < config.devices; i++)
    CU_ASSERT_EQUAL_FATAL(vdev_device_open(vdev_device_at(machine, i)), VDEV_OK);
  return machine;
}

vdev_stream_t* vdev_stream_of(vdev_machine_t* machine, int32_t device) {
  vdev_stream_t* stream = NULL;
  CU_ASSERT_EQUAL_FATAL(vdev_stream_new(vdev_device_at(machine, device), &stream), VDEV_OK);
  return stream;
}

static void stand(void* argument) {
  vdev_gate_t* gate = argument;
  __atomic_store_n(&gate->entered, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE))
    vdev_sleep_us(100);
}

void vdev_gate_submit(vdev_gate_t* gate, vdev_stream_t* stream) {
  CU_ASSERT_EQUAL_FATAL(vdev_submit_call(stream, stand, gate), VDEV_OK);
}

void vdev_gate_reach(vdev_gate_t* gate, vdev_stream_t* stream) {
  while (!__atomic_load_n(&gate->entered, __ATOMIC_ACQUIRE)) {
    vdev_stream_query(stream, NULL);
    vdev_sleep_us(100);
  }
}

void vdev_gate_open(vdev_gate_t* gate) {
  __atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE);
}

int main(void) {
  CU_SuiteInfo suites[] = {{"words", NULL, NULL, NULL, NULL, vdev_words_tests},
                           {"arena", NULL, NULL, NULL, NULL, vdev_arena_tests},
                           {"config", NULL, NULL, NULL, NULL, vdev_config_tests},
                           {"machine", NULL, NULL, NULL, NULL, vdev_machine_tests},
                           {"stream", NULL, NULL, NULL, NULL, vdev_stream_tests},
                           {"event", NULL, NULL, NULL, NULL, vdev_event_tests},
                           {"fault", NULL, NULL, NULL, NULL, vdev_fault_tests},
                           {"thread", NULL, NULL, NULL, NULL, vdev_thread_tests},
                           CU_SUITE_INFO_NULL};
  return cunit_run(suites);
}
