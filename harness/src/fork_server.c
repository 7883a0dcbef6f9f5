/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fork_server.c: see fork_server.h.
 */
#include "fork_server.h"
#include "text.h"

#include "clock.h"
#include "contract.h"
#include "python_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

enum { SOCKET = 3, ABOVE = 10, MOST_BYTES = 65536, MOST_FILES = 5 };

/* Importing PyTorch and collecting, on a slow disk; and an answer of one that is ready. The first one
   waits besides for a child that imports the modules early, as long as opening may take. */
static const uint64_t start_ns = UINT64_C(180000000000), answer_ns = UINT64_C(60000000000);

static struct {
  const tbk_options_t* options;
  pid_t pid;
  int socket;
  int output;     /* what it prints, in memory */
  json_t* tests;  /* as it said them; the plan points into this */
  json_t* suite;  /* the same */
  json_t* held;   /* what it was told, for the next one */
  uint32_t* plan; /* for each item, the number of the test */
  size_t planned;
  bool told, warm;
} self = {.socket = -1, .output = -1};

/* ----------------------------------------------------------------------------------- start --- */

/* libtbk_launcher.so lies beside the programs, as it is built and as it is installed. */
static void launcher_library(char* out, size_t size) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  for (int i = 0; i < 2; i++) {
    char* slash = strrchr(path, '/');
    if (slash != NULL) *slash = '\0';
  }
  tbk_print(out, size, "%.4000s/lib/libtbk_launcher.so", path);
}

static size_t add_words(const char** words, size_t at, const char* name,
                        const tbk_words_t* values) {
  for (size_t i = 0; i < values->count; i++) {
    words[at++] = name;
    words[at++] = values->items[i];
  }
  return at;
}

static size_t add_word(const char** words, size_t at, const char* name, const char* value) {
  return value == NULL ? at : add_words(words, at, name, &(tbk_words_t){&value, 1});
}

static const char** command_line(const char* launcher) {
  static const char* const start[] = {"-u", "-m", "tbk_harness.torch_worker", "serve"};
  const tbk_options_t* options = self.options;
  const size_t lists =
      options->torch_imports.count + options->backend_options.count + options->only.count;
  size_t most = 32 + 2 * lists, at = 0;
  const char** words = calloc(most, sizeof *words);
  static char socket[16], patience[32], early[32], seed[24];
  const uint64_t early_ns = self.tests == NULL ? options->open_timeout_ns : 0;
  if (words == NULL) abort();
  tbk_print(socket, sizeof socket, "%d", SOCKET);
  tbk_print(patience, sizeof patience, "%.3f", (double)options->timeout_ns / 1e9);
  tbk_print(early, sizeof early, "%.3f", (double)early_ns / 1e9);
  tbk_print(seed, sizeof seed, "%" PRIu64, options->seed);
  words[at++] = options->python;
  for (size_t i = 0; i < sizeof start / sizeof *start; i++)
    words[at++] = start[i];
  at = add_word(words, at, "--socket", socket);
  at = add_word(words, at, "--launcher", launcher);
  at = add_word(words, at, "--timeout", patience);
  at = add_word(words, at, "--early", early);
  at = add_word(words, at, "--seed", seed);
  at = add_word(words, at, "--device", options->torch_device);
  at = add_words(words, at, "--import", &options->torch_imports);
  at = add_word(words, at, "--library", options->path);
  at = add_words(words, at, "--option", &options->backend_options);
  at = add_words(words, at, "--only", &options->only);
  (void)add_word(words, at, "--facts", options->declared);
  return words;
}

/* The child: only what it needs stays open, and no signal is blocked or ignored. */
static _Noreturn void become_fork_server(const char** words, int end, int output) {
  sigset_t none;
  (void)setsid();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; number++)
    (void)signal(number, SIG_DFL);
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  int high_end = fcntl(end, F_DUPFD, ABOVE), high_output = fcntl(output, F_DUPFD, ABOVE);
  int nothing = open("/dev/null", O_RDONLY);
  (void)dup2(nothing, STDIN_FILENO);
  (void)dup2(high_output, STDOUT_FILENO);
  (void)dup2(high_output, STDERR_FILENO);
  (void)dup2(high_end, SOCKET);
  (void)close_range(SOCKET + 1, ~0U, 0);
  (void)setenv("PYTHONHASHSEED", "0", 0);
  tbk_python_settings_drop();
  (void)execvp(words[0], (char* const*)(uintptr_t)words);
  (void)fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
  _exit(EXIT_FAILURE);
}

