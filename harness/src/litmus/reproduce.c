/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reproduce.c: a finding as a C file: the calls that are left, a line each, and which bytes are legal. What opens
 * the library and makes what they name is tbk_alone.h, which stands beside tbk.h and needs nothing
 * of the suite.
 */
#include <inttypes.h>
#include <string.h>

#include "report.h"
#include "shell.h"
#include "steering.h"

/* A call as tbk_alone.h has it. %s is a stream, %e an event, %c a cell, %o another cell, %h a slot, %v a value,
   %d a device, %m a mark, %u a time, %a how a query was answered. */
static const char* const texts[LITMUS_OPS] = {
    [LITMUS_FILL] = "fill(%c, %v, %s)",
    [LITMUS_UPLOAD] = "upload(%c, %h, %s)",
    [LITMUS_DOWNLOAD] = "download(%h, %c, %s)",
    [LITMUS_COPY] = "copy(%c, %o, %s)",
    [LITMUS_KERNEL_FILL] = "launch_fill(%c, %v, %s)",
    [LITMUS_KERNEL_COPY] = "launch_copy(%c, %o, %s)",
    [LITMUS_PEER_COPY] = "peer_copy(%c, %o, %s)",
    [LITMUS_CALLBACK_READ] = "callback_reads(%h, %s)",
    [LITMUS_CALLBACK_MARK] = "callback_sets(%m, %v, %s)",
    [LITMUS_CALLBACK_LOOK] = "callback_looks(%m, %s)",
    [LITMUS_DELAY] = "callback_sleeps(%u, %s)",
    [LITMUS_WAIT] = "event_wait(%s, %e)",
    [LITMUS_ASYNC_ALLOC] = "async_alloc(%c, %s)",
    [LITMUS_ASYNC_FREE] = "async_free(%c, %s)",
    [LITMUS_RECORD] = "event_record(%e, %s)",
    [LITMUS_EVENT_SYNCHRONIZE] = "event_synchronize(%e)",
    [LITMUS_EVENT_POLL] = "event_query(%e, %a)",
    [LITMUS_EVENT_SPIN] = "event_query_until_ok(%e)",
    [LITMUS_STREAM_SYNCHRONIZE] = "stream_synchronize(%s)",
    [LITMUS_STREAM_POLL] = "stream_query(%s, %a)",
    [LITMUS_STREAM_SPIN] = "stream_query_until_ok(%s)",
    [LITMUS_DEVICE_SYNCHRONIZE] = "device_synchronize(%d)",
    [LITMUS_EVENT_RENEW] = "event_renew(%e)",
    [LITMUS_STREAM_RENEW] = "stream_renew(%s)",
    [LITMUS_MISTAKE] = "event_wait_of_nothing(%s)",
    [LITMUS_HOST_WRITE] = "host_sets(%h, %v)",
    [LITMUS_HOST_READ] = "host_reads(%h)",
    [LITMUS_HOST_LOOK] = "host_looks(%m)",
    [LITMUS_AWAIT_MARK] = "host_awaits(%m, %s)",
    [LITMUS_CELL_RENEW] = "memory_renew(%c)",
    [LITMUS_THREAD_RENEW] = NULL, /* as thread_renew, with its number */
};

static void put_slot(FILE* f, int slot) {
  fprintf(f, "%s%d", slot < LITMUS_SLOTS / 2 ? "pinned" : "host", slot);
}

static void put(FILE* f, const litmus_call_t* c, char what, bool answered) {
  switch (what) {
    case 's':
      fprintf(f, c->stream < 0 ? "no_stream" : "s%d", c->stream);
      break;
    case 'e':
      fprintf(f, "e%d", c->event);
      break;
    case 'c':
    case 'o':
      fprintf(f, "m%d", what == 'c' ? c->cell : c->other);
      break;
    case 'h':
      put_slot(f, c->slot);
      break;
    case 'v':
      fprintf(f, "0x%02x", c->value);
      break;
    case 'd':
      fprintf(f, "%d", c->device);
      break;
    case 'm':
      fprintf(f, "%d", c->mark);
      break;
    case 'a':
      fprintf(f, answered ? "TBK_OK" : "TBK_NOT_READY");
      break;
    default:
      fprintf(f, "%u", c->microseconds);
  }
}

