/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * motif.c: the series as text: a letter for what is done, one for the stream (a, b, c, or n for
 * NULL; d is that of device 1; 0 the default one; - where none is named). The cell is the motif's.
 *
 *   W write, R read, G download, U upload   of the cell
 *   r record, w wait, s synchronise, q query until OK, e renew   the event; t, u: record, wait for another
 *   S synchronise, Q query until OK, Z renew   the stream; D synchronise the device
 *   m set the mark, l look at it, k look from the host, h await it; v set, j await another; b keep the stream busy
 *   c callback that reads the slot
 *   H read, O write   the slot, by the host
 *   x allocate, f free   the cell in order; y allocate, V write, T read   another
 *   K write, L download, P peer copy to   the cell of device 1; X record, Y wait for   its event
 *   N renew the cell; J the thread ends, and another takes its place
 *   PyTorch's: A write, E download   the cell by a copy that blocks; B record the cell on the stream;
 *   M upload from pinned memory that is dropped; C backward writes the cell, of forward on the stream;
 *   I another is the sum of gradients, of which the cell is one
 *   F empty the cache, so that what is allocated next is of a segment of its own
 */
#include "motif.h"

#include <string.h>

static const char* const series[] = {
    "WarawbRb",       "RarawbWb",     "WarawbWbRb",
    "raWarawbRb",     "Warawbe-Rb",   "wbWaraRb",
    "WarawbtbucRc",   "WaraZawbRb",   "WararbwcRc",
    "Waras-Rb",       "Waraq-Rb",     "raWaras-Rb",
    "WaSaRb",         "WaQaRb",       "WaD-Rb",
    "RaSaWb",         "RaD-Wb",       "Raras-Wb",
    "GaSaH-",         "Garas-H-",     "Garaq-H-",
    "GaQaH-",         "GaD-H-",       "Gaca",
    "GarawbcbSbH-",   "UaSaO-",       "Uaras-O-",
    "Uaraq-O-",       "UaQaO-",       "UaD-O-",
    "UamahaO-",       "WamahaRb",     "mala",
    "marawblb",       "maSak-",       "maraq-k-",
    "maras-k-",       "mahaRb",       "WnRa",
    "WaSaRn",         "WnWnRb",       "WaSaGnH-",
    "WnrawbRb",       "WaWbD-Rc",     "xaWafaybVbTb",
    "xaWaRafaybVbTb", "xaWafaycVcTc", "xarawbWbtbuafaycVcTc",
    "KdXdYbPb",       "PbrbwdLd",     "KdXdYbPbrbwdLd",
    "KdXdYbWbRc",     "WarawdKdSdLn", "WaWaWaWaWaWaWaWaWaras-Rb",
};
enum { SERIES = sizeof series / sizeof *series };

/* What a thread leaves behind when it ends: what it made, what it enqueued, what it waited for. All up
   to its end is done by one thread, which is not the first. */
static const char* const thread_series[] = {
    "N-WnJ-Rn",   "D-N-WnJ-Rn",   "D-N-WaSaJ-Rb", "ZaJ-WaRaSa", "ZaWaJ-RaSa", "WaJ-Ra",
    "WaraJ-wbRb", "e-WaraJ-wbRb", "WaSaJ-Rb",     "WaraJ-s-Rb", "WamaJ-haRb",
};
enum { THREAD_SERIES = sizeof thread_series / sizeof *thread_series };

