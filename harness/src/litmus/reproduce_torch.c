/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reproduce_torch.c: a finding as a few lines of Python. The calls are those that were printed; before
 * them stands what they name, behind them what may be seen.
 */
#include <inttypes.h>
#include <string.h>

#include "report.h"
#include "steering.h"

/* Where it was found other programs went between, and each try was another device's state. */
enum { TIMES = 16 };

static const char* indent(const finding_t* finding) {
  return finding->has_rounds ? "    " : "";
}

static bool has_op(const litmus_program_t* p, unsigned op) {
  for (uint32_t i = 0; i < p->count; i++)
    if (p->calls[i].op == op) return true;
  return false;
}

static void write_gate(FILE* f, const char* gate) {
  fprintf(f,
          "from ctypes import *; from threading import Timer\n"
          "get = CFUNCTYPE(POINTER(c_void_p), c_uint32)((\"tbk_gate\", CDLL(\"%s\")))(1)\n",
          gate);
}

/* One gate is shut at a time. A host that waits meanwhile is let go by the timer. */
static void write_busy(FILE* f) {
  fprintf(
      f,
      "shut = CFUNCTYPE(c_int32, c_int32, c_void_p, c_void_p)(get[3])\n"
      "let = CFUNCTYPE(c_int32, c_void_p)(get[4])\n"
      "def busy(us):\n"
      "    s = torch.accelerator.current_stream(); let(None); Timer(0.05, let, [None]).start()\n"
      "    assert shut(s.device_index, s.native_handle, None) == 0\n");
}

/* A mark is a semaphore, which a stream that comes to it posts: that needs no function of Python's. */
static void write_marks(FILE* f) {
  fprintf(
      f,
      "call = CFUNCTYPE(c_int32, c_int32, c_void_p, c_void_p, c_void_p, c_void_p)(get[5])\n"
      "posted, values, count = [create_string_buffer(64) for _ in range(%d)], {}, c_int()\n"
      "def mark(m, v, s):\n"
      "    values[m], post = v, cast(CDLL(None).sem_post, c_void_p)\n"
      "    assert call(s.device_index, s.native_handle, post, addressof(posted[m]), None) == 0\n"
      "def passed(m): CDLL(None).sem_getvalue(posted[m], byref(count)); return count.value\n"
      "def look(m): return torch.tensor([values[m] if passed(m) else 0])\n",
      LITMUS_MARKS);
}

/* What stands in a literal of Python for bytes of any kind. */
static void write_bytes(FILE* f, const char* bytes, size_t count) {
  fprintf(f, "b\"");
  for (size_t i = 0; i < count; i++) {
    const unsigned char byte = (unsigned char)bytes[i];
    const bool plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
    fprintf(f, plain ? "%c" : "\\x%02x", byte);
  }
  fprintf(f, "\"");
}

static void write_steering(FILE* f) {
  for (const char* next = NULL; (next = tbk_steering_next(next)) != NULL;) {
    const char* equals = strchr(next, '=');
    fprintf(f, "import os; os.environb[");
    write_bytes(f, next, (size_t)(equals - next));
    fprintf(f, "] = ");
    write_bytes(f, equals + 1, strlen(equals + 1));
    fprintf(f, "\n");
  }
}

static void write_start(FILE* f, const hunt_subject_t* subject, const litmus_program_t* p,
                        const litmus_offers_t* offers) {
  write_steering(f);
  fprintf(f, "import torch");
  if (subject->library != NULL) {
    const char* quote = subject->options != NULL ? "\"" : "";
    fprintf(f, ", torch_tbk; torch_tbk.load(\"%s\", options=%s%s%s)", subject->library, quote,
            subject->options != NULL ? subject->options : "None", quote);
  }
  for (unsigned i = 0; i < subject->import_count; i++) /* which may change what the library is */
    fprintf(f, "; import %s", subject->imports[i]);
  fprintf(f, "\nd, n, u8 = torch.device(");
  if (subject->device != NULL)
    fprintf(f, "\"%s\"", subject->device);
  else
    fprintf(f, "torch._C._get_privateuse1_backend_name()");
  fprintf(f, ", 0), %" PRIu64 ", torch.uint8\n", p->size_bytes);
  const bool marks = has_op(p, LITMUS_CALLBACK_MARK);
  if ((has_op(p, LITMUS_DELAY) || marks) && subject->gate != NULL) write_gate(f, subject->gate);
  if (marks) write_marks(f);
  if (has_op(p, LITMUS_DELAY) && subject->gate != NULL)
    write_busy(f);
  else if (has_op(p, LITMUS_DELAY))
    fprintf(f, "busy = lambda us: torch.empty(us * %u, dtype=u8, device=d.type).fill_(0)\n",
            offers->bytes_per_us);
}

