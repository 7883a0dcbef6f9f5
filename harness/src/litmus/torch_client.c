/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * torch_client.c: a worker's side. It ends as its child ends, so that the parent sees no difference
 * to a worker that has the library in its own process.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torch.h"
#include "torch_parts.h"

enum { LOOK_MS = 2, FOR_EVER = -1 };
/* Beside what its calls cost, it costs little that threads make them in turns. */
enum { THREADS_IN = 6 };

static struct {
  int job;
  hunt_shared_t* shared;
} self;

/* The child is gone: so is this process, in the same way. */
static _Noreturn void end_likewise(void) {
  wire_word_t word = {0, 0};
  do
    if (!torch_hear(self.shared, FOR_EVER, &word)) _exit(EXIT_FAILURE); /* and the server is */
  while (word.what != WIRE_ENDED);
  if (WIFSIGNALED(word.value)) {
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)signal(WTERMSIG(word.value), SIG_DFL);
    (void)raise(WTERMSIG(word.value));
  }
  _exit(WEXITSTATUS(word.value));
}

/* Meanwhile the parent sees the child's steps as this process's. */
static void receive(void* out, size_t size) {
  const wire_page_t* page = torch_memory();
  struct pollfd one = {self.job, POLLIN, 0};
  int ready = 0;
  while (ready <= 0) {
    ready = poll(&one, 1, LOOK_MS);
    self.shared->progress.call = (int32_t)page->call;
    self.shared->progress.steps = (uint64_t)page->steps;
    self.shared->in_gate = page->in_gate > 0;
  }
  if (recv(self.job, out, size, 0) != (ssize_t)size) end_likewise();
}

/* What the gate does is nothing that the device did. */
static _Noreturn void end_for_gate(const wire_reply_t* reply) {
  snprintf(self.shared->reason, sizeof self.shared->reason, "%.*s", (int)sizeof reply->message,
           reply->message);
  self.shared->state = HUNT_BAD_LIBRARY;
  _exit(EXIT_SUCCESS);
}

static uint8_t* room(int number) {
  return (uint8_t*)torch_memory() + WIRE_ROOMS_AT + (size_t)number * WIRE_ROOM;
}

static void take_seen(const litmus_program_t* program, const wire_reply_t* reply,
                      litmus_seen_t* out_seen) {
  out_seen->answered = reply->answered;
  for (uint32_t i = 0; i < program->count; i++) {
    const int id = program->calls[i].id;
    if (reply->looked >> id & 1) out_seen->by_call[id] = room(id);
  }
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    if (reply->cells >> cell & 1) out_seen->cells[cell] = room(WIRE_ROOM_OF_CELLS + cell);
  for (int slot = 0; slot < LITMUS_SLOTS; slot++)
    out_seen->slots[slot] = room(WIRE_ROOM_OF_SLOTS + slot);
}

static void run_program(void* unused, const litmus_program_t* program, litmus_result_t* out_result,
                        litmus_seen_t* out_seen) {
  (void)unused;
  static wire_request_t request;
  wire_reply_t reply;
  request.count = program->count;
  request.devices = program->devices;
  request.size_bytes = program->size_bytes;
  request.patience_ns = self.shared->progress.patience_ns;
  memcpy(request.calls, program->calls, sizeof request.calls);
  *out_result = (litmus_result_t){.call = -1};
  memset(out_seen, 0, sizeof *out_seen);
  if (send(self.job, &request, sizeof request, MSG_NOSIGNAL) != sizeof request) end_likewise();
  receive(&reply, sizeof reply);
  if (reply.outcome == WIRE_GATE_FAILED) end_for_gate(&reply);
  out_result->outcome = (litmus_outcome_t)reply.outcome;
  out_result->call = reply.call;
  out_result->answered = reply.answered;
  memcpy(out_result->message, reply.message, sizeof reply.message);
  out_result->message[sizeof out_result->message - 1] = '\0';
  take_seen(program, &reply, out_seen);
}

static void close_job(void* unused) {
  (void)unused;
  close(self.job);
}

static void take_offers(const wire_hello_t* hello, litmus_offers_t* out_offers) {
  *out_offers = (litmus_offers_t){.torch = true,
                                  .devices = (uint32_t)hello->devices,
                                  .granularity = 1,
                                  .most_bytes = WIRE_ROOM,
                                  .fill = true,
                                  .pinned = hello->pinned != 0,
                                  .peer = hello->devices > 1,
                                  .autograd = hello->autograd != 0,
                                  .gradients = hello->gradients != 0,
                                  .cache = hello->cache != 0,
                                  .callback = hello->marks != 0,
                                  .threads = LITMUS_THREADS,
                                  .threads_in = THREADS_IN,
                                  .async_memory = true,
                                  .cross_device_wait = hello->devices > 1,
                                  .delays = true,
                                  .bytes_per_us = (uint32_t)hello->bytes_per_us};
}

bool torch_open(const hunt_subject_t* subject, hunt_shared_t* shared,
                hunt_executor_t* out_executor) {
  (void)subject;
  int ends[2];
  wire_hello_t hello;
  wire_page_t* page = torch_memory();
  *out_executor = (hunt_executor_t){NULL, run_program, close_job};
  self.shared = shared;
  page->call = -1;
  page->in_gate = 0;
  shared->executor = 0;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) _exit(EXIT_FAILURE);
  shared->awaited = 1;
  if (!torch_ask(ends[1])) _exit(EXIT_FAILURE);
  close(ends[1]);
  self.job = ends[0];
  receive(&hello, sizeof hello);
  if (hello.state == HUNT_RUNNING) {
    take_offers(&hello, &shared->offers);
    shared->gate = hello.gate != 0;
    return true;
  }
  snprintf(shared->reason, sizeof shared->reason, "%.*s", (int)sizeof hello.reason, hello.reason);
  shared->state = hello.state;
  return false;
}
