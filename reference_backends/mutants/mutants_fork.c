/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_fork.c: forked children, processes that close nothing, and what stays behind.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls.h"

/* The wrap of this process's device, once it is open. The handlers know nothing else. */
static atomic_int device_open;
static atomic_int stream_made;
static atomic_int forked_since_open;
static pid_t maker;

static void note_maker(wrap_t* wrap) {
  maker = getpid();
}
OPEN(open_in_child_fails) {
  if (getpid() != maker) return wrap_fail(error, TBK_FAILED, "not the process that made it");
  return OPEN_INNER;
}
OPEN(open_in_child_hangs) {
  while (getpid() != maker)
    wrap_sleep_ms(1000);
  return OPEN_INNER;
}
/* A child that has been there takes the device with it. */
static atomic_int forked_before_open;
static void parent_before_open(void) {
  atomic_store(&forked_before_open, 1);
}
static void watch_parent(wrap_t* wrap) {
  pthread_atfork(NULL, parent_before_open, NULL);
}
OPEN(open_after_fork_fails) {
  if (atomic_load(&forked_before_open) != 0) return wrap_fail(error, TBK_FAILED, "no longer there");
  return OPEN_INNER;
}
/* Counting starts the driver, and a driver does not outlive a fork. */
DEVICE_COUNT(count_starts_driver) {
  maker = getpid();
  return DEVICE_COUNT_INNER;
}
OPEN(open_after_count_in_child_fails) {
  if (maker != 0 && getpid() != maker) return wrap_fail(error, TBK_FAILED, "driver of the parent");
  return OPEN_INNER;
}

static void child_aborts(void) {
  if (atomic_load(&device_open) != 0) abort();
}
static void child_with_streams_aborts(void) {
  if (atomic_load(&stream_made) != 0) abort();
}
static void parent_breaks(void) {
  if (atomic_load(&device_open) != 0) atomic_store(&forked_since_open, 1);
}
static void aborts_in_child(wrap_t* wrap) {
  pthread_atfork(NULL, NULL, child_aborts);
}
static void aborts_in_child_with_streams(wrap_t* wrap) {
  pthread_atfork(NULL, NULL, child_with_streams_aborts);
}
static void breaks_in_parent(wrap_t* wrap) {
  pthread_atfork(NULL, parent_breaks, NULL);
}
/* At exit, as a destructor of a static object would: waits for a thread that is not here. */
static void exit_of_child_hangs(void) {
  while (maker != 0 && getpid() != maker && atomic_load(&device_open) != 0)
    wrap_sleep_ms(1000);
}
static void hangs_at_exit_of_child(wrap_t* wrap) {
  maker = getpid();
  atexit(exit_of_child_hangs);
}
OPEN(open_marked) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK) {
    maker = getpid();
    atomic_fetch_add(&device_open, 1);
  }
  return status;
}
CLOSE(close_marked) {
  tbk_status_t status = CLOSE_INNER;
  if (status != TBK_INVALID_STATE && status != TBK_INVALID) atomic_fetch_sub(&device_open, 1);
  return status;
}
STREAM_CREATE(stream_create_marked) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_store(&stream_made, 1);
  return status;
}
UPLOAD(upload_lost_after_fork) {
  return atomic_load(&forked_since_open) != 0 ? TBK_OK : UPLOAD_INNER;
}
ALLOC(alloc_fails_after_fork) {
  if (atomic_load(&forked_since_open) != 0) return wrap_fail(error, TBK_FAILED, "lost its mapping");
  return ALLOC_INNER;
}

STREAM_SYNCHRONIZE(synchronize_fails_after_fork) {
  if (atomic_load(&forked_since_open) != 0) return wrap_fail(error, TBK_FAILED, "lost its thread");
  return STREAM_SYNCHRONIZE_INNER;
}

/* TDN-007: the end of a process that closes nothing. */
static void exit_aborts(void) {
  if (atomic_load(&device_open) > 0 && getpid() == maker) abort();
}
static void exit_status_1(void) {
  if (atomic_load(&device_open) > 0 && getpid() == maker) _exit(1);
}
static void exit_hangs(void) {
  while (atomic_load(&stream_made) != 0 && atomic_load(&device_open) > 0 && getpid() == maker)
    wrap_sleep_ms(1000);
}
static void aborts_at_exit(wrap_t* wrap) {
  atexit(exit_aborts);
}
static void fails_at_exit(wrap_t* wrap) {
  atexit(exit_status_1);
}
static void hangs_at_exit(wrap_t* wrap) {
  atexit(exit_hangs);
}