/* Those that speak of callbacks, of streams that go or of stream NULL have no place in PyTorch. */
static const char* const torch_series[] = {
    "WarawbRb",
    "RarawbWb",
    "WarawbWbRb",
    "raWarawbRb",
    "Warawbe-Rb",
    "wbWaraRb",
    "WarawbtbucRc",
    "WararbwcRc",
    "Waras-Rb",
    "Waraq-Rb",
    "raWaras-Rb",
    "WaSaRb",
    "WaQaRb",
    "WaD-Rb",
    "RaSaWb",
    "RaD-Wb",
    "Raras-Wb",
    "GaSaH-",
    "Garas-H-",
    "Garaq-H-",
    "GaQaH-",
    "GaD-H-",
    "UaSaO-",
    "Uaras-O-",
    "Uaraq-O-",
    "UaQaO-",
    "UaD-O-",
    "UaO-Rb",
    "UaO-RaSaH-",
    "AaO-Ra",
    "WaEaRb",
    "WaEaH-",
    "RaEaWb",
    "WarawbEbH-",
    "WaWbD-Rc",
    "xaWafaybVbTb",
    "xaWaRafaybVbTb",
    "xaWafaycVcTc",
    "xarawbWbtbuafaycVcTc",
    "xarawbWbBbfaybVbTb",
    "xarawbRbBbfayaVaTa",
    "xarawbRbBbfaycVcTc",
    "xarawbWbBbfayaVaTa",
    "KdXdYbPb",
    "PbrbwdLd",
    "KdXdYbPbrbwdLd",
    "KdXdYbWbRc",
    "PbLd",
    "KdPb",
    "MaRa",
    "MaMaMaRa",
    "UaMaMbRaRb",
    "OaMaOaMbRaRb",
    "CaRa",
    "CaR0",
    "WaCaR0",
    "WaCaRa",
    "CaS0H-",
    "CaG0S0H-",
    "r0waCaR0",
    "WbIaTa",
    "WbIaT0",
    "F-xaWaSaRa",
    "F-xaybWaVbSaSbRaTb",
    "xaWafaF-ybVbTb",
    "WaZaWbRa",
};
enum { TORCH_SERIES = sizeof torch_series / sizeof *torch_series };

/* Of a gate's marks. Of those with two marks one in many shows what is wrong. */
static const char* const mark_series[] = {
    "WamahaRb",       "UamahaO-",         "GamahaH-",         "mahaRb",       "maSak-",
    "maWaSak-",       "maras-k-",         "maraq-k-",         "maD-k-",       "RamahaWb",
    "marawbSbk-",     "mabaWavajaRb",     "mabaWavajaRb",     "mabaWavajaRb", "mababaWavajaRb",
    "mababaWavajaRb", "mabababaWavajaRb", "mabababaWavajaRb",
};
enum { MARK_SERIES = sizeof mark_series / sizeof *mark_series, MARKS_IN = 4 };

/* Those of them that a thread of PyTorch's can leave behind. A stream that was taken just now has no memory
   left over, so what is allocated on it is the thread's. */
static const char* const torch_thread_series[] = {
    "WaJ-Ra",         "WaSaJ-Rb",       "WaraJ-wbRb",   "e-WaraJ-wbRb", "WaraJ-s-Rb",
    "CaJ-R0",         "xaWaJ-fayaVaTa", "xaJ-WaRa",     "GaJ-SaH-",     "MaJ-Ra",
    "ZaJ-WaRaSa",     "ZaWaJ-RaSa",     "F-xaWaSaJ-Ra", "F-xaWaJ-RaSa", "F-ZaxaWaSaJ-Ra",
    "F-ZaxaWaJ-RaSa", "F-ZaxaJ-faF-",
};
enum { TORCH_THREAD_SERIES = sizeof torch_thread_series / sizeof *torch_thread_series };

static unsigned below(uint64_t* random, unsigned limit) {
  return (unsigned)((litmus_random(random) >> 32) * limit >> 32);
}

static const char* series_of(const litmus_program_t* program, uint64_t* random) {
  const bool ends_thread = program->threads > 1 && below(random, 2) == 0;
  if (program->torch && ends_thread) return torch_thread_series[below(random, TORCH_THREAD_SERIES)];
  if (program->marks && below(random, MARKS_IN) == 0)
    return mark_series[below(random, MARK_SERIES)];
  if (program->torch) return torch_series[below(random, TORCH_SERIES)];
  if (ends_thread) return thread_series[below(random, THREAD_SERIES)];
  return series[below(random, SERIES)];
}

