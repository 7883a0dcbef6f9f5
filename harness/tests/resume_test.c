/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * resume_test.c: what is kept of a file that another run has left, whole or torn.
 */
#include "resume.h"

#include "digest.h"
#include "self_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tbk-resume-XXXXXX";
static tbk_options_t options = {.path = (char*)(uintptr_t) "/proc/self/exe",
                                .seed = 1,
                                .repeat = 1,
                                .shard_index = 1,
                                .shard_count = 1};
static tbk_test_t tests[3] = {{.id = (char*)(uintptr_t) "memory/a"},
                              {.id = (char*)(uintptr_t) "memory/b"},
                              {.id = (char*)(uintptr_t) "memory/c"}};
static tbk_item_t items[3] = {{0, 0}, {1, 0}, {2, 0}};
static const tbk_run_plan_t plan = {
    .tests = tests, .test_count = 3, .items = items, .item_count = 3};

static unsigned char recorded[3], first[3];
static tbk_ledger_t ledger;
static tbk_resume_t resume;

static void header(char* out, size_t size, int seed) {
  char digest[TBK_DIGEST_SIZE];
  CU_ASSERT_TRUE(tbk_digest_file("/proc/self/exe", digest));
  (void)snprintf(
      out, size,
      "{\"record\":\"header\",\"suite\":{\"digest\":\"%s\"},\"backend\":{\"digest\":\"%s\","
      "\"options\":null},\"seed\":%d,\"repeat\":1,\"planned\":3,\"selection\":[],"
      "\"shard\":\"1/1\",\"tier\":\"%s\",\"shuffle\":null}\n",
      digest, digest, seed, tbk_tier_name(options.tier));
}

#define A "{\"record\":\"test\",\"index\":0,\"id\":\"memory/a\",\"verdict\":\"pass\"}\n"
#define B "{\"record\":\"test\",\"index\":1,\"id\":\"memory/b\",\"verdict\":\"crash\"}\n"
#define C "{\"record\":\"test\",\"index\":2,\"id\":\"memory/c\",\"verdict\":\"not-reached\"}\n"

/* Reads a file of `head` and `rest`; whether of `rest` `expected` is kept. */
static bool keeps(const char* head, const char* rest, const char* expected) {
  memset(recorded, 0, sizeof recorded);
  memset(first, 0, sizeof first);
  memset(&ledger, 0, sizeof ledger);
  if (strstr(path, "XXXXXX") != NULL) (void)close(mkstemp(path)); /* once: a file of our own */
  FILE* file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  (void)fprintf(file, "%s%s", head, rest);
  (void)fclose(file);
  tbk_resume_free(&resume);
  tbk_resume_read(&resume, path, &options, &plan, recorded, first, &ledger);
  size_t size = strlen(head), more = strlen(expected);
  return resume.size == size + more &&
         (resume.size == 0 || (memcmp(resume.lines, head, size) == 0 &&
                               memcmp(resume.lines + size, expected, more) == 0));
}

static void whole_records_are_kept(void) {
  char head[1024];
  header(head, sizeof head, 1);
  CU_ASSERT_TRUE(keeps(head, A B, A B));
  CU_ASSERT_FALSE(resume.scattered);
  CU_ASSERT_STRING_EQUAL(resume.reason, "");
  CU_ASSERT_TRUE(recorded[0] && recorded[1] && !recorded[2]);
  CU_ASSERT_EQUAL(ledger.counts[TBK_VERDICT_PASS], 1);
  CU_ASSERT_EQUAL(ledger.counts[TBK_VERDICT_CRASH], 1);
  CU_ASSERT_EQUAL(first[1], 1 + TBK_VERDICT_CRASH);
}

/* Cut after every byte: what is kept is whole lines, and never one more than were whole. */
static void a_torn_file_keeps_its_whole_lines(void) {
  char head[1024], torn[512];
  header(head, sizeof head, 1);
  for (size_t size = 0; size <= strlen(A B); size++) {
    (void)snprintf(torn, sizeof torn, "%.*s", (int)size, A B);
    CU_ASSERT_TRUE(keeps(head, torn, size >= strlen(A B) ? A B : size >= strlen(A) ? A : ""));
  }
}

