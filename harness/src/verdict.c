/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * verdict.c: names, order and sums.
 */
#include "verdict.h"

#include <string.h>

static const struct {
  const char* name;
  bool fails;
} table[] = {
#define TBK_VERDICT_ROW(name, text, fails) {text, fails},
    TBK_VERDICT_MAP(TBK_VERDICT_ROW)
#undef TBK_VERDICT_ROW
};

const char* tbk_verdict_name(tbk_verdict_t verdict) {
  return table[verdict].name;
}

tbk_verdict_t tbk_verdict_of(const char* name) {
  for (int i = 0; i < TBK_VERDICT_COUNT; i++)
    if (strcmp(table[i].name, name) == 0) return (tbk_verdict_t)i;
  return TBK_VERDICT_COUNT;
}

bool tbk_verdict_fails(tbk_verdict_t verdict) {
  return table[verdict].fails;
}

uint64_t tbk_ledger_recorded(const tbk_ledger_t* ledger) {
  uint64_t sum = 0;
  for (int i = 0; i < TBK_VERDICT_COUNT; i++)
    sum += ledger->counts[i];
  return sum;
}

/* A run in which nothing was executed proves nothing, whatever it counts. */
static bool nothing_executed(const tbk_ledger_t* ledger) {
  return tbk_ledger_recorded(ledger) ==
         ledger->counts[TBK_VERDICT_UNSUPPORTED] + ledger->counts[TBK_VERDICT_LEFT_OUT];
}

tbk_exit_t tbk_ledger_exit(const tbk_ledger_t* ledger) {
  tbk_exit_t worst = TBK_EXIT_PASS;
  if (tbk_ledger_recorded(ledger) != ledger->planned) return TBK_EXIT_SUITE;
  if (ledger->counts[TBK_VERDICT_SUITE_ERROR] > 0) worst = TBK_EXIT_SUITE;
  /* A finding stands, whatever other test was at fault itself. */
  for (int i = 0; i < TBK_VERDICT_COUNT; i++)
    if (table[i].fails && i != TBK_VERDICT_SUITE_ERROR && ledger->counts[i] > 0)
      worst = TBK_EXIT_FINDINGS;
  if (worst == TBK_EXIT_PASS && nothing_executed(ledger)) worst = TBK_EXIT_NOTHING;
  return worst;
}
