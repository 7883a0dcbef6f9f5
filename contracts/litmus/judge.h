/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * judge.h: what was seen against what is legal, and why it is not.
 */
#ifndef TBK_LITMUS_JUDGE_H
#define TBK_LITMUS_JUDGE_H

#include "model.h"

/* What a program saw: the bytes of each look, by the id of its call; and of the end. */
typedef struct litmus_seen {
  uint64_t answered;                    /* a bit for each call that is a poll: it was answered OK */
  const uint8_t* by_call[LITMUS_CALLS]; /* NULL: that call does not look; of a mark one byte */
  const uint8_t* slots[LITMUS_SLOTS];
  const uint8_t* cells[LITMUS_CELLS]; /* NULL: not allocated at the end */
} litmus_seen_t;

typedef struct litmus_wrong {
  uint32_t read;  /* index in the model's reads */
  uint32_t other; /* that it disagrees with; LITMUS_READS: none */
  uint64_t at;    /* the first byte that is not legal */
  uint8_t value, other_value;
} litmus_wrong_t;

/*
 * Returns whether something that was seen is not legal. A byte must be one that some legal write wrote.
 * And two looks that see the same writes, with nothing racing any more, see the same contents: what
 * is in memory stays there (MEM-006).
 */
bool litmus_judge(litmus_model_t* model, const litmus_seen_t* seen, litmus_wrong_t* out_wrong);

/* Returns whether `seen`, of another program with the same calls but one, is not legal in this model. */
bool litmus_differs(litmus_model_t* model, litmus_model_t* other, const litmus_seen_t* seen);

/* Why it is wrong: lines of text, and the same as a picture has it. */
enum {
  LITMUS_LINES = 40,
  LITMUS_LINE = 200,
  LITMUS_LINKS = 48,
  LITMUS_BEGINNING = -1, /* in the place of a call, as is the program's count: the end */
  LITMUS_NOBODY = -2
};
typedef struct litmus_link {
  int16_t from, to; /* calls */
  uint8_t kind;
} litmus_link_t;
typedef struct litmus_reason {
  uint32_t count;
  char lines[LITMUS_LINES][LITMUS_LINE];
  uint64_t edges; /* bits of the kinds in the chain */
  uint32_t link_count;
  litmus_link_t links[LITMUS_LINKS]; /* the chain */
  int16_t read, other;               /* the calls that look; LITMUS_NOBODY: no other */
  int16_t wrote;                     /* the call whose value was seen */
  int16_t over;                      /* and the one that writes over it */
  const char* clause;                /* that is broken and no kind of edge cites, or NULL */
  bool names_beginning;              /* it may be late, what memory holds before the calls */
  uint32_t moved_count;
  int16_t moved[LITMUS_LINKS]; /* the copies by which it came, the first one first */
} litmus_reason_t;
/* Of several explanations the one that names many calls, since of the smallest program all are needed,
   and few copies by which the value came. */
void litmus_explain(litmus_model_t* model, const litmus_wrong_t* wrong,
                    litmus_reason_t* out_reason);
/* Returns bits of the calls that it names: who looked, whose value was seen, and the chain. */
uint64_t litmus_reason_calls(const litmus_reason_t* reason);

#endif /* TBK_LITMUS_JUDGE_H */
