/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "effects_steps.h"

#include "look.h"

#include <string.h>
#include <time.h>

enum { LATE_US = 300 };

bool step_has_told(tbk_fixture_t* fx, const effects_t* on, tbk_status_t status) {
  if (!on->may_fail || status != TBK_FAILED) return false;
  (void)!fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  return true;
}

void step_wait_for(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  if (stream == NULL) return;
  tbk_status_t status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  if (status == TBK_FAILED && on->may_fail) return;
  tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("stream_synchronize"));
}

static void pause_a_little(void* argument) {
  const struct timespec pause = {0, LATE_US * 1000};
  (void)argument;
  (void)nanosleep(&pause, NULL);
}

void step_delay(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  if (fx->callback == NULL || stream == NULL) return;
  CHECK_OK(STEP(
      fx, on, fx->callback->callback_enqueue(fx->self, stream, pause_a_little, NULL, &fx->error)));
}

bool step_take(tbk_fixture_t* fx, uint64_t bytes, tbk_memory_t* out) {
  *out = 0;
  return CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, bytes, out, &fx->error));
}

void step_drop(tbk_fixture_t* fx, tbk_memory_t memory) {
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

bool step_put(tbk_fixture_t* fx, effects_t* on, tbk_memory_t memory, const void* bytes,
              uint64_t size, tbk_stream_t* stream) {
  return CHECK_OK(STEP(
      fx, on, fx->core->upload(fx->self, fx->device, memory, 0, bytes, size, stream, &fx->error)));
}

bool step_get(tbk_fixture_t* fx, effects_t* on, void* bytes, tbk_memory_t memory, uint64_t size,
              tbk_stream_t* stream) {
  return CHECK_OK(
      STEP(fx, on,
           fx->core->download(fx->self, fx->device, bytes, memory, 0, size, stream, &fx->error)));
}

bool step_check(tbk_fixture_t* fx, const effects_t* on, const uint8_t* expected,
                const uint8_t* seen, tbk_memory_t memory, const char* clause) {
  const bool is_right = memcmp(expected, seen, on->bytes) == 0;
  const char* other = is_right ? NULL : look_again(fx, expected, memory, on->bytes);
  TBK_CHECKS(other != NULL ? other : clause);
  return CHECK_BYTES(expected, seen, on->bytes);
}

bool step_check_of(tbk_fixture_t* fx, const effects_t* on, const uint8_t* expected,
                   const uint8_t* seen, uint64_t size, const char* clause) {
  const bool is_right = memcmp(expected, seen, size) == 0;
  const char* other = is_right ? NULL : look_again(fx, on->held, on->memory, on->bytes);
  TBK_CHECKS(other != NULL ? other : clause);
  return CHECK_BYTES(expected, seen, size);
}

void step_draw(uint8_t* bytes, uint64_t size) {
  static atomic_uint_fast64_t calls;
  uint64_t z = atomic_fetch_add(&calls, 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (uint64_t i = 0; i < size; i++) {
    z ^= z << 13, z ^= z >> 7, z ^= z << 17;
    bytes[i] = (uint8_t)(z >> 32);
  }
}

void step_with_new_streams(tbk_fixture_t* fx, effects_t* on,
                           void (*use)(tbk_fixture_t*, effects_t*, tbk_stream_t*)) {
  const int32_t priorities[] = {0, fx->properties.priority_greatest, fx->properties.priority_least};
  for (int i = 0; i < 3; i++) {
    tbk_stream_t* stream = NULL;
    if (!CHECK_OK(
            fx->stream->stream_create(fx->self, fx->device, priorities[i], &stream, &fx->error)))
      return;
    use(fx, on, stream);
    fx->stream->stream_destroy(fx->self, stream);
  }
}
