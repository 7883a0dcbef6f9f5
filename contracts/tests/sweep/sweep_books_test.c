/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The books balance: after hundreds of things that came and went, of refusals of every kind, and of a close while
 * all are in use, as many can be had at a time as before.
 */
#include "book.h"
#include "refusal.h"

/* How often in each tier, where a turn takes a microsecond; elsewhere as often as the time suffices for. */
enum { TURNS = 1500, MANY_TURNS = 20000, ODD_SIZES = 60, FEW = 64, PIECES = 8, SMALL_BYTES = 4096 };
#define SOME_NS UINT64_C(8000000)
#define MUCH_NS UINT64_C(500000000)

static book_t book;

/* ----------------------------------------------------------------------------- came and went ---- */

/* Each time a byte less: what is lost by the way may depend on the size. */
static bool take_and_give(tbk_fixture_t* fx, void* argument) {
  book_t* of = argument;
  if (of->size > SMALL_BYTES) of->size--;
  if (!CHECK_OK(book_take(fx, of))) return false;
  book_give_all(fx, of);
  return true;
}

static void come_and_go(tbk_fixture_t* fx, book_kind_t kind, uint64_t turns, uint64_t time_ns) {
  book_open(fx, &book, kind, kind == BOOK_PINNED ? PIECES / 2 : FEW);
  const uint64_t heap = book_heap_bytes();
  const uint64_t times = book_repeat(fx, take_and_give, &book, turns, time_ns);
  book_note_heap(fx, heap, times);
  BOOK_CHECK(fx, &book, times, "taken and given back");
}

static void memory_can_be_had_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_MEMORY, TURNS, SOME_NS);
}

static void memory_can_be_had_ever_again(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_MEMORY, MANY_TURNS, MUCH_NS);
}

static void memory_of_a_stream_can_be_had_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_STREAM_MEMORY, TURNS, SOME_NS);
}

static void memory_of_a_stream_can_be_had_ever_again(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_STREAM_MEMORY, MANY_TURNS, MUCH_NS);
}

static void pinned_memory_can_be_had_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_PINNED, TURNS, SOME_NS);
}

static void pinned_memory_can_be_had_ever_again(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_PINNED, MANY_TURNS, MUCH_NS);
}

static void streams_can_be_made_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_STREAMS, TURNS, SOME_NS);
}

static void streams_can_be_made_ever_again(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_STREAMS, MANY_TURNS, MUCH_NS);
}

static void streams_of_a_native_handle_can_be_made_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_NATIVE, TURNS, SOME_NS);
}

static void events_can_be_made_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_EVENTS, TURNS, SOME_NS);
}

static void events_can_be_made_ever_again(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_EVENTS, MANY_TURNS, MUCH_NS);
}

/* ------------------------------------------------------------------ given back by another ------- */

typedef struct giver {
  tbk_fixture_t fx; /* for an error buffer of its own */
  book_t* book;
} giver_t;

static void give_all(void* argument) {
  giver_t* giver = argument;
  book_give_all(&giver->fx, giver->book);
}

static void give_elsewhere(tbk_fixture_t* fx, book_kind_t kind, size_t most) {
  enum { ROUNDS = 2 };
  giver_t* giver = (giver_t*)(void*)fx_zeros(fx, sizeof *giver);
  book_open(fx, &book, kind, most);
  for (int round = 0; round < ROUNDS; round++) {
    book_take_all(fx, &book);
    *giver = (giver_t){*fx, &book};
    fx_join(fx, fx_thread(fx, give_all, giver));
  }
  BOOK_CHECK(fx, &book, ROUNDS, "given back by another thread");
}

static void what_another_thread_gives_back_can_be_had_again(tbk_fixture_t* fx) {
  give_elsewhere(fx, BOOK_MEMORY, 2 * PIECES);
}

static void pinned_memory_that_another_thread_gives_back_can_be_had_again(tbk_fixture_t* fx) {
  give_elsewhere(fx, BOOK_PINNED, 2 * PIECES);
}

static void memory_of_a_stream_that_another_thread_gives_back_can_be_had_again(tbk_fixture_t* fx) {
  give_elsewhere(fx, BOOK_STREAM_MEMORY, 2 * PIECES);
}

static void streams_that_another_thread_destroys_can_be_made_again(tbk_fixture_t* fx) {
  give_elsewhere(fx, BOOK_STREAMS, BOOK_MOST);
}

static void events_that_another_thread_destroys_can_be_made_again(tbk_fixture_t* fx) {
  give_elsewhere(fx, BOOK_EVENTS, BOOK_MOST);
}

/* ------------------------------------------------------------------ what the device tells ------- */

static uint64_t told_free(tbk_fixture_t* fx) {
  uint64_t free_bytes = 0, total_bytes = 0;
  CHECK_OK(fx->core->memory_info(fx->self, fx->device, &free_bytes, &total_bytes, &fx->error));
  return free_bytes;
}

