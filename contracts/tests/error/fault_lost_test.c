/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lost device: final, told by every call, and no reason to hang or to crash.
 */
#include "fault_lost.h"

#include <string.h>

#include "gate.h"
#include "order.h"

enum { LOST_STREAMS = 4, ABSENT = -0x7B01 };

typedef struct lost {
  tbk_stream_t* stream;
  tbk_event_t* event;
  tbk_memory_t memory;
  tbk_memory_t other;
  uint64_t bytes;
  uint8_t* host;
} lost_t;

static lost_t* lost_begin(tbk_fixture_t* fx) {
  lost_t* lost = (lost_t*)(void*)fx_zeros(fx, sizeof *lost);
  lost->bytes = fx_round(fx, 256);
  lost->host = fx_bytes(fx, lost->bytes);
  lost->memory = fx_alloc_with(fx, lost->host, lost->bytes);
  lost->other = fx_alloc(fx, lost->bytes);
  lost->stream = fx_stream(fx);
  if (fx->event != NULL) lost->event = fx_event(fx, TBK_EVENT_TIMING);
  return lost;
}

static void lose_by(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK_SAID(status == TBK_OK || status == TBK_DEVICE_LOST, "OK, or already DEVICE_LOST", "%s",
             tbk_status_name(status));
}

static lost_t* lose_device(tbk_fixture_t* fx) {
  lost_t* lost = lost_begin(fx);
  lose_by(fx, lost->stream);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, lost->stream, &fx->error));
  return lost;
}

/* ------------------------------------------------------------------------------- every call -- */

#define CALL(name) static tbk_status_t name(tbk_fixture_t* fx, lost_t* lost)

CALL(lost_alloc) {
  tbk_memory_t memory = 0;
  return fx->core->memory_alloc(fx->self, fx->device, lost->bytes, &memory, &fx->error);
}

CALL(lost_upload) {
  return fx->core->upload(fx->self, fx->device, lost->memory, 0, lost->host, lost->bytes, NULL,
                          &fx->error);
}

CALL(lost_upload_enqueued) {
  return fx->core->upload(fx->self, fx->device, lost->memory, 0, lost->host, lost->bytes,
                          lost->stream, &fx->error);
}

CALL(lost_download) {
  return fx->core->download(fx->self, fx->device, lost->host, lost->memory, 0, lost->bytes, NULL,
                            &fx->error);
}

CALL(lost_download_enqueued) {
  return fx->core->download(fx->self, fx->device, lost->host, lost->memory, 0, lost->bytes,
                            lost->stream, &fx->error);
}

CALL(lost_copy) {
  return fx->core->copy(fx->self, fx->device, lost->other, 0, lost->memory, 0, lost->bytes,
                        lost->stream, &fx->error);
}

CALL(lost_fill) {
  if (!TBK_HAS(fx->core, tbk_core_t, fill)) return ABSENT;
  return fx->core->fill(fx->self, fx->device, lost->memory, 0, 1, lost->bytes, lost->stream,
                        &fx->error);
}

CALL(lost_device_synchronize) {
  (void)lost;
  return fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
}

CALL(lost_stream_create) {
  tbk_stream_t* stream = NULL;
  (void)lost;
  return fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error);
}

CALL(lost_stream_query) {
  return fx->stream->stream_query(fx->self, lost->stream, &fx->error);
}

CALL(lost_stream_synchronize) {
  return fx->stream->stream_synchronize(fx->self, lost->stream, &fx->error);
}

CALL(lost_event_create) {
  tbk_event_t* event = NULL;
  (void)lost;
  if (fx->event == NULL) return ABSENT;
  return fx->event->event_create(fx->self, fx->device, 0, &event, &fx->error);
}

CALL(lost_event_record) {
  if (fx->event == NULL) return ABSENT;
  return fx->event->event_record(fx->self, lost->event, lost->stream, &fx->error);
}

CALL(lost_event_wait) {
  if (fx->event == NULL) return ABSENT;
  return fx->event->event_wait(fx->self, lost->stream, lost->event, &fx->error);
}

CALL(lost_event_query) {
  return fx->event == NULL ? ABSENT : fx->event->event_query(fx->self, lost->event, &fx->error);
}

CALL(lost_event_synchronize) {
  if (fx->event == NULL) return ABSENT;
  return fx->event->event_synchronize(fx->self, lost->event, &fx->error);
}

static void do_nothing(void* argument) {
  (void)argument;
}

CALL(lost_callback) {
  if (fx->callback == NULL) return ABSENT;
  return fx->callback->callback_enqueue(fx->self, lost->stream, do_nothing, NULL, &fx->error);
}