static bool launch(void) {
  char launcher[4200];
  int ends[2];
  launcher_library(launcher, sizeof launcher);
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  self.output = memfd_create("tbk-fork-server", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const char** words = command_line(launcher);
  self.pid = self.output < 0 ? -1 : fork();
  if (self.pid == 0) become_fork_server(words, ends[1], self.output);
  free(words);
  (void)close(ends[1]);
  self.socket = ends[0];
  return self.pid > 0;
}

void tbk_fork_server_stop(void) {
  if (self.pid > 0) {
    (void)kill(self.pid, SIGKILL);
    (void)waitpid(self.pid, NULL, 0);
  }
  if (self.socket >= 0) (void)close(self.socket);
  if (self.output >= 0) (void)close(self.output);
  self.pid = 0;
  self.socket = self.output = -1;
}

/* ---------------------------------------------------------------------------------- speech --- */

/* The next message; NULL where there is none in time, or it is gone. */
static json_t* hear(uint64_t until_ns) {
  static char bytes[MOST_BYTES];
  for (;;) {
    struct pollfd ready = {.fd = self.socket, .events = POLLIN};
    uint64_t now = tbk_now_ns();
    if (now >= until_ns) return NULL;
    int count = poll(&ready, 1, (int)((until_ns - now) / 1000000) + 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return NULL;
    ssize_t size = recv(self.socket, bytes, sizeof bytes, 0);
    return size > 0 ? json_loadb(bytes, (size_t)size, 0, NULL) : NULL;
  }
}

static bool say(const json_t* object, const int* files, size_t file_count) {
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(MOST_FILES * sizeof(int))];
  } control = {0};
  char* text = json_dumps(object, JSON_COMPACT);
  if (text == NULL) abort();
  struct iovec piece = {text, strlen(text)};
  struct msghdr message = {.msg_iov = &piece,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = CMSG_SPACE(file_count * sizeof(int))};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(file_count * sizeof(int));
  memcpy(CMSG_DATA(header), files, file_count * sizeof(int));
  bool sent = sendmsg(self.socket, &message, MSG_NOSIGNAL) > 0;
  free(text);
  return sent;
}

static json_t* ask(json_t* object, const int* files, size_t file_count) {
  bool sent = say(object, files, file_count);
  json_decref(object);
  return sent ? hear(tbk_now_ns() + answer_ns) : NULL;
}

static bool says(const json_t* object, const char* what) {
  const char* said = json_string_value(json_object_get(object, "said"));
  return said != NULL && strcmp(said, what) == 0;
}

/* --------------------------------------------------------------------------------- listing --- */

/* Gives the last line that it printed. */
static void last_words(char* out, size_t size) {
  char tail[2048];
  off_t end = lseek(self.output, 0, SEEK_END);
  off_t from = end > (off_t)sizeof tail ? end - (off_t)sizeof tail : 0;
  ssize_t got = pread(self.output, tail, sizeof tail, from);
  tbk_text_last_line(out, size, tail, got > 0 ? (size_t)got : 0);
}

static void explain_death(char* reason, size_t size, bool late) {
  char words[1024];
  int status = 0;
  const char* how = "it ended before it had collected the tests";
  last_words(words, sizeof words);
  if (late)
    how = "no answer in time while it imported PyTorch and collected the tests";
  else if (waitpid(self.pid, &status, 0) == self.pid && WIFSIGNALED(status))
    how = strsignal(WTERMSIG(status));
  if (!late) self.pid = 0;
  tbk_print(reason, size, "%s -m tbk_harness.torch_worker: %s", self.options->python,
            words[0] != '\0' ? words : how);
}

static tbk_exit_t refuse(const json_t* error, char* reason, size_t size) {
  json_int_t code = json_integer_value(json_object_get(error, "exit"));
  const char* text = json_string_value(json_object_get(error, "reason"));
  tbk_print(reason, size, "%s", text != NULL ? text : "the tests could not be collected");
  bool is_told = code == TBK_EXIT_USAGE || code == TBK_EXIT_LIBRARY || code == TBK_EXIT_DEVICE;
  return is_told ? (tbk_exit_t)code : TBK_EXIT_SUITE;
}

/* Reads the listing into `tests` and `suite`. */
static tbk_exit_t listen_to_it(json_t* tests, json_t** suite, char* reason, size_t size) {
  const uint64_t until = tbk_now_ns() + start_ns + self.options->open_timeout_ns;
  for (;;) {
    json_t* object = hear(until);
    if (object == NULL) {
      explain_death(reason, size, tbk_now_ns() >= until);
      return TBK_EXIT_SUITE;
    }
    if (says(object, "suite")) {
      *suite = object;
      return TBK_EXIT_PASS;
    }
    if (says(object, "error")) {
      tbk_exit_t code = refuse(object, reason, size);
      json_decref(object);
      return code;
    }
    (void)json_array_append_new(tests, object);
  }
}