/* One piece at a time. A pool may keep what was freed, once; others may take some, but hardly half. */
static void tell_after(tbk_fixture_t* fx, book_kind_t kind) {
  enum { ROUNDS = 2 * PIECES };
  uint64_t first = 0, last = 0;
  book_open(fx, &book, kind, 1);
  for (int round = 0; round < ROUNDS; round++) {
    book_take_all(fx, &book);
    book_give_all(fx, &book);
    last = told_free(fx);
    if (round == 0) first = last;
  }
  CHECK_SAID(last >= first / 2, "about as much free as after the first time",
             "%llu bytes, then %llu after %d times", (unsigned long long)first,
             (unsigned long long)last, ROUNDS);
}

static void what_comes_and_goes_is_told_as_free(tbk_fixture_t* fx) {
  tell_after(fx, BOOK_MEMORY);
  if (book_is_kept(fx, BOOK_STREAM_MEMORY)) tell_after(fx, BOOK_STREAM_MEMORY);
}

/* ---------------------------------------------------------------------------------- refusals ---- */

static const book_kind_t kinds[] = {BOOK_MEMORY, BOOK_PINNED, BOOK_STREAMS, BOOK_EVENTS};
enum { KINDS = sizeof kinds / sizeof *kinds };
static book_t books[KINDS];

/* One of each: what is counted for a refusal comes to all there is in time. */
static void run_refused(tbk_fixture_t* fx, sweep_case_t* one) {
  refusal_run(fx, one, REFUSAL_HEAP);
  for (int i = 0; i < KINDS; i++)
    if (book_is_kept(fx, kinds[i])) BOOK_CHECK(fx, &books[i], refusal_count(one), "refused");
}

/* First a few times, as a count that goes below 0 lets everything through. */
static void refusals_cost_nothing(tbk_fixture_t* fx) {
  static const sweep_space_t some = {{&refusal_axis, &refusal_some}, refusal_fits, run_refused, 0};
  static const sweep_space_t many = {{&refusal_axis, &refusal_many}, refusal_fits, run_refused, 0};
  refusal_name_all();
  for (int i = 0; i < KINDS; i++)
    if (book_is_kept(fx, kinds[i])) book_open(fx, &books[i], kinds[i], 1);
  sweep_run(fx, &some);
  sweep_run(fx, &many);
}

/*
 * Between pieces that stay, with room for it in sum and none together: each time for less, so that what is counted
 * by mistake comes to all there is. Who maps pages gives it all the same.
 */
static bool ask_for_one_piece(tbk_fixture_t* fx, void* argument) {
  const uint64_t piece = *(const uint64_t*)argument;
  for (uint64_t size = 2 * piece; size > piece; size -= piece / 8) {
    tbk_memory_t memory = 0;
    const tbk_status_t status =
        fx->core->memory_alloc(fx->self, fx->device, size, &memory, &fx->error);
    if (status == TBK_OK)
      CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
    else if (!CHECK_STATUS(TBK_OUT_OF_MEMORY, status))
      return false;
  }
  return true;
}

static void give_every_other(tbk_fixture_t* fx, book_t* of) {
  size_t kept = 0;
  for (size_t i = 0; i < of->count; i++) {
    if (i % 2 == 0)
      of->pieces[kept++] = of->pieces[i];
    else
      CHECK_OK(fx->core->memory_free(fx->self, fx->device, of->pieces[i].memory, &fx->error));
  }
  of->count = kept;
}

static void memory_in_pieces_is_refused_for_nothing(tbk_fixture_t* fx) {
  book_open(fx, &book, BOOK_MEMORY, 2 * PIECES);
  book_take_all(fx, &book);
  give_every_other(fx, &book);
  const uint64_t times = book_repeat(fx, ask_for_one_piece, &book.size, ODD_SIZES, SOME_NS);
  book_give_all(fx, &book);
  BOOK_CHECK(fx, &book, times, "refused, as no piece was large enough");
}

