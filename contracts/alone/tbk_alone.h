/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_alone.h: what a program that tbk litmus has found needs to run by itself, beside tbk.h. It opens
 * the library, makes the streams, events and memory that the program names, runs its calls, each one
 * call of tbk.h below, and ends with 1 where what was seen is not legal, else with 0; with 2 where
 * nothing could be run.
 *
 *   cc litmus.c -I<folder of this file> -I<folder of tbk/tbk.h> -ldl -lpthread && ./a.out LIB [OPTIONS]
 */
#ifndef TBK_ALONE_H
#define TBK_ALONE_H

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk.h>
#include <tbk/tbk_operators.h>
#include <unistd.h>

/* Streams, events, cells (device memory) and slots (host memory). With two devices s3, e3 and m5 are
   of device 1; m6 and m7 are allocated in the order of a stream; the first slots are pinned. */
enum { no_stream = -1, s0, s1, s2, s3, STREAMS };
enum { e0, e1, e2, e3, EVENTS };
enum { m0, m1, m2, m3, m4, m5, m6, m7, CELLS };
enum { pinned0, pinned1, pinned2, pinned3, pinned4, pinned5, host6, host7, host8, host9, host10 };
enum { host11 = 11, SLOTS, CALLS = 64, MARKS = 8, THREADS = 3 };

/* What a program is made of; a bit for each event, cell and slot that it names. */
typedef struct {
  int devices, streams, threads, calls, rounds;
  unsigned events, cells, slots;
  size_t bytes;    /* of each cell and slot */
  size_t from, to; /* the bytes that are judged */
  char legal[256]; /* not 0: they may be this; where two looks are judged, they must be the same */
} litmus_t;
static void calls(int thread); /* all of them; each thread makes its own */
static const litmus_t litmus;
#define LITMUS(...)                             \
  static const litmus_t litmus = {__VA_ARGS__}; \
  static void calls(int thread __attribute__((unused)))

typedef struct {
  int op, mark, value, ran;
  unsigned microseconds;
  char* out;
  size_t at, bytes;
  const char* slot;
} work_t;

static const tbk_backend_t* b;
static tbk_instance_t* self;
static _Thread_local tbk_error_t error;
static tbk_stream_t* streams[STREAMS];
static tbk_event_t *events[EVENTS], *left[CALLS]; /* left: of streams that are gone */
static tbk_memory_t cells[CELLS], scratch;
static char *slots[SLOTS], *seen[3]; /* of the two looks that are judged, and of all others */
static unsigned char marks[MARKS];   /* atomic */
static work_t works[CALLS];
static int work_count, left_count, looks, other_way, done[CALLS]; /* atomic */

