/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * book.h: whether the books balance. What can be had of a thing is counted, something is done many times, and as
 * much can be had as before; and the heap of the process has not grown with it.
 */
#ifndef TBK_CONTRACTS_BOOK_H
#define TBK_CONTRACTS_BOOK_H

#include "fixture.h"

typedef enum book_kind {
  BOOK_MEMORY = 0,    /* pieces of an eighth of the device, or of what of it others have left */
  BOOK_STREAM_MEMORY, /* the same by async_alloc, on a stream of the book */
  BOOK_PINNED,
  BOOK_STREAMS,
  BOOK_NATIVE, /* streams of the native handle of one that the book has */
  BOOK_EVENTS,
  BOOK_KINDS
} book_kind_t;

enum { BOOK_MOST = 1024 };

typedef union book_piece {
  tbk_memory_t memory;
  void* pinned;
  tbk_stream_t* stream;
  tbk_event_t* event;
} book_piece_t;

typedef struct book {
  book_kind_t kind;
  uint64_t size;        /* of a piece of memory */
  tbk_stream_t* stream; /* on which stream-ordered memory is had; of which native ones are */
  size_t had;           /* so many there were when it was opened */
  size_t count;         /* of those that are held now */
  book_piece_t pieces[BOOK_MOST];
} book_t;

/* Returns whether the device has such things at all. */
bool book_is_kept(const tbk_fixture_t* fx, book_kind_t kind);
/*
 * Opens a book of what can be had at a time: at most `most`, and what some milliseconds suffice for. It holds
 * nothing. A row with a book of memory is TBK_CASE_ALONE.
 */
void book_open(tbk_fixture_t* fx, book_t* book, book_kind_t kind, size_t most);
/* Takes one more, and holds it; gives the latest back; gives all back. */
tbk_status_t book_take(tbk_fixture_t* fx, book_t* book);
void book_give(tbk_fixture_t* fx, book_t* book);
void book_give_all(tbk_fixture_t* fx, book_t* book);
/* Takes as many as there were when it was opened, or as there are. */
void book_take_all(tbk_fixture_t* fx, book_t* book);
/* Checks that three quarters of that can be had at a time after `times` of what is named: others take some, too. */
#define BOOK_CHECK(fx, book, times, what) \
  book_check((fx), (book), (times), (what), TBK_HERE("as many as before"))
bool book_check(tbk_fixture_t* fx, book_t* book, uint64_t times, const char* what, tbk_here_t here);

/* Does it so often, or until its time is up, which the notes say; returns how often. */
typedef bool (*book_deed_fn)(tbk_fixture_t* fx, void* argument);
uint64_t book_repeat(tbk_fixture_t* fx, book_deed_fn deed, void* argument, uint64_t most,
                     uint64_t most_ns);

/* Returns what the process holds of its heap, on all threads; 0 where the host's library does not say. */
uint64_t book_heap_bytes(void);
/*
 * Does it so often, and checks that the heap has hardly grown by it. Where it has, it is done so often twice more, as
 * a driver may have taken something for itself meanwhile: what leaks grows each time.
 */
#define BOOK_CHECK_HEAP(fx, deed, argument, times, what) \
  book_check_heap((fx), (deed), (argument), (times), (what), TBK_HERE("the heap of the process"))
bool book_check_heap(tbk_fixture_t* fx, book_deed_fn deed, void* argument, uint64_t times,
                     const char* what, tbk_here_t here);
/* Notes that it has: no clause promises the host's memory of what came and went. */
void book_note_heap(tbk_fixture_t* fx, uint64_t before, uint64_t times);

#endif /* TBK_CONTRACTS_BOOK_H */