/* Forward is on a stream, and backward copies. The first one takes longer than a gate is shut. */
static void write_backward(FILE* f) {
  fprintf(f,
          "leaf, one = torch.ones(1, device=d, requires_grad=True), torch.ones(1, device=d)\n"
          "def backward(s, to, source):\n"
          "    with s: y = leaf.clone()\n"
          "    y.register_hook(lambda g: (to.copy_(source), None)[1]); y.backward(one)\n"
          "leaf.clone().backward(one)\n");
}

/* One gradient is a cell's on the other stream, the other one is zeros; the sum of both is copied. */
static void write_meet(FILE* f) {
  fprintf(f,
          "def meet(s, t, to, source):\n"
          "    leaf = torch.empty(n, device=d, requires_grad=True)\n"
          "    with s: y = leaf.view_as(leaf); b = y.view_as(y)\n"
          "    with t: a = y.view_as(y)\n"
          "    a.register_hook(lambda g: source.float()); b.register_hook(torch.zeros_like)\n"
          "    y.register_hook(lambda g: (to.copy_(g), None)[1])\n"
          "    torch.autograd.backward([a, b], [torch.empty_like(leaf)] * 2)\n");
}

static void write_threads(FILE* f) {
  fprintf(f,
          "from concurrent.futures import ThreadPoolExecutor as Thread\n"
          "t1, t2 = Thread(1), Thread(1)\n");
}

/* Whoever takes the batch is the only one who holds it. */
static void write_loader(FILE* f, bool has_threads) {
  if (!has_threads) fprintf(f, "from concurrent.futures import ThreadPoolExecutor as Thread\n");
  fprintf(f,
          "loader = Thread(1)\n"
          "def batch(h):\n"
          "    got = []; loader.submit(lambda: got.append(h.pin_memory())).result()\n"
          "    return got.pop()\n");
}

/* What a program and the look that was wrong need. */
typedef struct needs {
  const litmus_program_t* program;
  int cell, slot; /* looked at in the end; -1: not that */
} needs_t;

static bool program_names(const litmus_program_t* p, char letter, int number) {
  for (uint32_t i = 0; i < p->count; i++) {
    const litmus_call_t* c = &p->calls[i];
    int named = letter == 's'   ? c->stream
                : letter == 'e' ? c->event
                : letter == 'c' ? c->cell
                : letter == 'o' ? c->other
                                : c->slot;
    if (named == number && litmus_call_names(p, c, letter)) return true;
  }
  return false;
}

static bool is_named(const needs_t* needs, char kind, int number) {
  const litmus_program_t* p = needs->program;
  if ((kind == 'c' && number == needs->cell) || (kind == 'h' && number == needs->slot)) return true;
  if (kind == 's' && number == LITMUS_STREAMS - 1 && has_op(p, LITMUS_PEER_COPY)) return true;
  for (uint32_t i = 0; i < p->count && kind == 's'; i++)
    if (p->calls[i].op == LITMUS_MEET && number == litmus_meet_stream(p->calls[i].stream))
      return true;
  if (kind == 'c') return program_names(p, 'c', number) || program_names(p, 'o', number);
  return program_names(p, kind, number);
}

/* Some cells begin within their memory. */
static bool is_within(int cell) {
  return cell == 1 || cell == 4;
}