CALL(lost_async_alloc) {
  tbk_memory_t memory = 0;
  if (fx->async_memory == NULL) return ABSENT;
  return fx->async_memory->async_alloc(fx->self, lost->stream, lost->bytes, &memory, &fx->error);
}

CALL(lost_random) {
  tbk_generator_t generator = {.seed = 1};
  if (fx->random == NULL) return ABSENT;
  return fx->random->random_bits(fx->self, fx->device, &generator, lost->memory, 0, lost->bytes / 4,
                                 lost->stream, &fx->error);
}

CALL(lost_fault) {
  return fx->fault->fault_enqueue(fx->self, lost->stream, TBK_FAULT_WORK_FAILS, &fx->error);
}

static const struct {
  const char* name;
  tbk_status_t (*call)(tbk_fixture_t* fx, lost_t* lost);
} lost_calls[] = {{"memory_alloc", lost_alloc},
                  {"upload", lost_upload},
                  {"upload on a stream", lost_upload_enqueued},
                  {"download", lost_download},
                  {"download on a stream", lost_download_enqueued},
                  {"copy", lost_copy},
                  {"fill", lost_fill},
                  {"device_synchronize", lost_device_synchronize},
                  {"stream_create", lost_stream_create},
                  {"stream_query", lost_stream_query},
                  {"stream_synchronize", lost_stream_synchronize},
                  {"event_create", lost_event_create},
                  {"event_record", lost_event_record},
                  {"event_wait", lost_event_wait},
                  {"event_query", lost_event_query},
                  {"event_synchronize", lost_event_synchronize},
                  {"callback_enqueue", lost_callback},
                  {"async_alloc", lost_async_alloc},
                  {"random_bits", lost_random},
                  {"fault_enqueue", lost_fault}};

static void check_every_call(tbk_fixture_t* fx, lost_t* lost) {
  for (size_t i = 0; i < sizeof lost_calls / sizeof *lost_calls; ++i) {
    tbk_status_t status = lost_calls[i].call(fx, lost);
    if (status == ABSENT) continue;
    CHECK_SAID(status == TBK_DEVICE_LOST, "DEVICE_LOST", "%s from %s", tbk_status_name(status),
               lost_calls[i].name);
  }
}

void lost_device_answers_so_to_every_call(tbk_fixture_t* fx) {
  lost_t* lost = lose_device(fx);
  check_every_call(fx, lost);
}

void lost_device_stays_lost(tbk_fixture_t* fx) {
  lost_t* lost = lose_device(fx);
  for (int round = 0; round < 8; ++round)
    check_every_call(fx, lost);
  tbk_status_t status = fx->core->device_close(fx->self, fx->device, &fx->error);
  CHECK_SAID(status == TBK_OK || status == TBK_DEVICE_LOST, "OK or DEVICE_LOST",
             "%s from device_close", tbk_status_name(status));
  fx_disown_device(fx);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->core->device_open(fx->self, fx->device, &fx->error));
}

/* ------------------------------------------------------------------------------ nothing hangs -- */

typedef struct lost_crowd {
  actor_t actor;
  tbk_gate_t gate;
  tbk_stream_t* streams[LOST_STREAMS];
  tbk_event_t* event;
} lost_crowd_t;

static void synchronize_all(actor_t* actor) {
  lost_crowd_t* crowd = actor->argument;
  tbk_fixture_t* fx = &actor->fx;
  for (int i = 0; i < LOST_STREAMS; ++i)
    CHECK_STATUS(TBK_DEVICE_LOST,
                 fx->stream->stream_synchronize(fx->self, crowd->streams[i], &fx->error));
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  if (crowd->event != NULL)
    CHECK_STATUS(TBK_DEVICE_LOST, fx->event->event_synchronize(fx->self, crowd->event, &fx->error));
}

/* The other streams wait for an event that lies behind the loss. */
void lost_device_holds_nobody(tbk_fixture_t* fx) {
  lost_crowd_t* crowd = (lost_crowd_t*)(void*)fx_zeros(fx, sizeof *crowd);
  if (fx->event != NULL) crowd->event = fx_event(fx, 0);
  for (int i = 0; i < LOST_STREAMS; ++i)
    crowd->streams[i] = fx_stream(fx);
  gate_close_over(fx, &crowd->gate, crowd->streams[0], TBK_ENQUEUE_RECORD | TBK_ENQUEUE_WAIT);
  bool closed = gate_is_closed(&crowd->gate);
  lose_by(fx, crowd->streams[0]);
  for (int i = 1; i < LOST_STREAMS && closed && fx->event != NULL; ++i) {
    tbk_stream_t* stream = crowd->streams[i];
    if (i == 1)
      CHECK_OK(fx->event->event_record(fx->self, crowd->event, crowd->streams[0], &fx->error));
    CHECK_OK(fx->event->event_wait(fx->self, stream, crowd->event, &fx->error));
  }
  gate_open(fx, &crowd->gate);
  actor_start(fx, &crowd->actor, synchronize_all, crowd);
  CHECK_SAID(actor_ends(&crowd->actor), "every synchronize of a lost device returns",
             "one does not");
  actor_join(fx, &crowd->actor);
}

