/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generate.c: a call at a time, each drawn by weight and kept where the model says that it is
 * defined.
 */
#include "generate.h"

#include <string.h>

#include "drill.h"
#include "motif.h"

/* There need not be more than 8 events (EVT-003), those of streams that are gone among them. */
enum { PILED_BYTES = 256, PILES_IN = 64 };
#define PLAIN_BYTES (UINT64_C(1) << 16)
enum { LEAST_CALLS = 8, MOST_TRIES = 12, MOST_RENEWALS = 3, MOTIFS = 3 };

/* How often an operation is drawn, in each of the styles that a program may have. */
enum { MIXED, EVENTS, HOST, LIFETIME, STYLES };
static const struct {
  uint8_t op;
  uint8_t weight[STYLES];
} weights[] = {
    {LITMUS_FILL, {10, 14, 6, 8}},
    {LITMUS_UPLOAD, {10, 8, 14, 6}},
    {LITMUS_DOWNLOAD, {10, 8, 16, 8}},
    {LITMUS_COPY, {10, 14, 4, 10}},
    {LITMUS_PEER_COPY, {3, 4, 1, 1}},
    {LITMUS_CALLBACK_READ, {3, 1, 4, 1}},
    {LITMUS_CALLBACK_MARK, {4, 3, 8, 1}},
    {LITMUS_CALLBACK_LOOK, {2, 2, 3, 1}},
    {LITMUS_DELAY, {3, 4, 3, 3}},
    {LITMUS_WAIT, {10, 20, 3, 8}},
    {LITMUS_ASYNC_ALLOC, {4, 1, 1, 12}},
    {LITMUS_ASYNC_FREE, {3, 1, 1, 12}},
    {LITMUS_RECORD, {10, 18, 8, 8}},
    {LITMUS_EVENT_SYNCHRONIZE, {3, 2, 7, 1}},
    {LITMUS_EVENT_POLL, {3, 2, 6, 1}},
    {LITMUS_EVENT_SPIN, {3, 1, 6, 1}},
    {LITMUS_STREAM_SYNCHRONIZE, {2, 1, 5, 1}},
    {LITMUS_STREAM_POLL, {2, 1, 5, 1}},
    {LITMUS_STREAM_SPIN, {1, 1, 2, 1}},
    {LITMUS_DEVICE_SYNCHRONIZE, {1, 1, 3, 1}},
    {LITMUS_EVENT_RENEW, {2, 3, 1, 4}},
    {LITMUS_STREAM_RENEW, {2, 1, 1, 6}},
    {LITMUS_HOST_WRITE, {4, 1, 10, 2}},
    {LITMUS_HOST_READ, {5, 1, 12, 2}},
    {LITMUS_HOST_LOOK, {1, 1, 2, 1}},
    {LITMUS_AWAIT_MARK, {5, 2, 8, 1}},
    {LITMUS_CELL_RENEW, {2, 0, 1, 6}},
    {LITMUS_THREAD_RENEW, {2, 1, 2, 4}},
    {LITMUS_RECORD_STREAM, {3, 1, 1, 12}},
    {LITMUS_EMPTY_CACHE, {1, 0, 0, 4}},
    {LITMUS_PINNED_UPLOAD, {4, 2, 4, 4}},
    {LITMUS_BACKWARD, {4, 4, 1, 2}},
    {LITMUS_MEET, {2, 3, 1, 1}},
};
enum { KINDS = sizeof weights / sizeof *weights, POOL = 256 };

/* Operations that are offered, each as often as it weighs. */
typedef struct pool {
  uint8_t ops[POOL];
  unsigned count;
} pool_t;

