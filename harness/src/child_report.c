/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child_report.c: see child_report.h. All of it is static memory, in case the heap is damaged.
 */
#include "child_report.h"

#include "protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
  int descriptor;
  pid_t pid;
  uint32_t begun; /* tests */
  struct stat identity;
  char mark[TBK_MARK_SIZE + 1];
  tbk_json_t json;
  char line[TBK_WORKER_LINE];
} report;

void tbk_child_report_open(int descriptor, uint32_t key) {
  report.descriptor = descriptor;
  report.pid = getpid();
  tbk_protocol_mark(report.mark, key);
  (void)fstat(descriptor, &report.identity);
}

void tbk_child_report_count(uint32_t begun) {
  report.begun = begun;
}

tbk_json_t* tbk_child_report_begin_line(void) {
  memcpy(report.line, report.mark, TBK_MARK_SIZE);
  tbk_json_begin(&report.json, report.line + TBK_MARK_SIZE, sizeof report.line - TBK_MARK_SIZE);
  return &report.json;
}

/* A backend that closed the descriptor may have another file there by now. */
static bool is_ours(void) {
  struct stat now;
  return fstat(report.descriptor, &now) == 0 && now.st_ino == report.identity.st_ino &&
         now.st_dev == report.identity.st_dev;
}

void tbk_child_report_send_line(void) {
  const size_t whole = TBK_MARK_SIZE + report.json.size;
  size_t sent = 0;
  if (getpid() != report.pid) _exit(EXIT_FAILURE); /* a child that a backend let go on */
  if (report.json.overflow || !is_ours()) _exit(TBK_WORKER_NO_REPORT);
  while (sent < whole) {
    ssize_t size = write(report.descriptor, report.line + sent, whole - sent);
    if (size < 0 && errno == EAGAIN) /* a backend may have made it one that does not block */
      (void)poll(&(struct pollfd){.fd = report.descriptor, .events = POLLOUT}, 1, -1);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size < 0) _exit(TBK_WORKER_NO_REPORT);
    sent += (size_t)size;
  }
}

tbk_json_t* tbk_child_report_begin(const char* what) {
  (void)tbk_child_report_begin_line();
  tbk_json_open(&report.json, NULL, '{');
  tbk_json_text(&report.json, "said", what);
  return &report.json;
}

void tbk_child_report_send(void) {
  tbk_json_close(&report.json, '}');
  tbk_json_end_line(&report.json);
  tbk_child_report_send_line();
}

void tbk_child_report_done(void) {
  (void)tbk_child_report_begin_line();
  tbk_protocol_write_done(&report.json, report.begun);
  tbk_child_report_send_line();
}

_Noreturn void tbk_child_report_error(const char* stage, const char* reason) {
  (void)tbk_child_report_begin("error");
  tbk_json_text(&report.json, "stage", stage);
  tbk_json_text(&report.json, "reason", reason);
  tbk_child_report_send();
  tbk_child_report_done();
  _exit(TBK_WORKER_EXIT);
}
