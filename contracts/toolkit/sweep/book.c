/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "book.h"

#include <malloc.h>
#include <stdio.h>

#include "room.h"

/* For what is asked for at the beginning; and, of the heap, what may remain of each turn and of all. */
#define OPENING_NS UINT64_C(10000000)
enum { SHARES = 8, PINNED_BYTES = 64 << 20, PINNED_SHARES = 4, TURN_BYTES = 64, ALL_BYTES = 16384 };

bool book_is_kept(const tbk_fixture_t* fx, book_kind_t kind) {
  switch (kind) {
    case BOOK_STREAM_MEMORY:
      return fx->async_memory != NULL;
    case BOOK_PINNED:
      return fx->pinned != NULL;
    case BOOK_STREAMS:
      return fx->stream != NULL;
    case BOOK_NATIVE:
      if (!TBK_HAS(fx->stream, tbk_stream_ops_t, stream_native_handle)) return false;
      return TBK_HAS(fx->stream, tbk_stream_ops_t, stream_from_native);
    case BOOK_EVENTS:
      return fx->event != NULL;
    default:
      return true;
  }
}

static tbk_status_t take_native(tbk_fixture_t* fx, const book_t* book, tbk_stream_t** out_stream) {
  void* native = NULL;
  const tbk_status_t status =
      fx->stream->stream_native_handle(fx->self, book->stream, &native, &fx->error);
  if (status != TBK_OK) return status;
  return fx->stream->stream_from_native(fx->self, fx->device, native, out_stream, &fx->error);
}

tbk_status_t book_take(tbk_fixture_t* fx, book_t* book) {
  book_piece_t* piece = &book->pieces[book->count];
  tbk_status_t status = TBK_OK;
  if (book->kind == BOOK_MEMORY)
    status = fx->core->memory_alloc(fx->self, fx->device, book->size, &piece->memory, &fx->error);
  else if (book->kind == BOOK_STREAM_MEMORY)
    status = fx->async_memory->async_alloc(fx->self, book->stream, book->size, &piece->memory,
                                           &fx->error);
  else if (book->kind == BOOK_PINNED)
    status = fx->pinned->pinned_alloc(fx->self, fx->device, book->size, &piece->pinned, &fx->error);
  else if (book->kind == BOOK_STREAMS)
    status = fx->stream->stream_create(fx->self, fx->device, 0, &piece->stream, &fx->error);
  else if (book->kind == BOOK_NATIVE)
    status = take_native(fx, book, &piece->stream);
  else
    status = fx->event->event_create(fx->self, fx->device, 0, &piece->event, &fx->error);
  book->count += status == TBK_OK;
  return status;
}

void book_give(tbk_fixture_t* fx, book_t* book) {
  const book_piece_t* piece = &book->pieces[--book->count];
  if (book->kind == BOOK_MEMORY)
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, piece->memory, &fx->error));
  else if (book->kind == BOOK_STREAM_MEMORY)
    CHECK_OK(fx->async_memory->async_free(fx->self, book->stream, piece->memory, &fx->error));
  else if (book->kind == BOOK_PINNED)
    fx->pinned->pinned_free(fx->self, piece->pinned);
  else if (book->kind == BOOK_STREAMS || book->kind == BOOK_NATIVE)
    fx->stream->stream_destroy(fx->self, piece->stream);
  else
    fx->event->event_destroy(fx->self, piece->event);
}

void book_give_all(tbk_fixture_t* fx, book_t* book) {
  while (book->count > 0)
    book_give(fx, book);
  if (book->stream != NULL)
    CHECK_OK(fx->stream->stream_synchronize(fx->self, book->stream, &fx->error));
}