void queries_of_a_lost_device_come_to_an_end(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_status_t status = TBK_NOT_READY;
  lost_t* lost = lost_begin(fx);
  gate_close_over(fx, &gate, lost->stream, TBK_ENQUEUE_RECORD);
  bool closed = gate_is_closed(&gate);
  lose_by(fx, lost->stream);
  if (closed && fx->event != NULL)
    CHECK_OK(fx->event->event_record(fx->self, lost->event, lost->stream, &fx->error));
  gate_open(fx, &gate);
  CHECK(fx_poll_stream(fx, lost->stream, &status));
  CHECK_ANSWER(TBK_DEVICE_LOST, status);
  if (fx->event == NULL) return;
  CHECK(fx_poll_event(fx, lost->event, &status));
  CHECK_ANSWER(TBK_DEVICE_LOST, status);
}

void loss_comes_with_a_reason(tbk_fixture_t* fx) {
  tbk_error_t error;
  lost_t* lost = lose_device(fx);
  memset(&error, 0x01, sizeof error);
  CHECK_ANSWER(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, lost->stream, &error));
  CHECK(memchr(error.message, '\0', sizeof error.message) != NULL);
  CHECK(error.message[0] != '\0' && error.message[0] != 0x01);
  CHECK_ANSWER(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, lost->stream, NULL));
}

/* --------------------------------------------------------------------------------- its place -- */

void loss_keeps_its_place_in_the_stream(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  lost_t* lost = lost_begin(fx);
  gate_close_over(fx, &gate, lost->stream, 0);
  bool closed = gate_is_closed(&gate);
  lose_by(fx, lost->stream);
  process_settle();
  for (int i = 0; i < 16 && gate_is_closed(&gate); ++i) {
    tbk_status_t early = fx->stream->stream_query(fx->self, lost->stream, &fx->error);
    GATE_CHECK_PENDING(fx, &gate, early);
  }
  CHECK(gate_is_closed(&gate) == closed);
  gate_open(fx, &gate);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, lost->stream, &fx->error));
}

void other_device_works_on_after_a_loss(tbk_fixture_t* fx) {
  int32_t first = fx->device;
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* remote = fx_stream(fx);
  order_stream_works(fx, remote);
  fx_use_device(fx, first);
  (void)lose_device(fx);
  fx_use_device(fx, fx_second_device(fx));
  for (int round = 0; round < 4; ++round) {
    order_stream_works(fx, remote);
    order_stream_works(fx, fx_stream(fx));
    CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  }
  fx_use_device(fx, first);
}

/* ------------------------------------------------------------------------------- giving back -- */

void what_a_lost_device_gave_can_be_given_back(tbk_fixture_t* fx) {
  enum { BLOCKS = 4 };
  tbk_memory_t blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i)
    blocks[i] = fx_alloc(fx, 256);
  lost_t* lost = lose_device(fx);
  for (int i = 0; i < BLOCKS; ++i) {
    fx_disown_memory(fx, blocks[i]);
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, blocks[i], &fx->error));
  }
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, 0, &fx->error));
  if (fx->event != NULL) {
    fx_disown_event(fx, lost->event);
    fx->event->event_destroy(fx->self, lost->event);
  }
  fx_disown_stream(fx, lost->stream);
  fx->stream->stream_destroy(fx->self, lost->stream);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

void async_memory_of_a_lost_device_can_be_given_back(tbk_fixture_t* fx) {
  tbk_memory_t memory = 0;
  lost_t* lost = lost_begin(fx);
  const tbk_async_memory_ops_t* ops = fx->async_memory;
  REQUIRE_OK(ops->async_alloc(fx->self, lost->stream, lost->bytes, &memory, &fx->error));
  fx_synchronize(fx, lost->stream);
  lose_by(fx, lost->stream);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, lost->stream, &fx->error));
  CHECK_OK(ops->async_free(fx->self, lost->stream, memory, &fx->error));
  CHECK_OK(ops->async_free(fx->self, lost->stream, 0, &fx->error));
}
