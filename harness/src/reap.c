/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reap.c: see reap.h. /proc is scanned only where waitpid says that somebody is left.
 */
#include "reap.h"
#include "text.h"
#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The parent of `name`, a number under /proc; 0 where it is gone or a zombie. */
static pid_t living_parent(const char* name) {
  char path[64], stat[512];
  tbk_print(path, sizeof path, "/proc/%.20s/stat", name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t size = read(fd, stat, sizeof stat - 1);
  (void)close(fd);
  if (size <= 0) return 0;
  stat[size] = '\0';
  const char* after_name = strrchr(stat, ')'); /* the name may hold anything, brackets too */
  if (after_name == NULL || strlen(after_name) < 4 || after_name[2] == 'Z' || after_name[2] == 'X')
    return 0;
  return (pid_t)strtol(after_name + 4, NULL, 10);
}

size_t tbk_children(pid_t* out_pids, size_t capacity) {
  const pid_t self = getpid();
  size_t count = 0;
  DIR* proc = opendir("/proc");
  if (proc == NULL) return 0;
  for (struct dirent* entry; count < capacity && (entry = readdir(proc)) != NULL;)
    if (isdigit((unsigned char)entry->d_name[0]) && living_parent(entry->d_name) == self)
      out_pids[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
  (void)closedir(proc);
  return count;
}

static bool is_kept(pid_t pid, const pid_t* keep, size_t keep_count) {
  for (size_t i = 0; i < keep_count; i++)
    if (keep[i] == pid) return true;
  return false;
}

/* Reaps what is dead and not kept. False when no child is left at all. */
static bool reap_dead(const pid_t* keep, size_t keep_count) {
  siginfo_t info = {0};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    if (is_kept(info.si_pid, keep, keep_count))
      return true; /* its owner reaps it; what is behind it is met the next time */
    (void)waitpid(info.si_pid, NULL, 0);
    info.si_pid = 0;
  }
  return errno != ECHILD || keep_count > 0;
}

/* Those below are killed with their parents: one at a time they could start others meanwhile. */
static size_t find_strays(const pid_t* keep, size_t keep_count, pid_t* pids, size_t capacity) {
  size_t count = tbk_tree(getpid(), keep, keep_count, pids, capacity), strays = 0;
  if (count > 0) return count;
  count = tbk_children(pids, capacity); /* where the kernel lists no children */
  for (size_t i = 0; i < count; i++)
    if (!is_kept(pids[i], keep, keep_count)) pids[strays++] = pids[i];
  return strays;
}

/* Somebody lives and has no name: one that dies of an earlier signal is waited for. */
enum { UNLISTED_MS = 50 };

uint32_t tbk_reap_strays(const pid_t* keep, size_t keep_count) {
  static pid_t pids[TBK_REAP_MAX];
  const struct timespec pause = {.tv_nsec = 1000000};
  uint32_t killed = 0;
  errno = 0;
  for (int attempt = 0; attempt < 2000 && reap_dead(keep, keep_count); attempt++) {
    size_t strays = find_strays(keep, keep_count, pids, TBK_REAP_MAX);
    for (size_t i = 0; i < strays; i++)
      (void)kill(pids[i], SIGKILL);
    if (attempt == 0) killed = (uint32_t)strays;
    if (strays == 0 && (keep_count > 0 || tbk_tree_is_told())) break;
    if (strays == 0 && attempt == UNLISTED_MS) return TBK_REAP_UNLISTED;
    (void)ppoll(NULL, 0, &pause, NULL);
    errno = 0;
  }
  return killed;
}
