/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback.c: both styles of callbacks: on a thread of the driver's, and as reports to a thread of the
 * program's.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#include "simulator.h"

/* A thread that takes reports; guarded by its own lock, which is taken while sim.lock is held, never
 * the other way round. It is never freed: a thread that has ended may be named again. */
struct sim_reporter {
  LIST_ENTRY(sim_reporter) entry;
  uint64_t thread;
  sim_context_t* context; /* of its streams; any, where it has none */
  int streams;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  STAILQ_HEAD(, report) reports;
};

static LIST_HEAD(, sim_reporter) reporters = LIST_HEAD_INITIALIZER(reporters); /* sim.lock */

typedef struct report {
  STAILQ_ENTRY(report) entry;
  void (*function)(void*);
  void* argument;
  bool* called; /* for who waits; NULL: nobody */
} report_t;

typedef struct call {
  sim_task_t task;
  void (*function)(void*);
  void* argument;
  bool blocks;
  sim_reporter_t* reporter; /* NULL: a thread of the driver's calls it */
} call_t;

static void run_call(sim_task_t* task) {
  const call_t* call = (const call_t*)task;
  sim_run_host_function(call->function, call->argument);
}

/* Sets the style of the stream's callbacks; false where it has the other one. */
static bool set_style(sim_object_t* stream, int style) {
  if (stream == NULL) return true; /* the default stream is not watched */
  pthread_mutex_lock(&sim.lock);
  sim_stream_t* own = &stream->as.stream;
  bool fits = own->style == NEITHER || (int)own->style == style;
  if (own->style == NEITHER) own->style = style == HOST_FUNCTION ? HOST_FUNCTION : REPORT;
  pthread_mutex_unlock(&sim.lock);
  return fits;
}

acl_result api_launch_host_function(acl_stream stream, void (*function)(void*), void* argument) {
  static const char call_name[] = "aclrtLaunchHostFunc";
  sim_queue_t queue;
  acl_result result = sim_begin_on_stream(stream, call_name, &queue);
  if (result != ACL_OK) return result;
  if (function == NULL) return sim_broken(SIM_NULL_POINTER, call_name);
  if (!set_style(queue.stream, HOST_FUNCTION)) return sim_broken(SIM_MIXED, call_name);
  const call_t call = {.function = function, .argument = argument};
  return sim_submit(&queue, sim_task_new(&call, sizeof call, run_call));
}

/* Hands it to the thread, and waits for it where the stream does. */
static void run_report(sim_task_t* task) {
  const call_t* call = (const call_t*)task;
  sim_reporter_t* reporter = call->reporter;
  report_t* report = malloc(sizeof *report);
  bool called = false;
  if (report == NULL) {
    sim_fail(&task->queue, ACL_BAD_ALLOC);
    return;
  }
  *report = (report_t){.function = call->function, .argument = call->argument};
  if (call->blocks) report->called = &called;
  pthread_mutex_lock(&reporter->lock);
  STAILQ_INSERT_TAIL(&reporter->reports, report, entry);
  pthread_cond_broadcast(&reporter->changed);
  while (call->blocks && !called)
    pthread_cond_wait(&reporter->changed, &reporter->lock);
  pthread_mutex_unlock(&reporter->lock);
}

/* Returns who takes the stream's reports; NULL where nobody does. */
static sim_reporter_t* subscribed(const sim_object_t* stream) {
  if (stream == NULL) return NULL;
  pthread_mutex_lock(&sim.lock);
  sim_reporter_t* reporter = stream->as.stream.reporter;
  pthread_mutex_unlock(&sim.lock);
  return reporter;
}

acl_result api_launch_callback(void (*function)(void*), void* argument, int block,
                               acl_stream stream) {
  static const char call_name[] = "aclrtLaunchCallback";
  sim_queue_t queue;
  acl_result result = sim_begin_on_stream(stream, call_name, &queue);
  if (result != ACL_OK) return result;
  if (function == NULL) return sim_broken(SIM_NULL_POINTER, call_name);
  if (block != ACL_CALLBACK_NO_BLOCK && block != ACL_CALLBACK_BLOCK)
    return sim_broken(SIM_FLAGS, call_name);
  sim_reporter_t* reporter = subscribed(queue.stream);
  if (reporter == NULL) return sim_broken(SIM_NO_REPORT, call_name);
  if (!set_style(queue.stream, REPORT)) return sim_broken(SIM_MIXED, call_name);
  const call_t call = {.function = function,
                       .argument = argument,
                       .blocks = block == ACL_CALLBACK_BLOCK,
                       .reporter = reporter};
  return sim_submit(&queue, sim_task_new(&call, sizeof call, run_report));
}

