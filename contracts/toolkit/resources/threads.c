/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "threads.h"

#include "resources.h"
#include "wait.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tbk_thread {
  pthread_t id;
  void (*function)(void* argument);
  void* argument;
  atomic_int done;
  bool joined; /* by fx_join: it stays in the resources until the test is over */
};

static void* run(void* self) {
  tbk_thread_t* thread = self;
  thread->function(thread->argument);
  tbk_word_set(&thread->done, 1);
  return NULL;
}

tbk_thread_t* tbk_thread_start(void (*function)(void* argument), void* argument) {
  tbk_thread_t* thread = calloc(1, sizeof *thread);
  if (thread == NULL) abort();
  thread->function = function;
  thread->argument = argument;
  if (pthread_create(&thread->id, NULL, run, thread) == 0) return thread;
  free(thread);
  return NULL;
}

bool tbk_thread_end(tbk_thread_t* thread, uint64_t timeout_ns) {
  if (!thread->joined && !tbk_word_wait(&thread->done, timeout_ns)) return false;
  if (!thread->joined) pthread_join(thread->id, NULL);
  free(thread);
  return true;
}

tbk_thread_t* fx_thread(tbk_fixture_t* fx, void (*function)(void* argument), void* argument) {
  tbk_thread_t* thread = tbk_thread_start(function, argument);
  tbk_suite_require(thread != NULL, TBK_HERE("pthread_create for a thread of the test"));
  tbk_list_append(&fx->resources->threads, &thread);
  return thread;
}

void fx_join(tbk_fixture_t* fx, tbk_thread_t* thread) {
  (void)fx;
  if (thread->joined) return;
  if (tbk_word_wait(&thread->done, FX_PATIENCE_NS)) {
    pthread_join(thread->id, NULL);
    thread->joined = true;
    return;
  }
  tbk_record_failure(TBK_HERE("fx_join"), "the thread ends",
                     "it is still in a call after %d seconds",
                     (int)(FX_PATIENCE_NS / UINT64_C(1000000000)));
  tbk_leave();
}

bool fx_thread_done(tbk_thread_t* thread) {
  return atomic_load(&thread->done) != 0;
}

bool tbk_thread_sleeps(int thread_id) {
  char path[48], text[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread_id);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* name_end = strrchr(text, ')');
  return name_end != NULL && strncmp(name_end, ") S", 3) == 0;
}