typedef struct draw {
  uint64_t random;
  uint64_t first; /* what `random` began with */
  const litmus_offers_t* offers;
  const pool_t* pool;
  uint64_t offered; /* a bit for each operation */
  bool piles;
  unsigned null_in; /* one of so many copies names no stream */
  unsigned renewals;
  unsigned thread;  /* that goes on */
  unsigned woven;   /* of eight calls so many are of motifs */
  unsigned mistake; /* the id of a call that is refused */
  litmus_motif_t motifs[MOTIFS];
} draw_t;

static unsigned below(draw_t* draw, unsigned limit) {
  return (unsigned)((litmus_random(&draw->random) >> 32) * limit >> 32);
}

/* The same for limits that are small, from eight bits of what was drawn before. */
static unsigned slice(uint64_t* bits, unsigned limit) {
  const unsigned found = (unsigned)(*bits & 255) * limit >> 8;
  *bits >>= 8;
  return found;
}

/* Of each style; filled once for what a device offers. */
typedef struct pools {
  unsigned key; /* as of offers_key; 0: not filled */
  pool_t of[STYLES];
  uint64_t offered;
} pools_t;

/* Whatever litmus_is_offered looks at. */
static unsigned offers_key(const litmus_offers_t* offers) {
  const bool facts[] = {true,
                        offers->torch,
                        offers->fill,
                        offers->peer,
                        offers->callback,
                        offers->delays,
                        offers->async_memory,
                        offers->kernel,
                        offers->pinned,
                        offers->autograd,
                        offers->cache,
                        offers->devices > 1,
                        offers->threads_in > 0,
                        offers->gradients};
  unsigned key = 0;
  for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++)
    key |= (unsigned)facts[i] << i;
  return key;
}

static void fill_pools(pools_t* pools, const litmus_offers_t* offers) {
  *pools = (pools_t){.key = offers_key(offers)};
  for (unsigned i = 0; i < KINDS; i++) {
    if (!litmus_is_offered(offers, weights[i].op)) continue;
    pools->offered |= UINT64_C(1) << weights[i].op;
    for (unsigned style = 0; style < STYLES; style++) {
      pool_t* pool = &pools->of[style];
      memset(pool->ops + pool->count, weights[i].op, weights[i].weight[style]);
      pool->count += weights[i].weight[style];
    }
  }
  pools->offered |= UINT64_C(1) << LITMUS_MISTAKE;
  if (litmus_is_offered(offers, LITMUS_LOADED_UPLOAD))
    pools->offered |= UINT64_C(1) << LITMUS_LOADED_UPLOAD;
  if (offers->kernel)
    pools->offered |= UINT64_C(1) << LITMUS_KERNEL_FILL | UINT64_C(1) << LITMUS_KERNEL_COPY;
}

static void choose_pool(draw_t* draw) {
  static _Thread_local pools_t pools;
  if (pools.key != offers_key(draw->offers)) fill_pools(&pools, draw->offers);
  draw->pool = &pools.of[below(draw, STYLES)];
  draw->offered = pools.offered;
}

/* From 10 us to 1.3 ms, each magnitude as likely; it ends when the host waits. */
static uint32_t draw_time(draw_t* draw) {
  return 10u << below(draw, 8);
}

static litmus_call_t draw_call(draw_t* draw) {
  uint64_t bits = litmus_random(&draw->random);
  litmus_call_t call = {.op = draw->pool->ops[below(draw, draw->pool->count)],
                        .stream = (int8_t)slice(&bits, LITMUS_STREAMS),
                        .event = (int8_t)slice(&bits, LITMUS_EVENTS),
                        .cell = (int8_t)slice(&bits, LITMUS_CELLS),
                        .other = (int8_t)slice(&bits, LITMUS_CELLS),
                        .slot = (int8_t)slice(&bits, LITMUS_SLOTS),
                        .device = (int8_t)slice(&bits, draw->offers->devices),
                        .mark = (uint8_t)slice(&bits, LITMUS_MARKS)};
  if (call.op <= LITMUS_PEER_COPY && slice(&bits, draw->null_in) == 0) {
    call.blocks = draw->offers->torch;
    if (!call.blocks) call.stream = -1;
  }
  if (call.op == LITMUS_DELAY) call.microseconds = draw_time(draw);
  return call;
}

