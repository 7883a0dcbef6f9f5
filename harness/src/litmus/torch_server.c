/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * torch_server.c: the server's process, its children's lives, and the memory that all share.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "python_settings.h"
#include "torch.h"
#include "torch_parts.h"

enum { SETTLE_MS = 20000, WORDS = 18 + 2 * HUNT_IMPORTS };

static struct {
  pid_t pid;
  int control;
  void* memory;
} self;

#define NAME(name, text, torch) #name " "
/* What torch_worker/litmus_wire.py needs to know of the programs. */
static const char names[] = LITMUS_OP_MAP(NAME);

static void command_line(const hunt_subject_t* subject, const char* words[WORDS]) {
  unsigned at = 0;
  words[at++] = subject->python;
  words[at++] = "-m";
  words[at++] = "tbk_harness.torch_worker";
  words[at++] = "litmus";
  if (subject->device != NULL) {
    words[at++] = "--device";
    words[at++] = subject->device;
  }
  for (unsigned i = 0; i < subject->import_count; i++) {
    words[at++] = "--import";
    words[at++] = subject->imports[i];
  }
  if (subject->library != NULL) {
    words[at++] = "--library";
    words[at++] = subject->library;
  }
  if (subject->options != NULL) {
    words[at++] = "--option";
    words[at++] = subject->options;
  }
  if (subject->gate != NULL) {
    words[at++] = "--gate";
    words[at++] = subject->gate;
  }
  words[at++] = "--operations";
  words[at++] = names;
  words[at] = NULL;
}

static _Noreturn void become_server(const hunt_subject_t* subject, int control, int page) {
  const char* words[WORDS];
  command_line(subject, words);
  (void)setsid();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; number++)
    (void)signal(number, SIG_DFL);
  int high_control = fcntl(control, F_DUPFD, WIRE_PAGE + 1);
  int high_page = fcntl(page, F_DUPFD, WIRE_PAGE + 1), nothing = open("/dev/null", O_RDONLY);
  (void)dup2(nothing, STDIN_FILENO);
  (void)dup2(STDERR_FILENO, STDOUT_FILENO);
  (void)dup2(high_control, WIRE_CONTROL);
  (void)dup2(high_page, WIRE_PAGE);
  (void)close_range(WIRE_PAGE + 1, ~0U, 0);
  tbk_python_settings_drop();
  (void)execvp(words[0], (char* const*)(uintptr_t)words);
  fprintf(stderr, "tbk-litmus: %s: %s\n", words[0], strerror(errno));
  _exit(EXIT_FAILURE);
}

bool torch_serve(const hunt_subject_t* subject) {
  int ends[2], page = memfd_create("tbk-litmus", MFD_CLOEXEC);
  if (page < 0 || ftruncate(page, (off_t)WIRE_BYTES) != 0) return false;
  self.memory = mmap(NULL, WIRE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (self.memory == MAP_FAILED) return false;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  fflush(NULL);
  self.pid = fork();
  if (self.pid == 0) become_server(subject, ends[1], page);
  close(ends[1]);
  close(page);
  self.control = ends[0];
  return self.pid > 0;
}

pid_t torch_server(void) {
  return self.pid;
}

void torch_end(void) {
  if (self.pid <= 0) return;
  kill(self.pid, SIGKILL);
  while (waitpid(self.pid, NULL, 0) < 0 && errno == EINTR)
    continue;
}

void* torch_memory(void) {
  return self.memory;
}

bool torch_ask(int job) {
  char byte = 0;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.room = {0}};
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.room,
                           .msg_controllen = sizeof control.room};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof job);
  memcpy(CMSG_DATA(header), &job, sizeof job);
  return sendmsg(self.control, &message, MSG_NOSIGNAL) == 1;
}

bool torch_hear(hunt_shared_t* shared, int wait_ms, wire_word_t* out_word) {
  struct pollfd one = {self.control, POLLIN, 0};
  if (poll(&one, 1, wait_ms) <= 0) return false;
  if (recv(self.control, out_word, sizeof *out_word, 0) != sizeof *out_word) return false;
  if (out_word->what == WIRE_CHILD) shared->executor = out_word->value;
  if (out_word->what == WIRE_ENDED) shared->awaited = 0;
  return true;
}

/* What was told to the worker before it ended, it has noted. */
void torch_settle(hunt_shared_t* shared) {
  wire_word_t word;
  while (shared->awaited) {
    if (shared->executor > 0) kill(shared->executor, SIGKILL);
    if (!torch_hear(shared, SETTLE_MS, &word)) return;
  }
}
