/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check.h: how a contract test says what it expects.
 *
 * CHECK* records its outcome and goes on; it may be used from any thread. REQUIRE* records, and on
 * failure leaves the test (CUnit's longjmp): only on the thread that runs the test. All record into
 * atomics, because CUnit loses assertions made on several threads. A test without a check is a
 * suite error. The first failure is kept in full; later ones are counted.
 */
#ifndef TBK_CONTRACTS_CHECK_H
#define TBK_CONTRACTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tbk/tbk.h>

#define CHECK(condition) tbk_check((condition), TBK_HERE(#condition))
#define REQUIRE(condition) tbk_require((condition), TBK_HERE(#condition))
/*
 * Of the test's own resources: broken, it is the suite's error, but where the library lowered a limit
 * of its process or took what there was.
 */
#define SUITE_REQUIRE(condition) tbk_suite_require((condition), TBK_HERE(#condition))

/* `call` is evaluated once, with `fx->error` as the place for its message. */
#define CHECK_STATUS(expected, call) \
  tbk_check_status((expected), (call), &fx->error, TBK_HERE(#call))
#define REQUIRE_STATUS(expected, call) \
  tbk_require(tbk_check_status((expected), (call), &fx->error, TBK_HERE(#call)), TBK_QUIET)
#define CHECK_OK(call) CHECK_STATUS(TBK_OK, call)
#define REQUIRE_OK(call) REQUIRE_STATUS(TBK_OK, call)

/* The same of a status that stands alone, or of a call that got no place for a message. */
#define CHECK_ANSWER(expected, seen) tbk_check_status((expected), (seen), NULL, TBK_HERE(#seen))

/* Of an out parameter after a refusal: a check of ERR-001, whatever the test is of. */
#define CHECK_KEPT(function, condition) \
  tbk_check_kept((condition), (function), TBK_HERE(#condition))

#define CHECK_EQUAL(expected, seen) \
  tbk_check_equal((int64_t)(expected), (int64_t)(seen), TBK_HERE(#seen))
/* On a difference the failure names the first byte that differs, and how many do. */
#define CHECK_BYTES(expected, seen, size_bytes) \
  tbk_check_bytes((expected), (seen), (size_bytes), TBK_HERE(#seen))
/* Fails with a text of its own: printf format and arguments for what was expected and seen. */
#define CHECK_SAID(condition, expected_text, ...) \
  tbk_check_said((condition), TBK_HERE(#condition), (expected_text), __VA_ARGS__)

/*
 * From here to the end of the block, a check that fails on this thread is one of `clause`, whatever the
 * test is of: inputs that were written to, a handle that is 0. NULL changes nothing. The first failed
 * check's clause goes into the record.
 */
#define TBK_CHECKS(clause) TBK_CHECKS_AT(clause, __LINE__)
#define TBK_CHECKS_AT(clause, line) TBK_CHECKS_NAMED(clause, line)
#define TBK_CHECKS_NAMED(clause, line)                                         \
  __attribute__((cleanup(tbk_checks_leave))) const char* outer_clause_##line = \
      tbk_checks_enter(clause)

typedef struct tbk_here {
  const char* file; /* NULL: already recorded, say nothing more */
  int line;
  const char* text;
} tbk_here_t;

#define TBK_HERE(text) ((tbk_here_t){__FILE__, __LINE__, (text)})
#define TBK_QUIET ((tbk_here_t){NULL, 0, NULL})

bool tbk_check(bool held, tbk_here_t here);
void tbk_require(bool held, tbk_here_t here);
void tbk_suite_require(bool held, tbk_here_t here);
bool tbk_check_status(tbk_status_t expected, tbk_status_t seen, const tbk_error_t* error,
                      tbk_here_t here);
bool tbk_check_kept(bool held, const char* function, tbk_here_t here);
bool tbk_check_equal(int64_t expected, int64_t seen, tbk_here_t here);
bool tbk_check_bytes(const void* expected, const void* seen, size_t size_bytes, tbk_here_t here);
bool tbk_check_said(bool held, tbk_here_t here, const char* expected, const char* seen_format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets what failures say besides, until it is called again; copied. NULL: nothing. */
void tbk_checks_context(const char* text);

/* For TBK_CHECKS: returns the clause that was in force on this thread before; and restores it. */
const char* tbk_checks_enter(const char* clause);
void tbk_checks_leave(const char** outer);

const char* tbk_status_name(tbk_status_t status);

/* What the checks of one case came to; read on the main thread when the case is over. */
typedef struct tbk_check_totals {
  uint64_t checks;
  uint64_t failures;
  uint64_t suite_faults; /* failures that are the suite's own */
  char where[128];       /* file:line of the first failure */
  char what[192];        /* the expression */
  char expected[256];
  char seen[512];  /* with the backend's message where there is one */
  char call[48];   /* the function that the failing thread had called last; empty for none */
  char clause[12]; /* of TBK_CHECKS; empty: the test's own */
} tbk_check_totals_t;

void tbk_checks_begin(void);
void tbk_checks_end(tbk_check_totals_t* out_totals);

#endif /* TBK_CONTRACTS_CHECK_H */