static void what_was_not_reached_runs_again(void) {
  char head[1024];
  header(head, sizeof head, 1);
  CU_ASSERT_TRUE(keeps(head, A C, A));
  CU_ASSERT_FALSE(recorded[2]);
  CU_ASSERT_FALSE(resume.scattered);
}

/* Else a crash that was seen would become a second try. */
static void a_failure_after_what_was_not_reached_is_kept(void) {
  char head[1024];
  header(head, sizeof head, 1);
  CU_ASSERT_TRUE(keeps(head, A C B, A B));
  CU_ASSERT_TRUE(resume.scattered);
  CU_ASSERT_TRUE(recorded[0] && recorded[1] && !recorded[2]);
  CU_ASSERT_EQUAL(ledger.counts[TBK_VERDICT_CRASH], 1);
}

static void of_a_record_twice_the_first_counts(void) {
  char head[1024];
  header(head, sizeof head, 1);
  CU_ASSERT_TRUE(keeps(head, A A "{\"rec\n" B, A B));
  CU_ASSERT_EQUAL(ledger.counts[TBK_VERDICT_PASS], 1);
}

static void a_footer_is_dropped_and_noted(void) {
  char head[1024];
  header(head, sizeof head, 1);
  CU_ASSERT_TRUE(keeps(head, A "{\"record\":\"footer\",\"exit_code\":7,\"health\":\"ok\"}\n", A));
  CU_ASSERT_FALSE(resume.complete);
  CU_ASSERT_STRING_EQUAL(resume.lost, "");
}

static void a_lost_device_stays_a_finding(void) {
  char head[1024];
  header(head, sizeof head, 1);
  const char lost[] = "{\"record\":\"footer\",\"exit_code\":1,\"health\":\"lost since b\"}\n";
  char rest[512];
  (void)snprintf(rest, sizeof rest, "%s%s", A C, lost);
  CU_ASSERT_TRUE(keeps(head, rest, A));
  CU_ASSERT_STRING_EQUAL(resume.lost, "lost since b");
}

static void another_run_is_refused(void) {
  char head[1024];
  header(head, sizeof head, 2);
  (void)keeps(head, A, A);
  CU_ASSERT_STRING_EQUAL(resume.reason, "it was made with another seed");
}

static void another_order_is_refused(void) {
  char head[1024];
  header(head, sizeof head, 1);
  options.budget_ns = 1;
  (void)keeps(head, A, A);
  CU_ASSERT_STRING_EQUAL(resume.reason, "it was made with another order, with --budget or without");
  options.budget_ns = 0;
}

static void a_file_without_a_header_starts_afresh(void) {
  CU_ASSERT_TRUE(keeps("", "", ""));
  CU_ASSERT_FALSE(resume.has_header);
  CU_ASSERT_TRUE(keeps("", A, ""));
  CU_ASSERT_TRUE(keeps("", "{\"record\":\"head", ""));
  CU_ASSERT_FALSE(resume.has_header);
  (void)unlink(path);
}

/* Whoever asks a run to end twice changes nothing of what it has written. */
static void its_own_file_is_read_to_the_end(void) {
  char digest[TBK_DIGEST_SIZE];
  sigset_t end, before;
  (void)sigemptyset(&end);
  (void)sigaddset(&end, SIGTERM);
  (void)sigprocmask(SIG_BLOCK, &end, &before);
  (void)raise(SIGTERM);
  CU_ASSERT_FALSE(tbk_digest_file("/proc/self/exe", digest));
  CU_ASSERT_TRUE(tbk_digest_own_file("/proc/self/exe", digest));
  int number = 0;
  (void)sigwait(&end, &number);
  (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

CU_TestInfo tbk_resume_tests[] = {{"own file", its_own_file_is_read_to_the_end},
                                  {"whole records are kept", whole_records_are_kept},
                                  {"torn files", a_torn_file_keeps_its_whole_lines},
                                  {"not reached", what_was_not_reached_runs_again},
                                  {"later failure", a_failure_after_what_was_not_reached_is_kept},
                                  {"twice", of_a_record_twice_the_first_counts},
                                  {"lost device", a_lost_device_stays_a_finding},
                                  {"another order", another_order_is_refused},
                                  {"footer", a_footer_is_dropped_and_noted},
                                  {"another run", another_run_is_refused},
                                  {"no header", a_file_without_a_header_starts_afresh},
                                  CU_TEST_INFO_NULL};
