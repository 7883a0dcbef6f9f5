/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * anti_text.c: backends that obey every clause and are odd in what they say.
 */
#include <stdio.h>
#include <string.h>

#include "calls.h"

static tbk_status_t lengthen(tbk_status_t status, tbk_error_t* error) {
  if (status == TBK_OK || status == TBK_NOT_READY || error == NULL) return status;
  memset(error->message, 'm', sizeof error->message - 1);
  error->message[sizeof error->message - 1] = '\0';
  return status;
}

static tbk_status_t mark_up(tbk_status_t status, tbk_error_t* error) {
  if (status == TBK_OK || status == TBK_NOT_READY) return status;
  return wrap_fail(error, status,
                   "<script>alert(1)</script>\x1b[2J\x1b]0;t\x07\xff\xfe]]>&lt;\r\n{}");
}

OPEN(open_with_long_message) {
  return lengthen(OPEN_INNER, error);
}
ALLOC(alloc_with_long_message) {
  return lengthen(ALLOC_INNER, error);
}
UPLOAD(upload_with_long_message) {
  return lengthen(UPLOAD_INNER, error);
}
PROPERTIES(properties_with_long_message) {
  return lengthen(PROPERTIES_INNER, error);
}
STREAM_SYNCHRONIZE(synchronize_with_long_message) {
  return lengthen(STREAM_SYNCHRONIZE_INNER, error);
}

static const char markup_name[] =
    "<script>alert('dev')</script><img src=x onerror=alert(1)> & \"quoted\" \x1b[31mred\x1b[0m"
    "\x1b]0;title\x07 \xc3\x28\xff ]]> \r\n\t--><!-- {{7*7}} %s%n \\u0000 |pipe|`code`";

PROPERTIES(properties_with_markup) {
  tbk_status_t status = mark_up(PROPERTIES_INNER, error);
  const size_t end = offsetof(tbk_device_properties_t, name) + sizeof out_properties->name;
  if (status == TBK_OK && out_properties->struct_size >= end) out_properties->name = markup_name;
  return status;
}
ALLOC(alloc_with_markup) {
  return mark_up(ALLOC_INNER, error);
}
UPLOAD(upload_with_markup) {
  return mark_up(UPLOAD_INNER, error);
}
OPEN(open_with_markup) {
  return mark_up(OPEN_INNER, error);
}

static void install_markup(wrap_t* wrap) {
  wrap->backend.version = "1.0</title><script>alert('version')</script>\x1b[5m";
}

static void say(const char* what) {
  printf("acme: %s\n", what);
  fflush(stdout);
}

OPEN(open_aloud) {
  say("device_open");
  return OPEN_INNER;
}
ALLOC(alloc_aloud) {
  say("memory_alloc");
  return ALLOC_INNER;
}
FREE(free_aloud) {
  say("memory_free");
  return FREE_INNER;
}
UPLOAD(upload_aloud) {
  say("upload");
  return UPLOAD_INNER;
}
DOWNLOAD(download_aloud) {
  say("download");
  return DOWNLOAD_INNER;
}
STREAM_CREATE(stream_create_aloud) {
  say("stream_create");
  return STREAM_CREATE_INNER;
}

extern const mutant_t mutants_anti_text[];
const mutant_t mutants_anti_text[] = {
    ODD("long_messages", "error messages of 255 bytes", NULL,
        PATCH(core.device_open, open_with_long_message),
        PATCH(core.memory_alloc, alloc_with_long_message),
        PATCH(core.upload, upload_with_long_message),
        PATCH(core.device_properties, properties_with_long_message),
        PATCH(stream.stream_synchronize, synchronize_with_long_message)),
    ODD("markup", "markup, escapes and broken UTF-8 in all that is for people", install_markup,
        PATCH(core.device_properties, properties_with_markup),
        PATCH(core.memory_alloc, alloc_with_markup), PATCH(core.upload, upload_with_markup),
        PATCH(core.device_open, open_with_markup)),
    ODD("talkative", "a line on standard output at each call", NULL,
        PATCH(core.device_open, open_aloud), PATCH(core.memory_alloc, alloc_aloud),
        PATCH(core.memory_free, free_aloud), PATCH(core.upload, upload_aloud),
        PATCH(core.download, download_aloud), PATCH(stream.stream_create, stream_create_aloud)),
    {0}};