/* More than there is: as often as a count of a page for each comes to a quarter of all. */
static bool ask_for_too_much(tbk_fixture_t* fx, void* argument) {
  const book_t* of = argument;
  tbk_memory_t memory = 0;
  const tbk_status_t status =
      fx->core->memory_alloc(fx->self, fx->device, of->size * (of->had + 2), &memory, &fx->error);
  if (status != TBK_OK) return CHECK_STATUS(TBK_OUT_OF_MEMORY, status);
  return CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

static void memory_is_refused_ever_again_for_nothing(tbk_fixture_t* fx) {
  book_open(fx, &book, BOOK_MEMORY, 2 * PIECES);
  const uint64_t times = book_repeat(fx, ask_for_too_much, &book, MANY_TURNS, MUCH_NS);
  BOOK_CHECK(fx, &book, times, "refused, as it was too much");
}

/* ------------------------------------------------------------------------------------ closed ---- */

/* All are in use when the device is closed, and given back before it is open again. */
static void close_in_use(tbk_fixture_t* fx, book_kind_t kind, size_t most) {
  fx_open(fx);
  book_open(fx, &book, kind, most);
  book_take_all(fx, &book);
  fx_close(fx);
  book_give_all(fx, &book);
  fx_open(fx);
  BOOK_CHECK(fx, &book, 1, "closed in use");
}

static void as_many_streams_can_be_made_after_a_close_in_use(tbk_fixture_t* fx) {
  close_in_use(fx, BOOK_STREAMS, FEW);
}

static void as_many_hundreds_of_streams_can_be_made_after_a_close_in_use(tbk_fixture_t* fx) {
  close_in_use(fx, BOOK_STREAMS, BOOK_MOST);
}

static void as_many_events_can_be_made_after_a_close_in_use(tbk_fixture_t* fx) {
  close_in_use(fx, BOOK_EVENTS, BOOK_MOST);
}

static void as_much_memory_can_be_had_after_a_close_in_use(tbk_fixture_t* fx) {
  close_in_use(fx, BOOK_MEMORY, 2 * PIECES);
}

static void as_much_pinned_memory_can_be_had_after_a_close_in_use(tbk_fixture_t* fx) {
  close_in_use(fx, BOOK_PINNED, 2 * PIECES);
}

#define ALONE TBK_CASE_ALONE
#define MANY (TBK_CASE_ALONE | TBK_CASE_THOROUGH)
#define CLOSED (TBK_CASE_ALONE | TBK_CASE_CLOSED)

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-012", NULL, ALONE, memory_can_be_had_a_thousand_times),
    TBK_CASE("MEM-012", NULL, MANY, memory_can_be_had_ever_again),
    TBK_CASE("SOM-009", "async_memory", ALONE, memory_of_a_stream_can_be_had_a_thousand_times),
    TBK_CASE("SOM-009", "async_memory", MANY, memory_of_a_stream_can_be_had_ever_again),
    TBK_CASE("PIN-009", "pinned", 0, pinned_memory_can_be_had_a_thousand_times),
    TBK_CASE("PIN-009", "pinned", TBK_CASE_THOROUGH, pinned_memory_can_be_had_ever_again),
    TBK_CASE("STR-006", "stream", 0, streams_can_be_made_a_thousand_times),
    TBK_CASE("STR-006", "stream", TBK_CASE_THOROUGH, streams_can_be_made_ever_again),
    TBK_CASE("STR-030", "stream native_handle from_native", 0,
             streams_of_a_native_handle_can_be_made_a_thousand_times),
    TBK_CASE("EVT-003", "event", 0, events_can_be_made_a_thousand_times),
    TBK_CASE("EVT-003", "event", TBK_CASE_THOROUGH, events_can_be_made_ever_again),
    TBK_CASE("MEM-012", NULL, ALONE, what_another_thread_gives_back_can_be_had_again),
    TBK_CASE("SOM-009", "async_memory", ALONE,
             memory_of_a_stream_that_another_thread_gives_back_can_be_had_again),
    TBK_CASE("PIN-009", "pinned", 0, pinned_memory_that_another_thread_gives_back_can_be_had_again),
    TBK_CASE("STR-006", "stream", 0, streams_that_another_thread_destroys_can_be_made_again),
    TBK_CASE("EVT-003", "event", 0, events_that_another_thread_destroys_can_be_made_again),
    TBK_CASE("MEM-019", "memory_info", ALONE, what_comes_and_goes_is_told_as_free),
    TBK_CASE("ERR-001", NULL, ALONE, refusals_cost_nothing),
    TBK_CASE("MEM-009", NULL, ALONE, memory_in_pieces_is_refused_for_nothing),
    TBK_CASE("ERR-001", NULL, MANY, memory_is_refused_ever_again_for_nothing),
    TBK_CASE("DEV-022", "stream", CLOSED, as_many_streams_can_be_made_after_a_close_in_use),
    TBK_CASE("DEV-022", "stream", CLOSED | TBK_CASE_THOROUGH,
             as_many_hundreds_of_streams_can_be_made_after_a_close_in_use),
    TBK_CASE("DEV-022", "event", CLOSED, as_many_events_can_be_made_after_a_close_in_use),
    TBK_CASE("DEV-022", NULL, CLOSED, as_much_memory_can_be_had_after_a_close_in_use),
    TBK_CASE("DEV-022", "pinned", CLOSED, as_much_pinned_memory_can_be_had_after_a_close_in_use),
};
TBK_SUITE(sweep_books);
