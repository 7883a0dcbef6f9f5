/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * thread_test.c: several host threads on one machine, for what ThreadSanitizer finds.
 */
#include <pthread.h>

#include "selftest.h"
#include "vdev/event.h"
#include "vdev/words.h"

enum { THREADS = 4, ROUNDS = 60 };

typedef struct host {
  vdev_machine_t* machine;
  vdev_event_t** events; /* one of each thread, which the others wait for */
  int number;
  uint64_t sum; /* of its own stream's work alone */
  unsigned wrong;
} host_t;

static void add_to_sum(void* argument) {
  ((host_t*)argument)->sum++;
}

/* Its own stream's order, waits for the others, and blocks that come and go. */
static void play(host_t* this, vdev_stream_t* stream, int round) {
  vdev_device_t* device = vdev_stream_device(stream);
  vdev_arena_t* arena = vdev_device_arena(device);
  vdev_memory_t block = vdev_arena_take(arena, 256);
  char* at = vdev_arena_at(arena, block, 0, 256);
  unsigned char back[256] = {0};
  vdev_submit_fill(stream, at, (uint8_t)round, 256);
  vdev_submit_call(stream, add_to_sum, this);
  vdev_event_wait(stream, this->events[(this->number + 1 + round) % THREADS]);
  vdev_submit_copy(stream, back, at, 256);
  vdev_event_record(this->events[this->number], stream);
  if (round % 3 == 0) (void)vdev_device_synchronize(device, NULL);
  this->wrong += vdev_stream_synchronize(stream, NULL) != VDEV_OK;
  this->wrong += back[0] != (uint8_t)round || back[255] != (uint8_t)round;
  this->wrong += vdev_event_query(this->events[this->number]) != VDEV_OK;
  this->wrong += !vdev_arena_give(arena, block);
}

static void* work(void* argument) {
  host_t* this = argument;
  for (int round = 0; round < ROUNDS; round++) {
    vdev_stream_t* stream = NULL;
    vdev_device_t* device = vdev_device_at(this->machine, this->number % 2);
    if (vdev_stream_new(device, &stream) != VDEV_OK) return NULL;
    play(this, stream, round);
    vdev_stream_drop(stream);
  }
  return NULL;
}

static void threads_do_not_meet(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_event_t* events[THREADS];
    host_t hosts[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
      vdev_event_new(vdev_device_at(machine, i % 2), true, &events[i]);
    for (int i = 0; i < THREADS; i++) {
      hosts[i] = (host_t){machine, events, i, 0, 0};
      CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, work, &hosts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
      CU_ASSERT(hosts[i].sum == ROUNDS && hosts[i].wrong == 0);
    }
    vdev_machine_free(machine);
  }
}

/* Each opens, uses and closes a device of its own, so that the scheduler starts and rests. */
static void* open_and_close(void* argument) {
  host_t* this = argument;
  vdev_device_t* device = vdev_device_at(this->machine, this->number);
  for (int round = 0; round < ROUNDS / 4; round++) {
    vdev_stream_t* stream = NULL;
    this->wrong += vdev_device_open(device) != VDEV_OK;
    this->wrong += vdev_stream_new(device, &stream) != VDEV_OK;
    vdev_submit_call(stream, add_to_sum, this);
    this->wrong += vdev_device_close(device, NULL) != VDEV_OK;
    vdev_stream_drop(stream);
  }
  return NULL;
}

static void devices_come_and_go(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_config_t config = vdev_config_default();
    char bad[64];
    CU_ASSERT(vdev_config_parse(&config, NULL, *way, bad));
    config.devices = THREADS;
    vdev_machine_t* machine = vdev_machine_new(&config);
    host_t hosts[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
      hosts[i] = (host_t){machine, NULL, i, 0, 0};
      CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, open_and_close, &hosts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
      CU_ASSERT(hosts[i].sum == ROUNDS / 4 && hosts[i].wrong == 0);
    }
    vdev_machine_free(machine);
  }
}

CU_TestInfo vdev_thread_tests[] = {
    {"threads do not meet", threads_do_not_meet},
    {"devices come and go", devices_come_and_go},
    CU_TEST_INFO_NULL,
};