static void write_value(FILE* f, const litmus_program_t* p, char kind, int number) {
  const bool far = p->devices > 1 &&
                   (kind == 's' ? litmus_stream_device(p, number) : litmus_cell_device(p, number));
  const char* device = far ? "torch.device(d.type, 1)" : "d";
  if (kind == 's' && number == 0) fprintf(f, "torch.accelerator.current_stream(d)");
  if (kind == 's' && number != 0)
    fprintf(f, "torch.Stream(%s, priority=%d)", device, number % 2 ? -1 : 0);
  if (kind == 'e')
    fprintf(f, "torch.Event(d%s)", litmus_event_is_timed(number) ? ", enable_timing=True" : "");
  if (kind == 'c')
    fprintf(f,
            is_within(number) ? "torch.full((n + 64,), %d, dtype=u8).to(%s)[64:]"
                              : "torch.full((n,), %d, dtype=u8).to(%s)",
            LITMUS_FIRST_OF_CELLS + number, device);
  if (kind == 'h')
    fprintf(f, "torch.full((n,), %d, dtype=u8%s)", LITMUS_FIRST_OF_SLOTS + number,
            p->pinned && number < LITMUS_SLOTS / 2 ? ", pin_memory=True" : "");
}

/* All that was enqueued is complete. */
static void write_synchronize(FILE* f, const litmus_program_t* p, const char* before) {
  if (p->devices > 1)
    fprintf(f, "%sfor i in (0, 1): torch.accelerator.synchronize(i)\n", before);
  else
    fprintf(f, "%storch.accelerator.synchronize()\n", before);
}

static const char* prefix(char kind, int number) {
  if (kind != 'h') return kind == 's' ? "s" : kind == 'e' ? "e" : "m";
  return number < LITMUS_SLOTS / 2 ? "pinned" : "host";
}

/* "s0, s2 = ..., ...": all of a kind that are named; false: none is. */
static bool write_things(FILE* f, const needs_t* needs, const char* before, char kind, int count) {
  int named[LITMUS_SLOTS], many = 0;
  for (int number = 0; number < count; number++)
    if (is_named(needs, kind, number) && !(kind == 'c' && litmus_cell_is_async(number)))
      named[many++] = number;
  for (int i = 0; i < many; i++)
    fprintf(f, "%s%s%d", i > 0 ? ", " : before, prefix(kind, named[i]), named[i]);
  for (int i = 0; i < many; i++) {
    fprintf(f, i > 0 ? ", " : " = ");
    write_value(f, needs->program, kind, named[i]);
  }
  return many > 0;
}

/* Memory that is allocated holds what was there before: that which the program takes has been used by
   somebody else, as where it was found. */
static void write_used_memory(FILE* f, const litmus_program_t* p, const char* before) {
  for (int stream = 0; stream < LITMUS_STREAMS; stream++) {
    unsigned taken = 0;
    for (uint32_t i = 0; i < p->count; i++)
      taken += p->calls[i].op == LITMUS_ASYNC_ALLOC && p->calls[i].stream == stream;
    if (taken == 0) continue;
    fprintf(f, "%swith s%d: ", before, stream);
    if (taken > 1) fprintf(f, "[");
    fprintf(f, "torch.full((n,), %d, dtype=u8).to(d)", LITMUS_FIRST_OF_CELLS + LITMUS_CELLS - 1);
    if (taken > 1) fprintf(f, " for _ in range(%u)]", taken);
    fprintf(f, "  # used before\n");
  }
}

/* A line for streams and events, one for cells, one for slots. */
static void write_all_things(FILE* f, const needs_t* needs, const char* before) {
  const bool streams = write_things(f, needs, before, 's', LITMUS_STREAMS);
  if (write_things(f, needs, streams ? "; " : before, 'e', LITMUS_EVENTS) || streams)
    fprintf(f, "\n");
  if (write_things(f, needs, before, 'c', LITMUS_CELLS)) fprintf(f, "\n");
  if (write_things(f, needs, before, 'h', LITMUS_SLOTS)) fprintf(f, "\n");
}

/* The name of what is looked at; NULL: no look was wrong. */
static const char* place_of(const litmus_model_t* model, const litmus_read_t* read, char out[16]) {
  if (read->call_id != LITMUS_END)
    snprintf(out, 16, "seen");
  else if (read->place < LITMUS_SLOTS)
    snprintf(out, 16, "%s%d", read->place < LITMUS_SLOTS / 2 ? "pinned" : "host", read->place);
  else
    snprintf(out, 16, "m%d", model->cell_of[read->place]);
  return out;
}

static void write_in_thread(FILE* f, const litmus_call_t* call, bool polls, const char* text) {
  fprintf(f, "t%u.submit(exec, \"", call->thread);
  if (polls) fprintf(f, "asked%u = ", call->id);
  fprintf(f, "%s\", globals()).result()\n", text);
}

