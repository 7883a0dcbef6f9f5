/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * crash_stack.c: see crash_stack.h. The process may be damaged in any way by now. So nothing here
 * allocates, a second fault ends it at once, and an alarm ends it where the unwinder or the loader
 * waits for a lock that will not come: always by the first signal, which is the finding.
 */
#include "crash_stack.h"
#include "text.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { FRAMES_MAX = 16, PATIENCE_S = 1, HANDLER_STACK = 65536 };

static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

static struct {
  char* text;
  pid_t pid, thread;            /* `thread`: that crashed first */
  volatile sig_atomic_t number; /* of the first signal; 0: none yet */
  uintptr_t seal;               /* of `text` and `pid`: a process may have overwritten all it has */
} watch;

static uintptr_t seal_of(void) {
  return ~(uintptr_t)watch.text ^ (uintptr_t)watch.pid << 7;
}

typedef struct walk {
  uintptr_t from; /* where the signal came */
  bool begun;
  int frames;
} walk_t;

#define ADD(...)                                                      \
  do {                                                                \
    const size_t used = strnlen(watch.text, TBK_STACK_TEXT - 1);      \
    tbk_print(watch.text + used, TBK_STACK_TEXT - used, __VA_ARGS__); \
  } while (0)

static void unblock(int number) {
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, number);
  (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Dies by `number`, as the process would have without a handler. */
static void die_by(int number) {
  (void)signal(number, SIG_DFL);
  unblock(number);
  (void)kill(getpid(), number);
}

static void on_patience(int number) {
  (void)number;
  die_by(watch.number);
}

/*
 * Names a function only where the loader knows one that reaches as far as the address. Returns false
 * for one of the test or the harness: what called it is known.
 */
static bool add_frame(int number, uintptr_t address) {
  Dl_info info;
  struct link_map* map = NULL;
  if (dladdr1((const void*)address, &info, (void**)&map, RTLD_DL_LINKMAP) == 0) {
    ADD("#%d %#zx\n", number, (size_t)address);
    return true;
  }
  const char* path = info.dli_fname != NULL ? info.dli_fname : "?";
  const char* slash = strrchr(path, '/');
  const size_t offset = address - (uintptr_t)(map != NULL ? map->l_addr : 0);
  ADD("#%d ", number);
  if (info.dli_sname != NULL)
    ADD("%.120s+%#zx ", info.dli_sname, (size_t)(address - (uintptr_t)info.dli_saddr));
  ADD("(%.120s+%#zx)\n", slash != NULL ? slash + 1 : path, offset);
  return map == NULL || map->l_name[0] != '\0';
}

/* Leaves out what lies between the signal and here. A caller's address is that after its call. */
static _Unwind_Reason_Code on_frame(struct _Unwind_Context* context, void* argument) {
  walk_t* walk = argument;
  int exact = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  walk->begun = walk->begun || address == walk->from;
  if (!walk->begun) return _URC_NO_REASON;
  if (address == 0 || walk->frames >= FRAMES_MAX) return _URC_END_OF_STACK;
  const bool more = add_frame(walk->frames++, exact != 0 ? address : address - 1);
  return more ? _URC_NO_REASON : _URC_END_OF_STACK;
}

#if defined(__x86_64__)
static uintptr_t place_of(const ucontext_t* context) {
  return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* Of a call to an address where there is no function: nothing of it has run yet. */
static uintptr_t caller_of(const ucontext_t* context) {
  return *(const uintptr_t*)(uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
#elif defined(__aarch64__)
static uintptr_t place_of(const ucontext_t* context) {
  return (uintptr_t)context->uc_mcontext.pc;
}

static uintptr_t caller_of(const ucontext_t* context) {
  return (uintptr_t)context->uc_mcontext.regs[30];
}
#else
#error "crash_stack.c: say where this processor keeps the address of the instruction"
#endif

static void tell(int number, const siginfo_t* info, const ucontext_t* context) {
  walk_t walk = {.from = place_of(context)};
  const bool faults = info->si_code > 0 && (number == SIGSEGV || number == SIGBUS);
  if (faults) ADD("at address %#zx\n", (size_t)info->si_addr);
  if (faults && (uintptr_t)info->si_addr == walk.from) {
    ADD("no function is there; called from\n");
    (void)add_frame(0, caller_of(context) - 1);
  } else {
    (void)_Unwind_Backtrace(on_frame, &walk);
  }
}

static void on_crash(int number, siginfo_t* info, void* context) {
  if (watch.seal != seal_of() || watch.text == NULL || getpid() != watch.pid) {
    die_by(number);
    return;
  }
  if (watch.number != 0) {
    if (gettid() != watch.thread) (void)sleep(2 * PATIENCE_S); /* the first one ends all threads */
    die_by(watch.number);
    return;
  }
  watch.thread = gettid();
  watch.number = number;
  (void)signal(SIGALRM, on_patience);
  unblock(SIGALRM);
  (void)alarm(PATIENCE_S);
  tell(number, info, context);
  (void)alarm(0);
  die_by(number);
}

void tbk_crash_stack_install(void) {
  static char stack[HANDLER_STACK]; /* what crashes may have none left */
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
  action.sa_sigaction = on_crash;
  (void)sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    if (sigaction(crashes[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
      (void)sigaction(crashes[i], &action, NULL);
}

void tbk_crash_stack_watch(char* text) {
  text[0] = '\0';
  watch.pid = getpid();
  watch.number = 0;
  watch.text = text;
  watch.seal = seal_of();
}
