/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * act_surroundings.c: what a library changes for the whole process, or gives up for it, and what it
 * does to the streams that all of it shares.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "acts.h"

void act_rounds_up(void) {
  fesetround(FE_UPWARD);
}

void act_flushes_subnormals(void) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1u << 24);
#endif
}

/* Whoever divides by zero from now on dies. */
void act_traps_arithmetic(void) {
  feenableexcept(FE_ALL_EXCEPT);
}

void act_no_environment(void) {
  clearenv();
  setenv("TZ", "Pacific/Apia", 1);
  setenv("LD_PRELOAD", "/nowhere/lib.so", 1);
  tzset();
}

/* It made the folder itself; who runs there has none any more. */
void act_folder_gone(void) {
  char name[] = "/tmp/tbk-hostile-XXXXXX";
  if (mkdtemp(name) != NULL && chdir(name) == 0) rmdir(name);
}

void act_other_root(void) {
  if (chroot("/proc/self/fdinfo") == 0) (void)!chdir("/");
}

void act_other_user(void) {
  (void)!setresgid(65534, 65534, 65534);
  (void)!setresuid(65534, 65534, 65534);
}

void act_not_dumpable(void) {
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_PDEATHSIG, 0);
}

void act_own_namespaces(void) {
  (void)!unshare(CLONE_FS | CLONE_FILES | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC);
}

void act_lowest_priority(void) {
  const struct sched_param none = {0};
  setpriority(PRIO_PROCESS, 0, 19);
  sched_setscheduler(0, SCHED_BATCH, &none);
}

void act_one_processor(void) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
}

void act_memory_locked(void) {
  mlockall(MCL_CURRENT | MCL_FUTURE);
}

/* From now on a process may read, write and end, and nothing else. */
void act_seccomp_strict(void) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

/* Answers one system call of all threads otherwise. */
static void filter(int number, uint32_t answer) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void act_seccomp_kills(void) {
  filter(SYS_getpid, SECCOMP_RET_KILL_PROCESS);
}

void act_seccomp_refuses_reports(void) {
  filter(SYS_write, SECCOMP_RET_ERRNO | EPERM);
}

/* Whoever else writes there is refused when it is full, in this process and in those that follow. */
void act_output_unblocked(void) {
  static char block[1 << 20];
  memset(block, 'o', sizeof block);
  fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  (void)!write(STDOUT_FILENO, block, sizeof block);
}

void act_output_closed_by_stream(void) {
  fclose(stdout);
  fclose(stderr);
}

static void* print_on(void* argument) {
  static char block[1 << 16];
  memset(block, 'p', sizeof block);
  while (write(STDOUT_FILENO, block, sizeof block) > 0)
    continue;
  return argument;
}

void act_prints_for_ever(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, print_on, NULL) == 0) pthread_detach(thread);
  (void)!write(STDOUT_FILENO, "printing\n", 9);
}