static void write_calls(FILE* f, const finding_t* finding, const char* before,
                        const litmus_read_t* read) {
  const litmus_program_t* p = &finding->shrunk.program;
  for (uint32_t i = 0; i < p->count; i++) {
    const litmus_call_t* call = &p->calls[i];
    const bool polls = call->op == LITMUS_EVENT_POLL || call->op == LITMUS_STREAM_POLL;
    char text[LITMUS_TEXT];
    const bool looks = call->op == LITMUS_HOST_READ || call->op == LITMUS_HOST_LOOK;
    if (looks && (read == NULL || read->call_id != call->id)) continue;
    litmus_call_t by_one = *call; /* the text names no thread */
    by_one.thread = 0;
    litmus_call_text(p, &by_one, text);
    fprintf(f, "%s", before);
    if (call->op == LITMUS_THREAD_RENEW)
      fprintf(f, "t%u.shutdown(); t%u = Thread(1)\n", call->thread, call->thread);
    else if (call->thread > 0)
      write_in_thread(f, call, polls, text);
    else if (polls)
      fprintf(f, "asked%u = %s\n", call->id, text);
    else
      fprintf(f, "%s\n", text);
  }
}

static void write_check(FILE* f, const finding_t* finding, const char* before,
                        const litmus_model_t* model, const litmus_read_t* read) {
  const litmus_program_t* p = &finding->shrunk.program;
  char place[16];
  fprintf(f, "%sassert ", before);
  for (uint32_t i = 0; i < p->count; i++)
    if (p->calls[i].op == LITMUS_EVENT_POLL || p->calls[i].op == LITMUS_STREAM_POLL)
      fprintf(f, "asked%u != %s or ", p->calls[i].id,
              finding->shrunk.result.answered >> i & 1 ? "True" : "False");
  fprintf(f, "set(%s.tolist()) <= {", place_of(model, read, place));
  for (int v = 0, first = 1; v < 256; v++) {
    if (!litmus_values_have(&read->values, (uint8_t)v)) continue;
    fprintf(f, "%s0x%02x", first ? "" : ", ", v);
    first = 0;
  }
  fprintf(f, "}, %s\n", place);
}

static needs_t needs_of(const litmus_program_t* p, const litmus_model_t* model,
                        const litmus_read_t* read) {
  needs_t needs = {p, -1, -1};
  if (read == NULL || read->call_id != LITMUS_END) return needs;
  if (read->place < LITMUS_SLOTS)
    needs.slot = read->place;
  else
    needs.cell = model->cell_of[read->place];
  return needs;
}

void reproduce_torch(FILE* f, const hunt_subject_t* subject, const litmus_offers_t* offers,
                     const finding_t* finding) {
  static litmus_model_t model;
  const litmus_program_t* p = &finding->shrunk.program;
  const litmus_result_t* result = &finding->shrunk.result;
  const char* before = indent(finding);
  const bool built = litmus_model_build(&model, p, result->answered, 0, 0);
  const litmus_read_t* read =
      result->outcome == LITMUS_WRONG && built ? &model.reads[result->wrong.read] : NULL;
  write_start(f, subject, p, offers);
  if (has_op(p, LITMUS_BACKWARD)) write_backward(f);
  if (has_op(p, LITMUS_MEET)) write_meet(f);
  if (p->threads > 1) write_threads(f);
  if (has_op(p, LITMUS_LOADED_UPLOAD)) write_loader(f, p->threads > 1);
  if (*before != '\0') fprintf(f, "for _ in range(%u):\n", TIMES * finding->shrunk.repeats);
  const needs_t needs = needs_of(p, &model, read);
  write_all_things(f, &needs, before);
  if (finding->has_rounds && has_op(p, LITMUS_CALLBACK_MARK))
    fprintf(f, "%sfor one in posted: memset(one, 0, sizeof(one))\n", before);
  if (finding->uses_memory_first) write_used_memory(f, p, before);
  write_synchronize(f, p, before);
  write_calls(f, finding, before, read);
  write_synchronize(f, p, before);
  if (read != NULL) write_check(f, finding, before, &model, read);
  for (uint32_t i = 0; i < p->count && result->outcome == LITMUS_MISCOUNTED; i++)
    if (p->calls[i].op == LITMUS_CALLBACK_MARK)
      fprintf(f, "%sassert passed(%d) == 1\n", before, p->calls[i].mark);
}