/* Calls that are of little use but with what an earlier call names; FILL: that is not one of these. */
static const struct {
  uint8_t earlier;
  bool stream, event, cell, slot, mark; /* what is taken over */
} ties[LITMUS_OPS] = {
    [LITMUS_AWAIT_MARK] = {.earlier = LITMUS_CALLBACK_MARK, .mark = true, .stream = true},
    [LITMUS_HOST_LOOK] = {.earlier = LITMUS_CALLBACK_MARK, .mark = true},
    [LITMUS_CALLBACK_LOOK] = {.earlier = LITMUS_CALLBACK_MARK, .mark = true},
    [LITMUS_WAIT] = {.earlier = LITMUS_RECORD, .event = true},
    [LITMUS_EVENT_SYNCHRONIZE] = {.earlier = LITMUS_RECORD, .event = true},
    [LITMUS_EVENT_POLL] = {.earlier = LITMUS_RECORD, .event = true},
    [LITMUS_EVENT_SPIN] = {.earlier = LITMUS_RECORD, .event = true},
    [LITMUS_HOST_READ] = {.earlier = LITMUS_DOWNLOAD, .slot = true},
    [LITMUS_CALLBACK_READ] = {.earlier = LITMUS_DOWNLOAD, .slot = true, .stream = true},
    [LITMUS_HOST_WRITE] = {.earlier = LITMUS_UPLOAD, .slot = true},
    [LITMUS_ASYNC_FREE] = {.earlier = LITMUS_ASYNC_ALLOC, .cell = true},
    [LITMUS_RECORD_STREAM] = {.earlier = LITMUS_ASYNC_ALLOC, .cell = true},
};

/* Mostly ties the call to an earlier one, the later ones more often. */
static void tie(draw_t* draw, const litmus_program_t* p, litmus_call_t* call) {
  const unsigned op = call->op;
  if (ties[op].earlier == LITMUS_FILL || below(draw, 4) == 0) return;
  for (uint32_t c = p->count; c-- > 0;) {
    const litmus_call_t* earlier = &p->calls[c];
    if (earlier->op != ties[op].earlier || below(draw, 3) == 0) continue;
    if (ties[op].stream && earlier->stream >= 0) call->stream = earlier->stream;
    if (ties[op].event) call->event = earlier->event;
    if (ties[op].cell) call->cell = earlier->cell;
    if (ties[op].slot) call->slot = earlier->slot;
    if (ties[op].mark) call->mark = earlier->mark;
    return;
  }
}

/* Each stream that goes leaves an event for the end. */
static bool is_allowed(draw_t* draw, const litmus_call_t* call) {
  return draw->offered >> call->op & 1 &&
         (call->op != LITMUS_STREAM_RENEW || draw->renewals++ < MOST_RENEWALS);
}

/* Mostly small, and the larger the rarer, so that each size takes about as much time as another. */
static uint64_t draw_size(draw_t* draw) {
  static const struct {
    unsigned one_in;
    uint64_t bytes;
  } large[] = {{1 << 20, UINT64_C(64) << 20},
               {1 << 18, UINT64_C(4) << 20},
               {1 << 16, 1 << 20},
               {1 << 12, 1 << 16},
               {1 << 8, 1 << 12},
               {1 << 4, 1 << 8}};
  static const uint64_t small[] = {1, 3, 8, 8, 16, 16, 32, 64};
  uint64_t size = small[below(draw, 8)];
  for (unsigned i = 0; i < sizeof large / sizeof *large; i++) {
    if (below(draw, large[i].one_in) != 0) continue;
    size = large[i].bytes;
    break;
  }
  const uint64_t unit = draw->offers->granularity;
  size = (size + unit - 1) / unit * unit;
  return size <= draw->offers->most_bytes ? size : unit;
}

