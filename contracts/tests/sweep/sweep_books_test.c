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
enum { TURNS = 1500, MANY_TURNS = 20000, ODD_SIZES = 60, FEW = 64, PIECES = 8 };
#define SOME_NS UINT64_C(8000000)
#define MUCH_NS UINT64_C(500000000)

static book_t book;

/* ----------------------------------------------------------------------------- came and went ---- */

static bool take_and_give(tbk_fixture_t* fx, void* argument) {
  book_t* of = argument;
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

static void events_can_be_made_a_thousand_times(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_EVENTS, TURNS, SOME_NS);
}

static void events_can_be_made_ever_again(tbk_fixture_t* fx) {
  come_and_go(fx, BOOK_EVENTS, MANY_TURNS, MUCH_NS);
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
    TBK_CASE("EVT-003", "event", 0, events_can_be_made_a_thousand_times),
    TBK_CASE("EVT-003", "event", TBK_CASE_THOROUGH, events_can_be_made_ever_again),
    TBK_CASE("ERR-001", NULL, ALONE, refusals_cost_nothing),
    TBK_CASE("MEM-009", NULL, ALONE, memory_in_pieces_is_refused_for_nothing),
    TBK_CASE("DEV-022", "stream", CLOSED, as_many_streams_can_be_made_after_a_close_in_use),
    TBK_CASE("DEV-022", "stream", CLOSED | TBK_CASE_THOROUGH,
             as_many_hundreds_of_streams_can_be_made_after_a_close_in_use),
    TBK_CASE("DEV-022", "event", CLOSED, as_many_events_can_be_made_after_a_close_in_use),
    TBK_CASE("DEV-022", NULL, CLOSED, as_much_memory_can_be_had_after_a_close_in_use),
    TBK_CASE("DEV-022", "pinned", CLOSED, as_much_pinned_memory_can_be_had_after_a_close_in_use),
};
TBK_SUITE(sweep_books);