#define OK(call)                                                                   \
  do {                                                                             \
    tbk_status_t status = (call);                                                  \
    if (status == TBK_OK) break;                                                   \
    printf("%s answers %d: %.200s\n", #call, (int)status, error.message), exit(1); \
  } while (0)

/* The next call of this thread is about some bytes; or it is one of the looks that are judged. */
static _Thread_local size_t range_at, range_bytes;
static _Thread_local int is_judged;
#define of(at, bytes) (void)(range_at = (at), range_bytes = (bytes))
#define judged() (void)(is_judged = 1)
static inline size_t range(size_t* at) {
  const size_t bytes = range_bytes > 0 ? range_bytes : litmus.bytes;
  *at = range_bytes > 0 ? range_at : 0;
  range_bytes = 0;
  return bytes;
}
static inline char* look(void) {
  char* out = seen[is_judged ? looks++ : 2];
  is_judged = 0;
  return out;
}
#define far_stream(s) (litmus.devices > 1 && (s) == s3)
#define far_cell(m) (litmus.devices > 1 && (m) == m5)
#define on(s) ((s) < 0 ? NULL : streams[s])

static inline void fill(int m, int value, int s) {
  size_t at, n = range(&at);
  OK(b->core->fill(self, far_cell(m), cells[m], at, (uint8_t)value, n, on(s), &error));
}
static inline void upload(int m, int slot, int s) {
  size_t at, n = range(&at);
  OK(b->core->upload(self, far_cell(m), cells[m], at, slots[slot] + at, n, on(s), &error));
}
static inline void download(int slot, int m, int s) {
  size_t at, n = range(&at);
  OK(b->core->download(self, far_cell(m), slots[slot] + at, cells[m], at, n, on(s), &error));
}
static inline void copy(int to, int from, int s) {
  size_t at, n = range(&at);
  OK(b->core->copy(self, far_cell(to), cells[to], at, cells[from], at, n, on(s), &error));
}
static inline void peer_copy(int to, int from, int s) {
  size_t at, n = range(&at);
  OK(b->peer->peer_copy(self, far_cell(to), cells[to], at, far_cell(from), cells[from], at, n,
                        on(s), &error));
}
/* What a launch is given is its caller's again when it returns: nothing of it stays as it was. */
static _Thread_local tbk_tensor_t shapes[2];
static _Thread_local int64_t size, stride;
static inline tbk_tensor_t* bytes_of(int which, int m, size_t at, size_t n) {
  size = (int64_t)n, stride = 1;
  shapes[which] =
      (tbk_tensor_t){sizeof *shapes, cells[m], at + n, (int64_t)at, TBK_UINT8, 1, &size, &stride};
  return &shapes[which];
}
static inline void launch(int m, const char* name, void* arguments, size_t bytes, int s) {
  const tbk_kernel_t* kernel = b->kernel->kernel_find(self, far_cell(m), name, 1);
  OK(kernel->launch(self, far_cell(m), kernel, arguments, on(s), &error));
  memset(arguments, 0, bytes);
  memset(shapes, 0, sizeof shapes), size = stride = 0;
}
static inline void launch_fill(int m, int v, int s) {
  static _Thread_local tbk_args_fill__Scalar_t a;
  size_t at, n = range(&at);
  a = (tbk_args_fill__Scalar_t){sizeof a, bytes_of(0, m, at, n), {0, v, v, 0}};
  launch(m, "fill_.Scalar", &a, sizeof a, s);
}
static inline void launch_copy(int to, int from, int s) {
  static _Thread_local tbk_args_copy__t a;
  size_t at, n = range(&at);
  a = (tbk_args_copy__t){sizeof a, bytes_of(0, to, at, n), bytes_of(1, from, at, n), 0};
  launch(to, "copy_", &a, sizeof a, s);
}

static inline void run_callback(void* argument) {
  work_t* w = (work_t*)argument;
  __atomic_fetch_add(&w->ran, 1, __ATOMIC_RELAXED);
  if (w->op == 's') usleep(w->microseconds);
  if (w->op == 'r') memcpy(w->out + w->at, w->slot + w->at, w->bytes);
  if (w->op == 'l') *w->out = (char)__atomic_load_n(&marks[w->mark], __ATOMIC_ACQUIRE);
  if (w->op == 'm') __atomic_store_n(&marks[w->mark], (unsigned char)w->value, __ATOMIC_RELEASE);
}
static inline void enqueue(work_t work, int s) {
  work_t* w = &works[__atomic_fetch_add(&work_count, 1, __ATOMIC_RELAXED)];
  *w = work;
  OK(b->callback->callback_enqueue(self, on(s), run_callback, w, &error));
}
static inline void callback_reads(int slot, int s) {
  work_t work = {.op = 'r', .slot = slots[slot]};
  work.bytes = range(&work.at);
  work.out = look();
  enqueue(work, s);
}
static inline void callback_sets(int mark, int value, int s) {
  enqueue((work_t){.op = 'm', .mark = mark, .value = value}, s);
}
static inline void callback_looks(int mark, int s) {
  enqueue((work_t){.op = 'l', .mark = mark, .out = look()}, s);
}
static inline void callback_sleeps(unsigned microseconds, int s) {
  enqueue((work_t){.op = 's', .microseconds = microseconds}, s);
}

static inline void stream_create(int s) {
  static const int priorities[STREAMS] = {0, -1, 1, -1};
  OK(b->stream->stream_create(self, far_stream(s), priorities[s], &streams[s], &error));
}
static inline void event_create(int e) {
  OK(b->event->event_create(self, litmus.devices > 1 && e == e3, e % 2 ? TBK_EVENT_TIMING : 0,
                            &events[e], &error));
}
static inline void event_record(int e, int s) {
  OK(b->event->event_record(self, events[e], on(s), &error));
}
static inline void event_wait(int s, int e) {
  OK(b->event->event_wait(self, on(s), events[e], &error));
}
/* INVALID (EVT-016). That it is OK is no concern here. */
static inline void event_wait_of_nothing(int s) {
  const tbk_status_t answer = b->event->event_wait(self, on(s), NULL, &error);
  if (answer != TBK_INVALID) OK(answer);
}
static inline void event_synchronize(int e) {
  OK(b->event->event_synchronize(self, events[e], &error));
}
/* With another answer it is another program: it ends with 0. */
static inline void event_query(int e, tbk_status_t answer) {
  other_way |= b->event->event_query(self, events[e], &error) != answer;
}
static inline void stream_query(int s, tbk_status_t answer) {
  other_way |= b->stream->stream_query(self, on(s), &error) != answer;
}
#define UNTIL_OK(ask)               \
  do {                              \
    tbk_status_t answer = (ask);    \
    while (answer == TBK_NOT_READY) \
      answer = (ask);               \
    OK(answer);                     \
  } while (0)
static inline void event_query_until_ok(int e) {
  UNTIL_OK(b->event->event_query(self, events[e], &error));
}
static inline void stream_query_until_ok(int s) {
  UNTIL_OK(b->stream->stream_query(self, on(s), &error));
}
static inline void stream_synchronize(int s) {
  OK(b->stream->stream_synchronize(self, on(s), &error));
}
static inline void device_synchronize(int d) {
  OK(b->stream->device_synchronize(self, d, &error));
}
static inline void event_renew(int e) {
  b->event->event_destroy(self, events[e]);
  event_create(e);
}
/* What was enqueued on a stream that goes is complete when the event that is left is. */
static inline void stream_renew(int s) {
  tbk_event_t** event = &left[__atomic_fetch_add(&left_count, 1, __ATOMIC_RELAXED)];
  OK(b->event->event_create(self, far_stream(s), 0, event, &error));
  OK(b->event->event_record(self, *event, on(s), &error));
  b->stream->stream_destroy(self, on(s));
  stream_create(s);
}

static inline void async_alloc(int m, int s) {
  OK(b->async_memory->async_alloc(self, on(s), litmus.bytes, &cells[m], &error));
}
static inline void async_free(int m, int s) {
  OK(b->async_memory->async_free(self, on(s), cells[m], &error));
  cells[m] = 0;
}
static inline void memory_alloc(int m) {
  OK(b->core->memory_alloc(self, far_cell(m), litmus.bytes, &cells[m], &error));
}
static inline void memory_renew(int m) {
  OK(b->core->memory_free(self, far_cell(m), cells[m], &error));
  memory_alloc(m);
}
static inline void host_sets(int slot, int value) {
  size_t at, n = range(&at);
  memset(slots[slot] + at, value, n);
}
static inline void host_reads(int slot) {
  size_t at, n = range(&at);
  memcpy(look() + at, slots[slot] + at, n);
}
static inline void host_reads_cell(int m) {
  OK(b->core->download(self, far_cell(m), look(), cells[m], 0, litmus.bytes, NULL, &error));
}
static inline void host_looks(int mark) {
  *look() = (char)__atomic_load_n(&marks[mark], __ATOMIC_ACQUIRE);
}
static inline void host_awaits(int mark, int s) {
  while (!__atomic_load_n(&marks[mark], __ATOMIC_ACQUIRE))
    (void)!b->stream->stream_query(self, on(s), &error);
}

/* BY(thread, number, meanwhile) call: that thread makes it, when those before it have returned, or, meanwhile,
   when those of its own thread have. All threads run the whole list, and each makes its own calls. */
#define BY(by, number, meanwhile)                                   \
  for (int go = thread == (by) && may_begin(number, meanwhile); go; \
       go = 0, __atomic_store_n(&done[number], 1, __ATOMIC_SEQ_CST))
static inline void* run_thread(void* number) {
  calls((int)(intptr_t)number);
  return NULL;
}
#define is_done(number) __atomic_load_n(&done[(number) % CALLS], __ATOMIC_SEQ_CST)
static inline int may_begin(int number, int meanwhile) {
  for (int i = 0; i < number && !meanwhile; i++)
    while (!is_done(i))
      sched_yield();
  return !is_done(number);
}
typedef struct {
  int thread, number;
  pthread_t before;
} successor_t;
static successor_t successors[CALLS];
static pthread_t running[THREADS]; /* the last of each but the first: run() joins it */
static inline void* succeed(void* argument) {
  const successor_t* successor = (const successor_t*)argument;
  pthread_join(successor->before, NULL);
  __atomic_store_n(&done[successor->number], 1, __ATOMIC_SEQ_CST);
  calls(successor->thread);
  return NULL;
}
/* Nothing may follow in the thread that calls it. */
static inline void thread_renew(int thread, int number) {
  successors[number] = (successor_t){thread, number, pthread_self()};
  if (pthread_create(&running[thread], NULL, succeed, &successors[number])) exit(2);
}
static inline void all_complete(void) {
  for (int i = 0; i < litmus.calls; i++)
    while (!is_done(i))
      sched_yield();
  for (int i = 0; i < left_count; i++)
    OK(b->event->event_synchronize(self, left[i], &error));
  for (int s = 0; s < litmus.streams; s++)
    stream_synchronize(s);
  for (int device = 0; device < litmus.devices; device++)
    device_synchronize(device);
}
static inline void make_slot(int slot) {
  void* memory = NULL;
  if (slot < host6 && b->pinned)
    OK(b->pinned->pinned_alloc(self, 0, litmus.bytes, &memory, &error));
  slots[slot] = memory ? (char*)memory : (char*)malloc(litmus.bytes);
}
static inline void make_cell(int m) {
  memory_alloc(m);
  memset(seen[0], 1 + m, litmus.bytes);
  OK(b->core->upload(self, far_cell(m), cells[m], 0, seen[0], litmus.bytes, NULL, &error));
}
static inline void open_all(void) {
  for (int device = 0; device < litmus.devices; device++)
    OK(b->core->device_open(self, device, &error));
  for (int i = 0; i < 3; i++)
    seen[i] = (char*)malloc(litmus.bytes);
  OK(b->core->memory_alloc(self, 0, litmus.bytes, &scratch, &error));
  for (int slot = 0; slot < SLOTS; slot++)
    if (litmus.slots >> slot & 1) make_slot(slot);
}
static inline void make_all(void) {
  for (int slot = 0; slot < SLOTS; slot++)
    if (litmus.slots >> slot & 1) memset(slots[slot], 16 + slot, litmus.bytes);
  for (int m = 0; m < m6; m++)
    if (litmus.cells >> m & 1) make_cell(m);
  for (int s = 0; s < litmus.streams; s++)
    stream_create(s);
  for (int e = 0; e < EVENTS; e++)
    if (litmus.events >> e & 1) event_create(e);
}
/* Returns whether something is not legal, and says what. */
static inline int is_wrong(void) {
  for (int i = 0; i < work_count; i++)
    if (works[i].ran != 1) return printf("a callback ran %d times\n", works[i].ran);
  for (size_t i = litmus.from; i < litmus.to && looks > 0 && !other_way; i++) {
    const int value = (unsigned char)seen[0][i], other = (unsigned char)seen[1][i];
    if (looks > 1 ? value == other : litmus.legal[value]) continue;
    return printf("byte %zu is 0x%02x%s\n", i, value, looks > 1 ? ", and something else" : "");
  }
  return 0;
}
static inline void give_back(void) {
  for (int m = m6; m < CELLS; m++)
    if (cells[m]) (void)!b->async_memory->async_free(self, on(s0), cells[m], &error), cells[m] = 0;
  all_complete();
  for (int i = 0; i < left_count; i++)
    b->event->event_destroy(self, left[i]);
  for (int e = 0; e < EVENTS; e++)
    if (litmus.events >> e & 1) b->event->event_destroy(self, events[e]);
  for (int s = 0; s < litmus.streams; s++)
    b->stream->stream_destroy(self, streams[s]);
  for (int m = 0; m < m6; m++)
    if (litmus.cells >> m & 1) OK(b->core->memory_free(self, far_cell(m), cells[m], &error));
  work_count = left_count = looks = other_way = 0;
  memset(marks, 0, sizeof marks);
  memset(done, 0, sizeof done);
}
/* Before a round, so that another call than in the last one is the third one, and finds work pending or not. */
static inline void make_other_calls(int count) {
  for (int i = 0; i < count; i++) {
    OK(b->core->download(self, 0, seen[2], scratch, 0, litmus.bytes, on(s0), &error));
    (void)!b->stream->stream_query(self, on(s0), &error);
  }
  stream_query_until_ok(s0);
}
/* Returns whether it shows. */
static inline int run(int round) {
  make_all();
  if (litmus.streams > 0 && round > 0) make_other_calls(round % 64);
  for (int i = 1; i < litmus.threads; i++)
    if (pthread_create(&running[i], NULL, run_thread, (void*)(intptr_t)i)) exit(2);
  calls(0);
  all_complete();
  for (int i = 1; i < litmus.threads; i++)
    pthread_join(running[i], NULL);
  const int wrong = is_wrong();
  if (!wrong) give_back();
  return wrong;
}
int main(int argc, char** argv) {
  tbk_host_t host = {.struct_size = sizeof host, .abi_version = TBK_ABI_VERSION};
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  host.options = argc > 2 ? argv[2] : NULL;
  tbk_backend_create_fn create =
      library ? (tbk_backend_create_fn)dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
  if (!create) return fprintf(stderr, "usage: %s LIB [OPTIONS]\n", argv[0]), 2;
  OK(create(&host, &b, &error));
  self = b->instance;
  open_all();
  const int rounds = litmus.rounds > 0 ? litmus.rounds : 12; /* a file of an earlier release */
  for (int round = 0; round < rounds; round++)
    if (run(round)) return 1;
  return puts("as it should be"), 0;
}

#endif /* TBK_ALONE_H */
