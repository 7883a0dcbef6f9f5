/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * digest.c: see digest.h.
 */
#include "digest.h"
#include "text.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

void tbk_digest_text(const struct sha256_ctx* context, char out[TBK_DIGEST_SIZE]) {
  struct sha256_ctx copy = *context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(&copy, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++)
    tbk_print(out + 2 * i, 3, "%02x", digest[i]);
}

/* The supervisor lets signals in only where it waits; one that asks it to end does not wait here. */
static bool is_asked_to_end(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (sigismember(&pending, numbers[i]) == 1) return true;
  return false;
}

static bool add_all(struct sha256_ctx* context, int file, bool to_the_end) {
  static uint8_t block[1 << 20];
  ssize_t got;
  while ((got = read(file, block, sizeof block)) > 0) {
    sha256_update(context, (size_t)got, block);
    if (!to_the_end && is_asked_to_end()) return false;
  }
  return got == 0;
}

/* A FIFO would wait for a writer, and a device has no end. */
static bool digest_file(const char* path, bool to_the_end, char out[TBK_DIGEST_SIZE]) {
  const off_t most = (off_t)4 << 30;
  struct sha256_ctx context;
  struct stat status;
  out[0] = '\0';
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  sha256_init(&context);
  bool whole = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= most &&
               add_all(&context, file, to_the_end);
  (void)close(file);
  if (whole) tbk_digest_text(&context, out);
  return whole;
}

bool tbk_digest_file(const char* path, char out[TBK_DIGEST_SIZE]) {
  return digest_file(path, false, out);
}

bool tbk_digest_own_file(const char* path, char out[TBK_DIGEST_SIZE]) {
  return digest_file(path, true, out);
}