/* Finds the thread, or makes what stands for it; NULL without host memory. sim.lock is held. */
static sim_reporter_t* reporter_of(uint64_t thread, bool make) {
  sim_reporter_t* reporter;
  LIST_FOREACH(reporter, &reporters, entry) if (reporter->thread == thread) return reporter;
  reporter = make ? calloc(1, sizeof *reporter) : NULL;
  if (reporter == NULL) return NULL;
  reporter->thread = thread;
  pthread_mutex_init(&reporter->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&reporter->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  STAILQ_INIT(&reporter->reports);
  LIST_INSERT_HEAD(&reporters, reporter, entry);
  return reporter;
}

acl_result api_subscribe_report(uint64_t thread, acl_stream stream) {
  static const char call[] = "aclrtSubscribeReport";
  sim_queue_t queue;
  acl_result result = sim_begin_on_stream(stream, call, &queue);
  if (result != ACL_OK) return result;
  if (queue.stream == NULL) return sim_broken(SIM_DEFAULT_STREAM, call);
  pthread_mutex_lock(&sim.lock);
  sim_reporter_t* reporter = reporter_of(thread, true);
  sim_reporter_t** own = &queue.stream->as.stream.reporter;
  bool fits = reporter != NULL && *own == NULL &&
              (reporter->streams == 0 || reporter->context == queue.context);
  if (fits) {
    *own = reporter;
    reporter->streams++;
    reporter->context = queue.context;
  }
  pthread_mutex_unlock(&sim.lock);
  if (reporter == NULL) return sim_no_memory();
  return fits ? ACL_OK : sim_broken(SIM_SUBSCRIBED, call);
}

bool sim_report_forget(sim_object_t* stream) {
  pthread_mutex_lock(&sim.lock);
  sim_reporter_t** own = &stream->as.stream.reporter;
  bool any = *own != NULL;
  if (any) (*own)->streams--;
  *own = NULL;
  pthread_mutex_unlock(&sim.lock);
  return any;
}

acl_result api_unsubscribe_report(uint64_t thread, acl_stream stream) {
  static const char call[] = "aclrtUnSubscribeReport";
  sim_queue_t queue;
  sim_context_t* context;
  acl_result result =
      sim_begin_in_context(call, &context); /* a stopped context lets go of threads */
  if (result == ACL_OK) result = sim_object_find(stream, SIM_STREAM, call, &queue.stream);
  if (result != ACL_OK) return result;
  const sim_reporter_t* reporter = subscribed(queue.stream);
  if (reporter == NULL || reporter->thread != thread) return sim_broken(SIM_SUBSCRIBED, call);
  (void)sim_report_forget(queue.stream);
  return ACL_OK;
}

static struct timespec after_ms(int32_t ms) {
  enum { MS = 1000, NS = 1000000000 };
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_nsec += (long)(ms % MS) * (NS / MS);
  time.tv_sec += ms / MS + time.tv_nsec / NS;
  time.tv_nsec %= NS;
  return time;
}

/* Takes the next report; NULL where none came in time. */
static report_t* take(sim_reporter_t* reporter, int32_t timeout_ms) {
  struct timespec end = after_ms(timeout_ms < 0 ? 0 : timeout_ms);
  int waited = 0;
  pthread_mutex_lock(&reporter->lock);
  while (STAILQ_EMPTY(&reporter->reports) && waited != ETIMEDOUT)
    waited = timeout_ms < 0 ? pthread_cond_wait(&reporter->changed, &reporter->lock)
                            : pthread_cond_timedwait(&reporter->changed, &reporter->lock, &end);
  report_t* report = STAILQ_FIRST(&reporter->reports);
  if (report != NULL) STAILQ_REMOVE_HEAD(&reporter->reports, entry);
  pthread_mutex_unlock(&reporter->lock);
  return report;
}

/* Calls what is to be called, on the thread that asks. */
acl_result api_process_report(int32_t timeout_ms) {
  static const char call[] = "aclrtProcessReport";
  acl_result result = sim_begin(call);
  if (result != ACL_OK) return result;
  if (timeout_ms < -1) return sim_broken(SIM_FLAGS, call);
  pthread_mutex_lock(&sim.lock);
  sim_reporter_t* reporter = reporter_of((uint64_t)pthread_self(), true);
  pthread_mutex_unlock(&sim.lock);
  if (reporter == NULL) return sim_no_memory();
  report_t* report = take(reporter, timeout_ms);
  if (report == NULL) return sim_refuse(ACL_REPORT_TIMEOUT, "no report came in time");
  sim_run_host_function(report->function, report->argument);
  pthread_mutex_lock(&reporter->lock);
  if (report->called != NULL) *report->called = true;
  pthread_cond_broadcast(&reporter->changed);
  pthread_mutex_unlock(&reporter->lock);
  free(report);
  return ACL_OK;
}