/* An eighth of what others leave; where that cannot be had, half of what is found, so that there is one for sure. */
static void find_size(tbk_fixture_t* fx, book_t* book) {
  bool full = false;
  if (book->kind == BOOK_PINNED)
    book->size = room_pinned(fx, PINNED_SHARES * PINNED_BYTES) / PINNED_SHARES;
  if (book->kind > BOOK_STREAM_MEMORY) return;
  for (book->size = room_share(fx, SHARES); book->size > 4096; book->size /= 2) {
    book->size -= book->size % 4096;
    if (book_take(fx, book) == TBK_OK) break;
    full = true;
  }
  if (full) book->size = book->size / 2 + 1;
  book_give_all(fx, book);
}

void book_open(tbk_fixture_t* fx, book_t* book, book_kind_t kind, size_t most) {
  *book = (book_t){.kind = kind};
  if (kind == BOOK_STREAM_MEMORY || kind == BOOK_NATIVE) book->stream = fx_stream(fx);
  find_size(fx, book);
  const uint64_t end = fx_now_ns() + OPENING_NS;
  while (book->count < most && book_take(fx, book) == TBK_OK && fx_now_ns() < end)
    continue;
  book->had = book->count;
  book_give_all(fx, book);
}

void book_take_all(tbk_fixture_t* fx, book_t* book) {
  while (book->count < book->had && book_take(fx, book) == TBK_OK)
    continue;
}

bool book_check(tbk_fixture_t* fx, book_t* book, uint64_t times, const char* what,
                tbk_here_t here) {
  static const char* const things[BOOK_KINDS] = {
      "pieces of memory", "pieces of stream memory",    "pieces of pinned memory",
      "streams",          "streams of a native handle", "events"};
  book_take_all(fx, book);
  const size_t now = book->count;
  book_give_all(fx, book);
  return tbk_check_said(4 * now >= 3 * book->had, here, "as many as before",
                        "%zu of %zu %s after %llu times %s", now, book->had, things[book->kind],
                        (unsigned long long)times, what);
}

uint64_t book_repeat(tbk_fixture_t* fx, book_deed_fn deed, void* argument, uint64_t most,
                     uint64_t most_ns) {
  const uint64_t end = fx_now_ns() + most_ns;
  uint64_t times = 0;
  char note[96];
  while (times < most && deed(fx, argument)) {
    times++;
    if (fx_now_ns() > end) break;
  }
  (void)snprintf(note, sizeof note, "%llu times of %llu: more take too long here",
                 (unsigned long long)times, (unsigned long long)most);
  if (times < most && fx_now_ns() > end) fx_note(fx, note);
  return times;
}

uint64_t book_heap_bytes(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 heap = mallinfo2();
  return (uint64_t)heap.uordblks + (uint64_t)heap.hblkhd;
#else
  return 0;
#endif
}

/* What is more on the heap than so many turns may leave; 0 where it is not. */
static uint64_t grown(uint64_t before, uint64_t times) {
  const uint64_t now = book_heap_bytes(), most = before + times * TURN_BYTES + ALL_BYTES;
  return now > most ? now - before : 0;
}

bool book_check_heap(tbk_fixture_t* fx, book_deed_fn deed, void* argument, uint64_t times,
                     const char* what, tbk_here_t here) {
  enum { ROUNDS = 3 };
  uint64_t more = 1;
  for (int round = 0; round < ROUNDS && more > 0; round++) {
    const uint64_t before = book_heap_bytes();
    for (uint64_t k = 0; k < times; k++)
      if (!deed(fx, argument)) return false; /* it has told */
    more = grown(before, times);
  }
  return tbk_check_said(more == 0, here, "about as much of the heap as before",
                        "%llu bytes more after %llu times %s", (unsigned long long)more,
                        (unsigned long long)times, what);
}

void book_note_heap(tbk_fixture_t* fx, uint64_t before, uint64_t times) {
  const uint64_t more = grown(before, times);
  char note[96];
  (void)snprintf(note, sizeof note, "%llu bytes more of the heap after %llu that came and went",
                 (unsigned long long)more, (unsigned long long)times);
  if (more > 0) fx_note(fx, note);
}