tbk_exit_t tbk_fork_server_start(const tbk_options_t* options, char* reason, size_t reason_size) {
  self.options = options;
  if (!launch()) {
    tbk_print(reason, reason_size, "no process could be started");
    return TBK_EXIT_SUITE;
  }
  (void)atexit(tbk_fork_server_stop);
  self.tests = json_array();
  return listen_to_it(self.tests, &self.suite, reason, reason_size);
}

const json_t* tbk_fork_server_suite(void) {
  return self.suite;
}

static const char* text_of(const json_t* object, const char* key) {
  const char* text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static tbk_test_t test_at(size_t index) {
  const json_t* object = json_array_get(self.tests, index);
  const char* needs = text_of(object, "needs");
  const char* text = text_of(object, "text");
  tbk_test_t test = {.id = strdup(text_of(object, "id")),
                     .suite = text_of(object, "suite"),
                     .clause = text_of(object, "clause"),
                     .needs = needs[0] != '\0' ? needs : NULL,
                     .level = text_of(object, "level"),
                     .area = text_of(object, "area"),
                     .profile = text_of(object, "profile"),
                     .text = text[0] != '\0' ? text : NULL,
                     .cost = (uint32_t)json_integer_value(json_object_get(object, "cost")),
                     .case_index = (uint32_t)index};
  if (test.id == NULL) abort();
  if (json_is_true(json_object_get(object, "fresh"))) test.flags |= TBK_CASE_FRESH;
  if (json_is_true(json_object_get(object, "alone"))) test.flags |= TBK_CASE_ALONE;
  if (json_is_true(json_object_get(object, "slow"))) test.flags |= TBK_CASE_SLOW;
  if (json_is_true(json_object_get(object, "thorough"))) test.flags |= TBK_CASE_THOROUGH;
  return test;
}

tbk_source_t tbk_fork_server_tests(void) {
  return (tbk_source_t){json_array_size(self.tests), test_at};
}

/* --------------------------------------------------------------------------------- launchers --- */

static int plan_file(void) {
  int file = memfd_create("tbk-plan", MFD_CLOEXEC);
  const char* bytes = (const char*)self.plan;
  size_t size = self.planned * sizeof *self.plan, at = 0;
  while (file >= 0 && at < size) {
    ssize_t written = write(file, bytes + at, size - at);
    if (written <= 0) break;
    at += (size_t)written;
  }
  return file;
}

static bool tell(void) {
  json_t* object = json_pack("{s:s,s:b}", "do", "know", "warm", (int)self.warm);
  if (self.held != NULL) (void)json_object_set(object, "held", self.held);
  const int file = plan_file();
  json_t* answer = ask(object, &file, 1);
  bool known = says(answer, "known");
  json_decref(answer);
  (void)close(file);
  return known;
}

/* It was killed, or hangs: the next one does what it should have done. */
static bool start_again(void) {
  char reason[64];
  json_t *tests = json_array(), *suite = NULL;
  tbk_fork_server_stop();
  bool ready = launch() && listen_to_it(tests, &suite, reason, sizeof reason) == TBK_EXIT_PASS;
  ready = ready && json_array_size(tests) == json_array_size(self.tests);
  json_decref(tests);
  json_decref(suite);
  return ready && tell();
}

void tbk_fork_server_tell(const tbk_run_plan_t* plan, const json_t* held, bool warm) {
  if (plan != NULL && self.plan == NULL) {
    self.plan = calloc(plan->item_count + 1, sizeof *self.plan);
    if (self.plan == NULL) abort();
    self.planned = plan->item_count;
    for (size_t i = 0; i < plan->item_count; i++)
      self.plan[i] = plan->tests[plan->items[i].test].case_index;
  }
  if (held != NULL) self.held = json_deep_copy(held);
  self.warm = warm;
  if (tell() || start_again()) return;
  self.warm = false; /* it dies of what it shall import, against what the probe said */
  (void)start_again();
}

static pid_t ask_for_launcher(const tbk_launcher_ends_t* ends) {
  const int files[MOST_FILES] = {ends->control, ends->report, ends->output, ends->page,
                                 ends->cells};
  json_t* object = json_pack("{s:s,s:I}", "do", "launcher", "at", (json_int_t)ends->at);
  json_t* answer = self.pid > 0 ? ask(object, files, MOST_FILES) : NULL;
  pid_t pid = (pid_t)json_integer_value(json_object_get(answer, "pid"));
  json_decref(answer);
  return pid;
}

static pid_t make_launcher(const tbk_launcher_ends_t* ends) {
  pid_t pid = ask_for_launcher(ends);
  return pid == 0 && start_again() ? ask_for_launcher(ends) : pid;
}

static pid_t maker(void) {
  return self.pid > 0 ? self.pid : 0;
}

const tbk_launchers_t tbk_fork_server_launchers = {.make = make_launcher, .maker = maker};