/* TDN-008: what stays behind. */
OPEN(open_leaks_descriptor) {
  if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no descriptor left");
  return OPEN_INNER;
}
static void* sit(void* argument) {
  for (;;)
    pause();
  return argument;
}
OPEN(open_leaks_process) {
  if (fork() == 0) {
    (void)close_range(0, ~0U, 0);
    alarm(60);
    sit(self);
  }
  return OPEN_INNER;
}
OPEN(open_leaks_thread) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, sit, NULL) != 0)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no thread left");
  pthread_detach(thread);
  return OPEN_INNER;
}

#define FORKED(name, clause, operation, narrow, note, install, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, install, 0 }
#define MARKED PATCH(core.device_open, open_marked), PATCH(core.device_close, close_marked)

extern const mutant_t mutants_fork[];
const mutant_t mutants_fork[] = {
    FORKED("open_in_child_fails", "FRK-001", STATE, BROAD, "the child cannot open", note_maker,
           PATCH(core.device_open, open_in_child_fails)),
    FORKED("open_in_child_hangs", "FRK-001", STATE, BROAD, "the child waits for ever", note_maker,
           PATCH(core.device_open, open_in_child_hangs)),
    FORKED("open_after_fork_fails", "FRK-001", STATE, NARROW, "the parent cannot open any more",
           watch_parent, PATCH(core.device_open, open_after_fork_fails)),
    FORKED("count_starts_driver", "FRK-002", STATE, BROAD, "counting spoils the child", NULL,
           PATCH(core.device_count, count_starts_driver),
           PATCH(core.device_open, open_after_count_in_child_fails)),
    FORKED("aborts_in_child", "FRK-003", LIFETIME, BROAD, "a forked child aborts", aborts_in_child,
           MARKED),
    FORKED("aborts_in_child_with_streams", "FRK-003", LIFETIME, NARROW, "where streams were made",
           aborts_in_child_with_streams, MARKED, PATCH(stream.stream_create, stream_create_marked)),
    FORKED("hangs_at_exit_of_child", "FRK-003", LIFETIME, NARROW, "a child that exits hangs",
           hangs_at_exit_of_child, MARKED),
    FORKED("uploads_lost_after_fork", "FRK-004", STATE, BROAD, "the parent's uploads are lost",
           breaks_in_parent, MARKED, PATCH(core.upload, upload_lost_after_fork)),
    FORKED("alloc_fails_after_fork", "FRK-004", STATE, NARROW, "the parent cannot allocate",
           breaks_in_parent, MARKED, PATCH(core.memory_alloc, alloc_fails_after_fork)),
    FORKED("synchronize_fails_after_fork", "FRK-004", LIFETIME, NARROW,
           "the parent's streams end with a child", breaks_in_parent, MARKED,
           PATCH(stream.stream_synchronize, synchronize_fails_after_fork)),
    FORKED("aborts_at_exit", "TDN-007", LIFETIME, BROAD, "aborts at exit where a device is open",
           aborts_at_exit, MARKED),
    FORKED("fails_at_exit", "TDN-007", LIFETIME, BROAD, "exit status 1 where a device is open",
           fails_at_exit, MARKED),
    FORKED("hangs_at_exit", "TDN-007", LIFETIME, NARROW, "hangs at exit where streams were made",
           hangs_at_exit, MARKED, PATCH(stream.stream_create, stream_create_marked)),
    FORKED("open_leaks_descriptor", "TDN-008", LIFETIME, BROAD, "one descriptor each time", NULL,
           PATCH(core.device_open, open_leaks_descriptor)),
    FORKED("open_leaks_process", "TDN-008", LIFETIME, NARROW, "one process each time", NULL,
           PATCH(core.device_open, open_leaks_process)),
    FORKED("open_leaks_thread", "TDN-008", LIFETIME, BROAD, "one thread each time", NULL,
           PATCH(core.device_open, open_leaks_thread)),
    {0}};