static void write_text(FILE* f, const litmus_call_t* c, bool answered) {
  for (const char* at = texts[c->op]; *at != '\0'; at++)
    if (*at == '%')
      put(f, c, *++at, answered);
    else
      fputc(*at, f);
}

/* The looks that are judged: one, or two that must see the same; of those at the end there is no call. */
typedef struct judged {
  const litmus_model_t* model; /* NULL: it is not what was seen that is wrong */
  const litmus_read_t* looks[2];
} judged_t;

static bool is_judged(const judged_t* judged, unsigned id) {
  for (int i = 0; i < 2; i++)
    if (judged->looks[i] != NULL && judged->looks[i]->call_id == id) return true;
  return false;
}

static void write_call(FILE* f, const finding_t* finding, uint32_t index, const judged_t* judged) {
  const litmus_program_t* p = &finding->shrunk.program;
  const litmus_call_t* c = &p->calls[index];
  fprintf(f, "  ");
  if (p->threads > 1) fprintf(f, "BY(%d, %u, %d) ", c->thread, index, c->meanwhile);
  if (c->op == LITMUS_THREAD_RENEW) {
    fprintf(f, "{ thread_renew(%d, %u); return; }\n", c->thread, index);
    return;
  }
  if (c->more > 0) fprintf(f, "for (int i = 0; i < %d; i++) ", c->more + 1);
  if (c->parts > 0) {
    uint64_t at, bytes;
    litmus_call_range(p, c, &at, &bytes);
    fprintf(f, "of(%" PRIu64 ", %" PRIu64 "), ", at, bytes);
  }
  if (is_judged(judged, c->id)) fprintf(f, "judged(), ");
  write_text(f, c, finding->shrunk.result.answered >> index & 1);
  fprintf(f, ";\n");
}

/* What is looked at when all is complete. */
static void write_end(FILE* f, const litmus_program_t* p, const judged_t* judged) {
  const char* first = p->threads > 1 ? "if (thread == 0) all_complete()" : "all_complete()";
  for (int i = 0; i < 2; i++) {
    const litmus_read_t* read = judged->looks[i];
    if (read == NULL || read->call_id != LITMUS_END) continue;
    fprintf(f, "  %s, judged(), ", first);
    if (read->place < LITMUS_SLOTS) {
      fprintf(f, "host_reads(");
      put_slot(f, read->place);
    } else {
      fprintf(f, "host_reads_cell(m%d", judged->model->cell_of[read->place]);
    }
    fprintf(f, ");\n");
  }
}

static judged_t find_judged(const finding_t* finding, litmus_model_t* model) {
  const litmus_program_t* p = &finding->shrunk.program;
  const litmus_result_t* result = &finding->shrunk.result;
  judged_t judged = {NULL, {NULL, NULL}};
  if (result->outcome != LITMUS_WRONG || !litmus_model_build(model, p, result->answered, 0, 0))
    return judged;
  litmus_model_read(model, litmus_part_of(p, result->wrong.at));
  judged.model = model;
  judged.looks[0] = &model->reads[result->wrong.read];
  if (result->wrong.other != LITMUS_READS) judged.looks[1] = &model->reads[result->wrong.other];
  return judged;
}

/* How often the calls are made, the bytes of the part that is wrong, and what they may be. */
static void write_legal(FILE* f, const finding_t* finding, const judged_t* judged) {
  fprintf(f, ",\n       .rounds = %u", finding->rounds);
  if (judged->model == NULL) return;
  const litmus_program_t* p = &finding->shrunk.program;
  const int part = judged->model->part, place = judged->looks[0]->place;
  const bool is_mark = place >= LITMUS_PLACE_OF_MARKS && place < LITMUS_PLACE_OF_CELLS;
  fprintf(f, ", .from = %" PRIu64 ", .to = %" PRIu64, litmus_part_at(p, part),
          is_mark ? 1 : litmus_part_at(p, part + 1));
  if (judged->looks[1] != NULL) return;
  fprintf(f, ", .legal = {");
  const char* comma = "";
  for (int v = 0; v < 256; v++) {
    if (!litmus_values_have(&judged->looks[0]->values, (uint8_t)v)) continue;
    fprintf(f, "%s[0x%02x] = 1", comma, (unsigned)v);
    comma = ", ";
  }
  fprintf(f, "}");
}