/* Each part is of a size of its own, so that a program has small and large copies. */
static void draw_parts(draw_t* draw, litmus_program_t* p) {
  p->parts = 1;
  p->size_bytes = draw_size(draw);
  if (draw->offers->parts_in == 0 || below(draw, draw->offers->parts_in) != 0) return;
  const unsigned parts = 2 + below(draw, LITMUS_PARTS - 1);
  while (p->parts < parts) {
    const uint64_t more = draw_size(draw);
    if (p->size_bytes + more > draw->offers->most_bytes) return;
    p->ends[p->parts++ - 1] = p->size_bytes;
    p->size_bytes += more;
  }
}

/* One in two calls reads or writes everything. */
static void draw_range(draw_t* draw, const litmus_program_t* p, litmus_call_t* call) {
  if (!litmus_may_be_partial(call->op) || below(draw, 2) == 0) return;
  call->first_part = (uint8_t)below(draw, p->parts);
  call->parts = (uint8_t)(1 + below(draw, p->parts - call->first_part));
}

/* Of what takes long, and much memory, there is little in a program. */
static void narrow(litmus_call_t* call) {
  call->cell %= 2;
  call->other %= 2;
  call->slot = call->slot % 2 == 0 ? 0 : LITMUS_SLOTS - 1;
}

/* A thread mostly makes some calls before another goes on. */
static void draw_thread(draw_t* draw, const litmus_program_t* p, litmus_call_t* call) {
  if (below(draw, 3) == 0) draw->thread = below(draw, p->threads);
  call->thread = (uint8_t)draw->thread;
  call->meanwhile = p->races && below(draw, 2) == 0;
}

/* In some programs much is pending: up to 512 pieces of work of one call. */
static void pile_up(draw_t* draw, const litmus_program_t* p, litmus_call_t* call) {
  const bool fits = call->op == LITMUS_FILL || call->op == LITMUS_UPLOAD;
  if (!fits || call->stream < 0 || p->size_bytes > PILED_BYTES || below(draw, 3) > 0) return;
  call->more = (uint16_t)((2u << below(draw, 9)) - 1);
}

/* What fills or copies may be a kernel. */
static void draw_kernel(draw_t* draw, litmus_call_t* call) {
  if (call->op != LITMUS_FILL && call->op != LITMUS_COPY) return;
  if (below(draw, 4) == 0)
    call->op = call->op == LITMUS_FILL ? LITMUS_KERNEL_FILL : LITMUS_KERNEL_COPY;
}

/* Half of what is pinned for one copy is pinned by a thread of its own, as a loader of batches does. It
   comes from a hash, so that all else is drawn as before. */
static void draw_loader(const draw_t* draw, litmus_call_t* call) {
  uint64_t own = draw->first + call->id;
  if (call->op == LITMUS_PINNED_UPLOAD && litmus_random(&own) >> 63)
    call->op = LITMUS_LOADED_UPLOAD;
}

/* Adds a call if it is offered and defined. */
static bool add(draw_t* draw, litmus_program_t* p, litmus_model_t* model, litmus_call_t call,
                unsigned id) {
  call.id = (uint8_t)id;
  if (p->size_bytes > PLAIN_BYTES) narrow(&call);
  if (draw->offers->kernel) draw_kernel(draw, &call);
  draw_loader(draw, &call);
  if (p->threads > 1 && call.thread == 0) draw_thread(draw, p, &call);
  if (p->parts > 1) draw_range(draw, p, &call);
  if (litmus_has_value(call.op)) call.value = (uint8_t)(LITMUS_FIRST_OF_CALLS + id);
  if (draw->piles && !p->torch) pile_up(draw, p, &call);
  /* A device may have a way of its own to zero; the values of several are the same, and that is legal. */
  if (draw->offers->torch && call.op == LITMUS_FILL && below(draw, 4) == 0) call.value = 0;
  p->calls[p->count] = call;
  if (!is_allowed(draw, &call)) return false;
  bool added = litmus_model_add(model, p->count, false);
  if (!added && call.meanwhile) { /* it may be in its turn */
    p->calls[p->count].meanwhile = false;
    added = litmus_model_add(model, p->count, false);
  }
  p->count += added;
  return added;
}