litmus_motif_t litmus_motif_of(const litmus_program_t* program, const char* text,
                               uint64_t* random) {
  const unsigned shared = program->devices > 1 ? 1 : 0; /* the last of each is device 1's */
  const unsigned streams = LITMUS_STREAMS - shared, events = LITMUS_EVENTS - shared;
  const unsigned cells = LITMUS_CELLS - 2 - shared;
  litmus_motif_t motif = {.rest = text,
                          .slot = (int8_t)below(random, LITMUS_SLOTS),
                          .mark = (uint8_t)below(random, LITMUS_MARKS)};
  const unsigned first = below(random, streams), step = 1 + below(random, 2) * (streams - 2);
  for (unsigned i = 0; i < 3; i++)
    motif.streams[i] = (int8_t)((first + i * step) % streams);
  motif.events[0] = (int8_t)below(random, events);
  motif.events[1] = (int8_t)((unsigned)motif.events[0] + 1 + below(random, events - 1));
  motif.events[1] = (int8_t)((unsigned)motif.events[1] % events);
  motif.cell = (int8_t)below(random, cells);
  motif.other = (int8_t)(((unsigned)motif.cell + 1 + below(random, cells - 1)) % cells);
  if (program->threads > 1) motif.thread = (uint8_t)(1 + below(random, program->threads - 1));
  if (strchr(motif.rest, 'x') != NULL) { /* of memory in the order of a stream */
    motif.cell = LITMUS_CELLS - 2;
    motif.other = LITMUS_CELLS - 1;
  }
  return motif;
}

litmus_motif_t litmus_motif_draw(const litmus_program_t* program, uint64_t* random) {
  return litmus_motif_of(program, series_of(program, random), random);
}

static litmus_op_t one_of(uint64_t* random, litmus_op_t a, litmus_op_t b, litmus_op_t c) {
  const unsigned at = below(random, 3);
  return at == 0 ? a : at == 1 ? b : c;
}

/* Of letters that always stand for the same; one more than the operation, 0: drawn. */
static const uint8_t plain['z' + 1] = {
    ['G'] = 1 + LITMUS_DOWNLOAD,
    ['U'] = 1 + LITMUS_UPLOAD,
    ['r'] = 1 + LITMUS_RECORD,
    ['w'] = 1 + LITMUS_WAIT,
    ['s'] = 1 + LITMUS_EVENT_SYNCHRONIZE,
    ['q'] = 1 + LITMUS_EVENT_SPIN,
    ['e'] = 1 + LITMUS_EVENT_RENEW,
    ['t'] = 1 + LITMUS_RECORD,
    ['u'] = 1 + LITMUS_WAIT,
    ['S'] = 1 + LITMUS_STREAM_SYNCHRONIZE,
    ['Q'] = 1 + LITMUS_STREAM_SPIN,
    ['Z'] = 1 + LITMUS_STREAM_RENEW,
    ['D'] = 1 + LITMUS_DEVICE_SYNCHRONIZE,
    ['m'] = 1 + LITMUS_CALLBACK_MARK,
    ['l'] = 1 + LITMUS_CALLBACK_LOOK,
    ['k'] = 1 + LITMUS_HOST_LOOK,
    ['v'] = 1 + LITMUS_CALLBACK_MARK,
    ['b'] = 1 + LITMUS_DELAY,
    ['j'] = 1 + LITMUS_AWAIT_MARK,
    ['h'] = 1 + LITMUS_AWAIT_MARK,
    ['c'] = 1 + LITMUS_CALLBACK_READ,
    ['H'] = 1 + LITMUS_HOST_READ,
    ['O'] = 1 + LITMUS_HOST_WRITE,
    ['x'] = 1 + LITMUS_ASYNC_ALLOC,
    ['f'] = 1 + LITMUS_ASYNC_FREE,
    ['y'] = 1 + LITMUS_ASYNC_ALLOC,
    ['L'] = 1 + LITMUS_DOWNLOAD,
    ['P'] = 1 + LITMUS_PEER_COPY,
    ['X'] = 1 + LITMUS_RECORD,
    ['Y'] = 1 + LITMUS_WAIT,
    ['A'] = 1 + LITMUS_UPLOAD,
    ['E'] = 1 + LITMUS_DOWNLOAD,
    ['B'] = 1 + LITMUS_RECORD_STREAM,
    ['N'] = 1 + LITMUS_CELL_RENEW,
    ['M'] = 1 + LITMUS_PINNED_UPLOAD,
    ['C'] = 1 + LITMUS_BACKWARD,
    ['I'] = 1 + LITMUS_MEET,
    ['J'] = 1 + LITMUS_THREAD_RENEW,
    ['F'] = 1 + LITMUS_EMPTY_CACHE,
};

