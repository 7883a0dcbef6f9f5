/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * results.c: see results.h.
 */
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A run that was killed leaves the lock to a launcher for the moment in which that has just begun. */
static bool lock(int fd) {
  const struct timespec pause = {.tv_nsec = 20000000};
  for (int attempt = 0; attempt < 50; attempt++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    (void)nanosleep(&pause, NULL);
  }
  errno = EWOULDBLOCK;
  return false;
}

bool tbk_results_open(tbk_results_t* results, const char* path, bool keep) {
  struct stat status;
  *results = (tbk_results_t){.path = path};
  sha256_init(&results->digest);
  results->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (results->fd < 0 && errno == EINVAL) /* a device that is for writing only */
    results->fd = open(path, O_WRONLY | O_CLOEXEC);
  if (results->fd < 0 || fstat(results->fd, &status) != 0) return false;
  results->regular = S_ISREG(status.st_mode);
  if (!results->regular) return fcntl(results->fd, F_SETFL, O_NONBLOCK) == 0;
  if (!lock(results->fd)) return false;
  return keep || ftruncate(results->fd, 0) == 0;
}

static bool write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= (size_t)written;
  }
  return true;
}

/* Writes `path` whole, and gives it the name of the results; the descriptor of it, or -1. */
static int put_in_place(const tbk_results_t* results, const char* path, const char* lines,
                        size_t size) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return -1;
  if (lock(fd) && write_all(fd, lines, size) && fsync(fd) == 0 && rename(path, results->path) == 0)
    return fd;
  int error = errno;
  (void)close(fd);
  (void)unlink(path);
  errno = error;
  return -1;
}

static bool replace(tbk_results_t* results, const char* lines, size_t size) {
  static const char suffix[] = ".resumed";
  char* path = malloc(strlen(results->path) + sizeof suffix);
  if (path == NULL) abort();
  (void)strcat(strcpy(path, results->path), suffix);
  int fd = put_in_place(results, path, lines, size);
  free(path);
  if (fd < 0) return false;
  (void)close(results->fd);
  results->fd = fd;
  return true;
}

bool tbk_results_continue(tbk_results_t* results, const char* lines, size_t size, bool scattered) {
  if (scattered ? !replace(results, lines, size) : ftruncate(results->fd, (off_t)size) != 0)
    return false;
  if (lseek(results->fd, (off_t)size, SEEK_SET) < 0) return false;
  sha256_update(&results->digest, size, (const uint8_t*)lines);
  results->size = size;
  return true;
}

void tbk_results_add(tbk_results_t* results, const char* line, size_t size) {
  if (results->pending_capacity - results->pending_size < size) {
    size_t capacity = 2 * (results->pending_size + size) + 65536;
    char* grown = realloc(results->pending, capacity);
    if (grown == NULL) abort();
    results->pending = grown;
    results->pending_capacity = capacity;
  }
  memcpy(results->pending + results->pending_size, line, size);
  results->pending_size += size;
}

/* Bytes of `written` that end a line. */
static size_t whole_lines(const char* bytes, size_t written) {
  while (written > 0 && bytes[written - 1] != '\n')
    written--;
  return written;
}

static bool fail(tbk_results_t* results, size_t written) {
  results->error = errno != 0 ? errno : EIO;
  size_t whole = whole_lines(results->pending, written);
  sha256_update(&results->digest, whole, (const uint8_t*)results->pending);
  results->size += whole;
  if (results->regular && ftruncate(results->fd, (off_t)results->size) != 0)
    return false; /* a torn last line stays; resume drops it */
  return false;
}

/* How long a pipe may be full: whoever reads it has stopped, and the run would not end. */
enum { READER_MS = 10000, TAKEN_MS = 2000, PAUSE_MS = 20 };

/* Returns whether a write that took nothing may be tried again. */
static bool may_go_on(const tbk_results_t* results) {
  struct pollfd room = {.fd = results->fd, .events = POLLOUT};
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  if (poll(&room, 1, READER_MS) > 0) return true;
  errno = ETIMEDOUT;
  return false;
}

bool tbk_results_flush(tbk_results_t* results) {
  size_t written = 0;
  if (results->error != 0) return false;
  while (written < results->pending_size) {
    errno = 0;
    ssize_t size = write(results->fd, results->pending + written, results->pending_size - written);
    if (size < 0 && may_go_on(results)) continue;
    if (size <= 0) return fail(results, written);
    written += (size_t)size;
  }
  sha256_update(&results->digest, written, (const uint8_t*)results->pending);
  results->size += written;
  results->pending_size = 0;
  return true;
}

/* Returns whether who opens the path finds what was written. One that was cut has a hole where its size is right. */
static bool is_in_place(const tbk_results_t* results) {
  struct stat ours, there;
  char written[TBK_DIGEST_SIZE], found[TBK_DIGEST_SIZE];
  if (!results->regular) return true;
  if (fstat(results->fd, &ours) != 0 || stat(results->path, &there) != 0) return false;
  if (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev) return false;
  if ((uint64_t)ours.st_size != results->size || !tbk_digest_own_file(results->path, found))
    return false;
  tbk_digest_text(&results->digest, written);
  return strcmp(written, found) == 0;
}

/*
 * Returns whether somebody has what a pipe holds, or is there to take it: what nobody reads is gone with the
 * last end that is open, and it was opened for both so that a run need not wait for its reader.
 */
static bool is_taken(tbk_results_t* results) {
  struct stat status;
  const bool pipe = fstat(results->fd, &status) == 0 && S_ISFIFO(status.st_mode);
  const int end = pipe ? open(results->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  if (end < 0) return true;
  (void)close(results->fd);
  results->fd = end;
  for (int waited_ms = 0; waited_ms < TAKEN_MS; waited_ms += PAUSE_MS) {
    struct pollfd readers = {.fd = end};
    int unread = 0;
    if (poll(&readers, 1, 0) == 0 || (ioctl(end, FIONREAD, &unread) == 0 && unread == 0))
      return true;
    (void)poll(NULL, 0, PAUSE_MS);
  }
  return false;
}

bool tbk_results_close(tbk_results_t* results) {
  bool whole = tbk_results_flush(results);
  if (whole && !is_taken(results)) {
    results->error = ETIMEDOUT;
    whole = false;
  }
  if (whole && !is_in_place(results)) {
    results->error = ESTALE;
    whole = false;
  }
  if (results->fd >= 0 && close(results->fd) != 0 && whole) {
    results->error = errno;
    whole = false;
  }
  results->fd = -1;
  return whole;
}
