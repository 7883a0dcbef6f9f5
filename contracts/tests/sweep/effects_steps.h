/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * effects_steps.h: the steps that programs of effects are made of. Each checks with CHECK that its calls
 * succeed, so that any thread may take it.
 */
#ifndef TBK_CONTRACTS_EFFECTS_STEPS_H
#define TBK_CONTRACTS_EFFECTS_STEPS_H

#include "effects.h"

enum { EFFECT_WORDS = 64 }; /* that step_draw_words asks for */

/*
 * Returns the status of a call that enqueues. Whatever is called next may tell of work that failed, also
 * repeatedly, and has then done nothing. Where that can be, the device is synchronised, which is the last to
 * tell of it, and the call is made again.
 */
#define STEP(fx, on, call) \
  (step_has_told((fx), (on), (on)->status = (call)) ? (call) : (on)->status)
bool step_has_told(tbk_fixture_t* fx, const effects_t* on, tbk_status_t status);

/* Synchronises `stream`, unless it is NULL. */
void step_wait_for(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream);
/* Makes what comes after it pending for a while, where there are callbacks. */
void step_delay(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream);

bool step_take(tbk_fixture_t* fx, uint64_t bytes, tbk_memory_t* out);
void step_drop(tbk_fixture_t* fx, tbk_memory_t memory);
bool step_put(tbk_fixture_t* fx, effects_t* on, tbk_memory_t memory, const void* bytes,
              uint64_t size, tbk_stream_t* stream);
bool step_get(tbk_fixture_t* fx, effects_t* on, void* bytes, tbk_memory_t memory, uint64_t size,
              tbk_stream_t* stream);

/* Makes different bytes for each call; any thread may ask. */
void step_draw(uint8_t* bytes, uint64_t size);
/* Checks what was read of memory: held against `clause` where transfers do as they should. */
bool step_check(tbk_fixture_t* fx, const effects_t* on, const uint8_t* expected,
                const uint8_t* seen, tbk_memory_t memory, const char* clause);
/* The same of bytes whose memory is gone: `clause` where other transfers do as they should. */
bool step_check_of(tbk_fixture_t* fx, const effects_t* on, const uint8_t* expected,
                   const uint8_t* seen, uint64_t size, const char* clause);
/* Has the device make EFFECT_WORDS random words, always the same ones. */
void step_draw_words(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream, uint8_t* out);

/* Runs `use` on new streams, of priority 0 and of both ends. */
void step_with_new_streams(tbk_fixture_t* fx, effects_t* on,
                           void (*use)(tbk_fixture_t*, effects_t*, tbk_stream_t*));

#endif /* TBK_CONTRACTS_EFFECTS_STEPS_H */