static litmus_op_t op_of(char letter, uint64_t* random) {
  if (plain[(unsigned char)letter] > 0) return plain[(unsigned char)letter] - 1;
  if (letter == 'R' || letter == 'T')
    return one_of(random, LITMUS_DOWNLOAD, LITMUS_DOWNLOAD, LITMUS_COPY);
  return one_of(random, LITMUS_FILL, LITMUS_UPLOAD,
                letter == 'K' ? LITMUS_FILL : LITMUS_COPY); /* W, V, K */
}

static int8_t stream_of(const litmus_motif_t* motif, char letter) {
  if (letter == 'd') return LITMUS_STREAMS - 1;
  return letter == 'n'                    ? -1
         : letter == '-' || letter == '0' ? LITMUS_CALLERS_STREAM
                                          : motif->streams[letter - 'a'];
}

/* A copy out of the cell goes to whatever other cell. */
static void set_cells(const litmus_motif_t* motif, litmus_call_t* call, char letter,
                      uint64_t* random) {
  const int8_t any = (int8_t)below(random, LITMUS_CELLS - 2);
  const bool second = letter == 'y' || letter == 'V' || letter == 'T';
  const int8_t cell = second ? motif->other : motif->cell;
  call->cell = cell;
  call->other = any;
  if ((letter == 'R' || letter == 'T') && call->op == LITMUS_COPY) {
    call->cell = any;
    call->other = cell;
  }
  if (letter == 'I') call->cell = motif->other;
  if (letter == 'I') call->other = motif->cell;
  if (letter == 'K' || letter == 'L' || letter == 'P') call->cell = LITMUS_CELLS - 3;
  if (letter == 'P') call->other = motif->cell;
}

litmus_call_t litmus_motif_call(const litmus_motif_t* motif, uint64_t* random) {
  const char letter = motif->rest[0];
  litmus_call_t call = {.op = (uint8_t)op_of(letter, random),
                        .stream = stream_of(motif, motif->rest[1]),
                        .event = motif->events[letter == 't' || letter == 'u'],
                        .slot = (int8_t)below(random, LITMUS_SLOTS),
                        .mark = motif->mark,
                        .blocks = letter == 'A' || letter == 'E'};
  if (motif->thread > 0 && strchr(motif->rest, 'J') != NULL) call.thread = motif->thread;
  if (letter == 'b') call.microseconds = 640;
  if (letter == 'v' || letter == 'j') call.mark = (uint8_t)((motif->mark + 1) % LITMUS_MARKS);
  if (letter == 'X' || letter == 'Y') call.event = LITMUS_EVENTS - 1;
  if (letter == 'G' || letter == 'U' || letter == 'H' || letter == 'O' || letter == 'c' ||
      letter == 'A' || letter == 'E')
    call.slot = motif->slot;
  if (letter == 'M') call.slot = (int8_t)(call.slot / 2 + LITMUS_SLOTS / 2);
  set_cells(motif, &call, letter, random);
  return call;
}

int8_t litmus_motif_stream(const litmus_motif_t* motif) {
  return stream_of(motif, motif->rest[1]);
}

void litmus_motif_step(litmus_motif_t* motif) {
  motif->rest += 2;
}

enum { MISTAKES_IN = 16 };

unsigned litmus_mistake_at(const litmus_program_t* program, uint64_t random, unsigned count) {
  const uint64_t drawn = litmus_random(&random);
  const bool is_drawn = !program->torch && drawn % MISTAKES_IN == 0;
  return is_drawn ? (unsigned)(drawn >> 32) % count : LITMUS_CALLS;
}

litmus_call_t litmus_mistake(unsigned id) {
  return (litmus_call_t){
      .op = LITMUS_MISTAKE, .stream = (int8_t)(id % LITMUS_STREAMS), .id = (uint8_t)id};
}
