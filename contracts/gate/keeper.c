/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "keeper.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define SECOND_NS UINT64_C(1000000000)
#define AGAIN_NS UINT64_C(1000000)    /* while a call of close has not returned */
#define STANDSTILL_NS (SECOND_NS / 2) /* more than that between two looks is not counted */

static struct {
  const tbk_gate_t* gate;
  int64_t* inside;
  int64_t nobody; /* looks */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pid_t process; /* that has the thread */
  bool closing;  /* the library's close has not returned */
  bool shut;
  bool early; /* it was let go before that */
  uint64_t open_at_ns;
  bool failed;
  char message[256]; /* of opening */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/*
 * The clock of patience: it counts no time in which this process was stopped, or frozen with its
 * container. Whoever waits by it looks often. The lock is held.
 */
static uint64_t awake_ns(void) {
  static uint64_t seen_ns, counted_ns;
  const uint64_t now = monotonic_ns(), gone = now - seen_ns;
  counted_ns += gone < STANDSTILL_NS ? gone : STANDSTILL_NS;
  seen_ns = now;
  return counted_ns;
}

static void enter(int64_t change) {
  __atomic_add_fetch(self.inside, change, __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------------------- the library -- */

static int32_t refuse(char message[KEEPER_MESSAGE], const char* path, const char* why) {
  snprintf(message, KEEPER_MESSAGE, "the gate %.200s %.250s", path, why);
  return KEEPER_FAILED;
}

static const char* fault_of(const tbk_gate_t* gate) {
  if (gate == NULL) return "does not serve this version of tbk/gate.h";
  if (gate->struct_size < offsetof(tbk_gate_t, call)) return "has a table that is cut short";
  if (gate->version < 1) return "has a table without a version";
  if (gate->close == NULL || gate->open == NULL) return "lacks close or open";
  return NULL;
}

static const tbk_gate_t* ask(void* library) {
  tbk_gate_fn entry;
  void* symbol = dlsym(library, TBK_GATE_SYMBOL);
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast for it */
  return entry != NULL ? entry(TBK_GATE_VERSION) : NULL;
}

PUBLIC int32_t tbk_keeper_load(const char* path, int64_t* inside, char message[KEEPER_MESSAGE]) {
  self.inside = inside != NULL ? inside : &self.nobody;
  enter(1);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char* why = library == NULL ? dlerror() : NULL;
  const bool is_gate = library != NULL && dlsym(library, TBK_GATE_SYMBOL) != NULL;
  const tbk_gate_t* gate = is_gate ? ask(library) : NULL;
  enter(-1);
  if (library == NULL) {
    char text[256];
    snprintf(text, sizeof text, "cannot be loaded: %.230s", why);
    return refuse(message, path, text);
  }
  if (!is_gate) return refuse(message, path, "is none: it has no symbol " TBK_GATE_SYMBOL);
  if (fault_of(gate) != NULL) return refuse(message, path, fault_of(gate));
  self.gate = gate;
  return 0;
}

PUBLIC const char* tbk_keeper_name(void) {
  return self.gate != NULL && self.gate->name != NULL ? self.gate->name : "";
}

/* -------------------------------------------------------------------------------- the thread -- */

static void wait_for(uint64_t left_ns) {
  const uint64_t most = STANDSTILL_NS / 4;
  const uint64_t when = monotonic_ns() + (left_ns < most ? left_ns : most);
  const struct timespec until = {(time_t)(when / SECOND_NS), (long)(when % SECOND_NS)};
  pthread_cond_timedwait(&self.changed, &self.lock, &until);
}

/* The lock is held, but not while the library is called. */
static void open_gate(void) {
  self.early = self.early || self.closing; /* before: the call ends as soon as it is open */
  pthread_mutex_unlock(&self.lock);
  enter(1);
  char message[256] = "";
  const int32_t result = self.gate->open(message);
  enter(-1);
  pthread_mutex_lock(&self.lock);
  self.failed = self.failed || result != 0;
  if (result != 0) snprintf(self.message, sizeof self.message, "%.*s", 255, message);
}

static void* keep(void* unused) {
  pthread_mutex_lock(&self.lock);
  for (;;) {
    while (!self.shut)
      pthread_cond_wait(&self.changed, &self.lock);
    for (uint64_t now = awake_ns(); now < self.open_at_ns; now = awake_ns())
      wait_for(self.open_at_ns - now);
    const bool closing = self.closing; /* what is opened before it was shut is not open */
    open_gate();
    self.open_at_ns = awake_ns() + AGAIN_NS;
    self.shut = closing;
    pthread_cond_broadcast(&self.changed);
  }
  return unused;
}

/* A child that was forked has no threads but one, and what they held. The lock is free. */
static bool has_thread(void) {
  if (self.process == getpid()) return true;
  pthread_condattr_t attributes;
  pthread_t thread;
  pthread_mutex_init(&self.lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&self.changed, &attributes);
  pthread_condattr_destroy(&attributes);
  self.shut = self.closing = self.failed = false;
  if (pthread_create(&thread, NULL, keep, NULL) != 0) return false;
  pthread_detach(thread);
  self.process = getpid();
  return true;
}

/* ---------------------------------------------------------------------------------- the host -- */

static int32_t told(char message[KEEPER_MESSAGE], const char* what, const char* text) {
  snprintf(message, KEEPER_MESSAGE, "the gate could not be %s%s%.250s", what,
           *text != '\0' ? ": " : "", text);
  return KEEPER_FAILED;
}

static void let_go(uint64_t at_ns) {
  if (at_ns < self.open_at_ns) self.open_at_ns = at_ns;
  pthread_cond_broadcast(&self.changed);
}

/* The lock is held. */
static int32_t settle(char message[KEEPER_MESSAGE]) {
  while (self.shut)
    pthread_cond_wait(&self.changed, &self.lock);
  return self.failed ? told(message, "opened", self.message) : 0;
}

static int32_t end_closing(int32_t result, const char* text, char message[KEEPER_MESSAGE]) {
  pthread_mutex_lock(&self.lock);
  self.closing = false;
  const bool early = self.early;
  if (result != 0) let_go(awake_ns());
  pthread_mutex_unlock(&self.lock);
  if (result != 0) return told(message, "closed", text);
  return early ? KEEPER_SYNCHRONOUS : KEEPER_SHUT;
}

PUBLIC int32_t tbk_keeper_close(int32_t device, void* stream, uint64_t most_ns,
                                char message[KEEPER_MESSAGE]) {
  char text[256] = "";
  if (!has_thread()) return told(message, "kept", "there is no thread to be had");
  pthread_mutex_lock(&self.lock);
  let_go(awake_ns());
  const int32_t settled = settle(message);
  self.closing = self.shut = settled == 0;
  self.early = false;
  self.open_at_ns = awake_ns() + most_ns;
  pthread_cond_broadcast(&self.changed);
  pthread_mutex_unlock(&self.lock);
  if (settled != 0) return settled;
  enter(1);
  const int32_t result = self.gate->close(device, stream, text);
  enter(-1);
  text[sizeof text - 1] = '\0';
  return end_closing(result, text, message);
}

PUBLIC void tbk_keeper_let_go(uint64_t after_ns) {
  if (self.process != getpid()) return;
  pthread_mutex_lock(&self.lock);
  let_go(awake_ns() + after_ns);
  pthread_mutex_unlock(&self.lock);
}

PUBLIC void tbk_keeper_stay(uint64_t for_ns) {
  if (self.process != getpid()) return;
  pthread_mutex_lock(&self.lock);
  self.open_at_ns = awake_ns() + for_ns;
  pthread_mutex_unlock(&self.lock);
}

PUBLIC bool tbk_keeper_is_shut(void) {
  if (self.process != getpid()) return false;
  pthread_mutex_lock(&self.lock);
  const bool shut = self.shut;
  pthread_mutex_unlock(&self.lock);
  return shut;
}

/* ------------------------------------------------------------------------------------- marks -- */

static int32_t passed[KEEPER_MARKS]; /* atomic: how often */
static uint32_t made;                /* atomic */

static void pass(void* mark) {
  __atomic_add_fetch((int32_t*)mark, 1, __ATOMIC_RELEASE);
}

PUBLIC bool tbk_keeper_has_marks(void) {
  const size_t end = offsetof(tbk_gate_t, call) + sizeof self.gate->call;
  return self.gate != NULL && self.gate->struct_size >= end && self.gate->call != NULL;
}

PUBLIC int32_t tbk_keeper_mark(int32_t device, void* stream, char message[KEEPER_MESSAGE]) {
  const uint32_t mark = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) % KEEPER_MARKS;
  char text[256] = "";
  __atomic_store_n(&passed[mark], 0, __ATOMIC_RELAXED);
  enter(1);
  const int32_t result = self.gate->call(device, stream, pass, &passed[mark], text);
  enter(-1);
  text[sizeof text - 1] = '\0';
  return result == 0 ? (int32_t)mark : told(message, "passed", text);
}

PUBLIC int32_t tbk_keeper_passed(int32_t mark) {
  return __atomic_load_n(&passed[mark], __ATOMIC_ACQUIRE);
}

PUBLIC int32_t tbk_keeper_settle(char message[KEEPER_MESSAGE]) {
  if (self.process != getpid()) return 0;
  pthread_mutex_lock(&self.lock);
  const int32_t result = settle(message);
  pthread_mutex_unlock(&self.lock);
  return result;
}