static void write_bits(FILE* f, const char* name, uint32_t bits) {
  if (bits == 0) return;
  fprintf(f, ", .%s = ", name);
  for (const char* bar = ""; bits != 0; bits &= bits - 1, bar = " | ")
    fprintf(f, "%s1 << %d", bar, __builtin_ctz(bits));
}

/* The streams before those that are named, too: a scheduler that takes its choices from a seed tells
   streams by how many there were before. */
static void write_things(FILE* f, const litmus_program_t* p) {
  const litmus_uses_t uses = litmus_program_uses(p);
  const int streams = uses.streams == 0 ? 0 : 32 - __builtin_clz(uses.streams);
  fprintf(f, "LITMUS(.devices = %u, .bytes = %" PRIu64 ", .streams = %d", p->devices, p->size_bytes,
          streams);
  write_bits(f, "events", uses.events);
  /* So that lines stay below a hundred columns. */
  const bool many = __builtin_popcount(uses.events) + __builtin_popcount(uses.cells) > 4;
  if (many) fprintf(f, ",\n       .cells = 0x%x, .slots = 0x%x", uses.cells, uses.slots);
  if (!many) write_bits(f, "cells", uses.cells);
  if (!many) write_bits(f, "slots", uses.slots);
  if (p->threads > 1) fprintf(f, ", .threads = %u, .calls = %u", p->threads, p->count);
}

/* Puts it into a comment. An asterisk stands in quotes of the shell, which may end before the slash. */
static void write_words(FILE* f, const char* words, const char* quotes) {
  for (const char* at = words; *at != '\0'; at++) {
    fputc(*at, f);
    if (at[0] == '*' && at[1] == '/') fputs(quotes, f);
  }
}

/* How the program is started. */
static void write_run(FILE* f, const char* options) {
  char begins[4096] = "";
  tbk_steering_add(begins, sizeof begins);
  fprintf(f, " * ");
  write_words(f, begins, "''");
  fprintf(f, "%s./a.out LIB \"", begins[0] != '\0' ? " " : "");
  write_words(f, options, "\"\"");
  fprintf(f, "\"\n");
}

static void write_comment(FILE* f, const hunt_subject_t* subject, const finding_t* finding) {
  fprintf(f,
          "/*\n * SPDX-FileCopyrightText: the tbk authors\n"
          " * SPDX-License-Identifier: BSD-3-Clause\n *\n"
          " * cc litmus.c -I<folder of tbk_alone.h> -I<folder of tbk/tbk.h> -ldl -lpthread\n");
  write_run(f, subject->options == NULL ? "" : subject->options);
  fprintf(f, " * ends with 1 where it shows, and with 0 where it does not\n *\n");
  if (finding->rounds > ALONE_ROUNDS)
    fprintf(f, " * It need not show each time: it is tried %u times.\n *\n", finding->rounds);
  if (finding->shrunk.processes > 1)
    fprintf(
        f, " * Some processes show it and others do not: run it again where it ends with 0.\n *\n");
  for (uint32_t i = 0; i < finding->reason.count; i++)
    fprintf(f, " * %s\n", finding->reason.lines[i]);
  fprintf(f, " */\n");
}

void reproduce(FILE* f, const hunt_subject_t* subject, const finding_t* finding) {
  static litmus_model_t model;
  const litmus_program_t* p = &finding->shrunk.program;
  const judged_t judged = find_judged(finding, &model);
  write_comment(f, subject, finding);
  fprintf(f, "#include <tbk_alone.h>\n\n");
  write_things(f, p);
  write_legal(f, finding, &judged);
  fprintf(f, ") {\n");
  for (uint32_t i = 0; i < p->count; i++)
    write_call(f, finding, i, &judged);
  write_end(f, p, &judged);
  fprintf(f, "}\n");
}