/* PyTorch has no callbacks that sleep: what a motif begins with is pending if its stream is held. */
static bool hold(draw_t* draw, litmus_program_t* p, litmus_model_t* model,
                 const litmus_motif_t* motif, unsigned id) {
  if (!draw->offers->torch || !draw->offers->delays || below(draw, 2) == 0) return false;
  const litmus_call_t call = {
      .op = LITMUS_DELAY, .stream = litmus_motif_stream(motif), .microseconds = draw_time(draw)};
  return add(draw, p, model, call, id);
}

/* Goes on with one of the motifs; what is not defined at this point is left out of it. */
static bool weave(draw_t* draw, litmus_program_t* p, litmus_model_t* model, unsigned id) {
  litmus_motif_t* motif = &draw->motifs[below(draw, MOTIFS)];
  if (motif->rest == NULL || *motif->rest == '\0') {
    *motif = litmus_motif_draw(p, &draw->random);
    if (hold(draw, p, model, motif, id)) return true;
  }
  bool added = false;
  for (unsigned tries = 0; tries < MOST_TRIES / 2 && !added; tries++)
    added = add(draw, p, model, litmus_motif_call(motif, &draw->random), id);
  litmus_motif_step(motif);
  return added;
}

static void scatter(draw_t* draw, litmus_program_t* p, litmus_model_t* model, unsigned id) {
  for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
    litmus_call_t call = draw_call(draw);
    tie(draw, p, &call);
    if (add(draw, p, model, call, id)) return;
  }
}

static void set_offers(litmus_program_t* program, const litmus_offers_t* offers) {
  program->count = 0;
  program->devices = offers->devices;
  program->crosses = offers->cross_device_wait;
  program->torch = offers->torch;
  program->pinned = offers->torch && offers->pinned;
  program->marks = offers->torch && offers->callback;
}

void litmus_generate(litmus_program_t* program, const litmus_offers_t* offers, uint64_t seed,
                     uint64_t index, litmus_model_t* out_model) {
  draw_t draw = {.random = seed ^ index * UINT64_C(0xd1342543de82ef95), .offers = offers};
  draw.first = draw.random;
  set_offers(program, offers);
  if (litmus_drill(program, offers, draw.random, out_model)) return;
  choose_pool(&draw);
  draw.null_in = 4u << below(&draw, 4);
  draw.woven = 1 + below(&draw, 7);
  draw_parts(&draw, program);
  draw.piles = below(&draw, PILES_IN) == 0;
  program->threads = 1;
  program->races = false;
  if (offers->threads_in > 0 && below(&draw, offers->threads_in) == 0) {
    program->threads = 2 + below(&draw, offers->threads - 1);
    program->races = offers->races && below(&draw, 2) == 0;
  }
  /* What is held is let go where the host waits, so of PyTorch's programs more are short. */
  const bool is_short = (below(&draw, 4) == 0) != offers->torch;
  unsigned count = is_short ? LEAST_CALLS + below(&draw, 16) : 24 + below(&draw, 24);
  if (program->size_bytes > PLAIN_BYTES) count = LEAST_CALLS;
  draw.mistake = litmus_mistake_at(program, draw.random, count);
  litmus_model_begin(out_model, program, 0, 0);
  for (unsigned id = 0; id < count; id++)
    if (!(id == draw.mistake && add(&draw, program, out_model, litmus_mistake(id), id)) &&
        (below(&draw, 8) >= draw.woven || !weave(&draw, program, out_model, id)))
      scatter(&draw, program, out_model, id);
}
