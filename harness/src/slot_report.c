/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * slot_report.c: what a worker prints and what it reports, as it arrives; and what of it is handed over.
 */
#include "slot_parts.h"

#include "clock.h"
#include "protocol.h"
#include "text.h"

#include <string.h>
#include <unistd.h>

/* Copies what a process has written where it may have written anything; nothing where it is no text. */
static void take_text(char* out, size_t out_size, const char* said) {
  const size_t length = strnlen(said, out_size - 1);
  out[0] = '\0';
  for (size_t at = 0, step; at < length; at += step) {
    step = tbk_utf8_length(said + at, length - at);
    if (step == 0 || ((unsigned char)said[at] < ' ' && said[at] != '\n')) return;
  }
  tbk_print(out, out_size, "%.*s", (int)length, said);
}

/* Of a test that did not end, what its process noted last; one that did has told its calls. */
static void take_trace(tbk_slot_t* slot) {
  const tbk_trace_t* trace = &slot->journal->cells[slot->number]->trace;
  if (slot->outcome.ended) return;
  tbk_trace_text(trace->called, slot->outcome.report.calls);
  tbk_trace_text(trace->states, slot->outcome.report.states);
  slot->outcome.last_call = trace->last;
  take_text(slot->outcome.sweep_case, sizeof slot->outcome.sweep_case, trace->sweep_case);
  take_text(slot->outcome.stack, sizeof slot->outcome.stack,
            slot->journal->cells[slot->number]->stack);
}

/* A test is over; the phase is that in which it was last seen. */
void tbk_slot_hand_over(tbk_slot_t* slot, uint32_t position) {
  int32_t phase = slot->journal->cells[slot->number]->phase;
  bool known = phase >= TBK_PHASE_NONE && phase <= TBK_PHASE_EXIT;
  slot->outcome.phase = known ? (tbk_phase_t)phase : TBK_PHASE_BODY; /* else scribbled over */
  take_trace(slot);
  if (slot->on_outcome != NULL) slot->on_outcome(slot->context, slot, position, &slot->outcome);
}

/* The beginning, where a process says what it died of, and the end. */
static void keep_output(tbk_outcome_t* outcome, const char* bytes, size_t size) {
  outcome->output_bytes += size;
  size_t kept = outcome->output_size;
  if (kept < TBK_OUTPUT_HEAD) {
    size_t head = size < TBK_OUTPUT_HEAD - kept ? size : TBK_OUTPUT_HEAD - kept;
    memcpy(outcome->output + kept, bytes, head);
    kept = outcome->output_size += head;
    bytes += head;
    size -= head;
  }
  enum { TAIL = TBK_OUTPUT_MAX - TBK_OUTPUT_HEAD };
  if (size > TAIL) {
    bytes += size - TAIL;
    size = TAIL;
  }
  if (kept + size > TBK_OUTPUT_MAX) {
    char* tail = outcome->output + TBK_OUTPUT_HEAD;
    size_t drop = kept + size - TBK_OUTPUT_MAX;
    memmove(tail, tail + drop, kept - TBK_OUTPUT_HEAD - drop);
    kept -= drop;
  }
  memcpy(outcome->output + kept, bytes, size);
  outcome->output_size = kept + size;
}

/* At most a megabyte at a time, so that a worker that prints for ever does not hold the others. */
void tbk_slot_read_output(tbk_slot_t* slot) {
  static char block[65536];
  for (int i = 0; i < 16; i++) {
    ssize_t size = read(slot->output, block, sizeof block);
    if (size <= 0) return;
    keep_output(&slot->outcome, block, (size_t)size);
    if ((size_t)size < sizeof block) return;
  }
}

static void keep_facts(tbk_outcome_t* outcome, const json_t* facts) {
  static const char too_long[] = "{\"too_long\":true}";
  outcome->facts_size = 0;
  if (!json_is_object(facts)) return;
  size_t size = json_dumpb(facts, outcome->facts, sizeof outcome->facts, JSON_COMPACT);
  if (size > sizeof outcome->facts) {
    size = sizeof too_long - 1;
    memcpy(outcome->facts, too_long, size);
  }
  outcome->facts_size = size;
}

/* The test in flight is over, and the process goes on with the next. */
static void end_in_batch(tbk_slot_t* slot) {
  const uint64_t now = tbk_now_ns();
  tbk_slot_read_output(slot);
  slot->outcome.in_batch = true;
  slot->outcome.wall_ns = now - slot->test_started_ns;
  tbk_slot_hand_over(slot, slot->ended++);
  tbk_slot_begin_test(slot, now, slot->limits.next_ns);
}

/* A later test has ended: those before it are over, and nothing valid came of them. */
static void end_unheard(tbk_slot_t* slot, uint32_t before) {
  while (slot->ended < before) {
    slot->outcome.unheard = true;
    end_in_batch(slot);
  }
}

static void take_end(tbk_slot_t* slot, uint32_t n, const tbk_case_report_t* report,
                     const json_t* facts) {
  if (n < slot->ended || n >= slot->order.count || slot->outcome.ended) return; /* said twice */
  if (slot->kill_sent_ns != 0 && n + 1 < slot->order.count)
    return; /* too late: it is being killed for this test, not for the next */
  end_unheard(slot, n);
  slot->outcome.report = *report;
  keep_facts(&slot->outcome, facts);
  slot->outcome.ended = true;
  if (n + 1 < slot->order.count) end_in_batch(slot); /* else judged with the end of the process */
}

static void take_object(tbk_slot_t* slot, const char* text, size_t size) {
  static tbk_case_report_t report;
  uint32_t n = 0;
  json_t* object = NULL;
  memset(&report, 0, sizeof report);
  switch (tbk_protocol_read(text, size, &n, &report, &object)) {
    case TBK_SAID_END:
      take_end(slot, n, &report, object);
      break;
    case TBK_SAID_DONE:
      slot->outcome.done = true;
      slot->outcome.left_early = n <= slot->ended && !slot->outcome.ended;
      break;
    case TBK_SAID_OTHER:
      (void)json_array_append(slot->said, object);
      if (slot->on_said != NULL) slot->on_said(slot->context, slot, object);
      break;
    case TBK_SAID_NONSENSE:
      slot->outcome.noise += size; /* a line that another has written into */
      break;
  }
  json_decref(object);
}

static void take_line(tbk_slot_t* slot, const char* line, size_t size) {
  size_t object_size = size;
  const char* object = tbk_protocol_unmark(line, &object_size, slot->order.key);
  if (object != NULL && !slot->line_too_long)
    take_object(slot, object, object_size);
  else
    slot->outcome.noise += size;
  slot->line_too_long = false;
}

static void take_lines(tbk_slot_t* slot) {
  char* start = slot->line;
  char* end;
  size_t left = slot->line_size;
  while ((end = memchr(start, '\n', left)) != NULL) {
    take_line(slot, start, (size_t)(end - start));
    left -= (size_t)(end - start) + 1;
    start = end + 1;
  }
  memmove(slot->line, start, left);
  slot->line_size = left;
  if (left < sizeof slot->line) return;
  slot->outcome.noise += left;
  slot->line_size = 0;
  slot->line_too_long = true;
}

void tbk_slot_read_report(tbk_slot_t* slot) {
  for (int i = 0; i < 64; i++) {
    const size_t room = sizeof slot->line - slot->line_size;
    ssize_t size = read(slot->report, slot->line + slot->line_size, room);
    if (size <= 0) return;
    slot->line_size += (size_t)size;
    take_lines(slot);
    if ((size_t)size < room) return; /* there is no more for now */
  }
}
