/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of allocation: what refused calls leave behind, how often memory comes and goes, and who
 * gets memory that a stream has freed while its work is pending.
 */
#include "dimensions.h"
#include "hoard.h"
#include "range.h"

#include <string.h>

enum { MOST_BLOCKS = 300, DELAY_US = 3000 };

/* ------------------------------------------------------------------------ refused allocations -- */

typedef enum refusal { TOO_MUCH, ALL_AND_MORE, MORE_THAN_FREE, NOWHERE, ASYNC, PINNED } refusal_t;

SWEEP_DIMENSION(refusal_axis, "refused", {"too_much", TOO_MUCH}, {"all_and_more", ALL_AND_MORE},
                {"more_than_free", MORE_THAN_FREE}, {"nowhere", NOWHERE}, {"async", ASYNC},
                {"pinned", PINNED});
SWEEP_DIMENSION(times_axis, "times", {"1", 1}, {"17", 17}, {"101", 101}, {"1003", 1003});

static bool refusal_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  int64_t refusal = sweep_get(one, &refusal_axis);
  bool needs_total = refusal == ALL_AND_MORE || refusal == MORE_THAN_FREE;
  if (needs_total && fx->properties.memory_bytes == 0) return false;
  if (refusal == ASYNC && fx->async_memory == NULL) return false;
  if (refusal == PINNED && fx->pinned == NULL) return false;
  return scene_fits(fx, one);
}

/* The largest power of two that can be had at once now, no more than half of all memory. */
static uint64_t largest_block(tbk_fixture_t* fx) {
  uint64_t total = fx->properties.memory_bytes, size = 1;
  uint64_t most = fx->properties.max_allocation_bytes;
  while (size < (total != 0 ? total / 2 : UINT64_C(1) << 26))
    size *= 2;
  while (most != 0 && size > most)
    size /= 2;
  for (; size > 65536; size /= 2) {
    tbk_memory_t memory = 0;
    tbk_status_t status = fx->core->memory_alloc(fx->self, fx->device, size, &memory, &fx->error);
    if (status == TBK_OK) {
      REQUIRE_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
      return size;
    }
  }
  return size;
}

static tbk_status_t refuse(tbk_fixture_t* fx, refusal_t refusal, tbk_stream_t* stream,
                           tbk_memory_t* out) {
  const tbk_core_t* core = fx->core;
  uint64_t total = fx->properties.memory_bytes;
  void* pointer = NULL;
  switch (refusal) {
    case ALL_AND_MORE:
      return core->memory_alloc(fx->self, fx->device, total + 65536, out, &fx->error);
    case MORE_THAN_FREE: /* three quarters live already */
      return core->memory_alloc(fx->self, fx->device, total, out, &fx->error);
    case NOWHERE:
      return core->memory_alloc(fx->self, fx->device, total / 8 + 4096, NULL, &fx->error);
    case ASYNC:
      return fx->async_memory->async_alloc(fx->self, stream, INT64_MAX, out, &fx->error);
    case PINNED:
      return fx->pinned->pinned_alloc(fx->self, fx->device, INT64_MAX, &pointer, &fx->error);
    default:
      return core->memory_alloc(fx->self, fx->device, INT64_MAX, out, &fx->error);
  }
}

static const char* refusal_function(refusal_t refusal) {
  return refusal == ASYNC ? "async_alloc" : refusal == PINNED ? "pinned_alloc" : "memory_alloc";
}

static uint64_t free_bytes(tbk_fixture_t* fx) {
  uint64_t free = 0, total = 0;
  if (!TBK_HAS(fx->core, tbk_core_t, memory_info)) return 0;
  REQUIRE_OK(fx->core->memory_info(fx->self, fx->device, &free, &total, &fx->error));
  return free;
}

static void run_refusals(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  scene_begin(fx, one, &scene);
  refusal_t refusal = (refusal_t)sweep_get(one, &refusal_axis);
  tbk_stream_t* stream = refusal == ASYNC ? fx_stream(fx) : NULL;
  tbk_memory_t untouched = 1, live = 0;
  uint64_t size = largest_block(fx), before = free_bytes(fx);
  if (refusal == MORE_THAN_FREE && !sweep_alloc(fx, one, size / 2, &live)) return;
  for (int64_t i = 0; i < sweep_get(one, &times_axis); i++) {
    tbk_status_t status = refuse(fx, refusal, stream, &untouched);
    if (!CHECK_SAID(status == (refusal == NOWHERE ? TBK_INVALID : TBK_OUT_OF_MEMORY),
                    refusal == NOWHERE ? "INVALID" : "OUT_OF_MEMORY", "%s",
                    tbk_status_name(status)))
      return;
    CHECK_KEPT(refusal_function(refusal), untouched == 1);
  }
  if (live != 0) {
    fx_disown_memory(fx, live);
    REQUIRE_OK(fx->core->memory_free(fx->self, fx->device, live, &fx->error));
  }
  CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, size, &live, &fx->error));
  if (live != 0) CHECK_OK(fx->core->memory_free(fx->self, fx->device, live, &fx->error));
  uint64_t after = free_bytes(fx); /* what a driver takes for itself is much less than this */
  CHECK_SAID(after + fx->properties.memory_bytes / 4 >= before, "as much free memory as before",
             "%llu bytes of %llu", (unsigned long long)after, (unsigned long long)before);
}

static void a_refused_allocation_takes_nothing(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&refusal_axis, &times_axis, &sweep_device}, refusal_fits, run_refusals, 0};
  sweep_run(fx, &space);
}

/* ----------------------------------------------------------------------------- come and go ---- */

SWEEP_DIMENSION(blocks_axis, "blocks", {"1", 1}, {"2", 2}, {"40", 40}, {"299", 299});
SWEEP_DIMENSION(turns_axis, "turns", {"1", 1}, {"9", 9}, {"101", 101});
SWEEP_DIMENSION(order_axis, "freed", {"first_first", 0}, {"last_first", 1}, {"odd_first", 2});
SWEEP_DIMENSION(mixed_axis, "sizes", {"equal", 0}, {"mixed", 1}, {"doubling", 2});

typedef struct churn {
  scene_t scene;
  tbk_memory_t memory[MOST_BLOCKS];
  uint64_t sizes[MOST_BLOCKS];
  uint8_t marks[MOST_BLOCKS][16]; /* at the beginning and the end of each block */
  int64_t blocks;
  bool refused;
} churn_t;

static bool churn_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  uint64_t size = (uint64_t)sweep_get(one, &sweep_size), most = fx->properties.max_allocation_bytes;
  uint64_t blocks = (uint64_t)sweep_get(one, &blocks_axis);
  uint64_t turns = (uint64_t)sweep_get(one, &turns_axis);
  if (blocks * turns > 4000 || (most != 0 && size * 4 > most)) return false;
  return scene_fits(fx, one) && 8 * size * blocks < sweep_room(fx);
}

static uint64_t block_size(const churn_t* it, int64_t at) {
  uint64_t size = (uint64_t)sweep_get(it->scene.one, &sweep_size);
  int64_t mixed = sweep_get(it->scene.one, &mixed_axis);
  if (mixed == 1) size = 1 + size * (uint64_t)(at * 7 % 13) / 6;
  if (mixed == 2) size <<= at % 3;
  return fx_round(it->scene.fx, size < 32 ? 32 : size);
}

static bool mark(tbk_fixture_t* fx, churn_t* it, int64_t at, bool read) {
  uint64_t unit = fx_round(fx, 16), ends[2] = {0, it->sizes[at] - unit};
  uint8_t bytes[4096];
  for (int end = 0; end < 2; end++) {
    memset(bytes, (int)(at * 5 + end), sizeof bytes);
    memcpy(bytes, it->marks[at], sizeof it->marks[at]);
    if (!read) {
      if (!CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory[at], ends[end], bytes, unit,
                                     NULL, &fx->error)))
        return false;
      continue;
    }
    uint8_t seen[4096] = {0};
    if (!CHECK_OK(fx->core->download(fx->self, fx->device, seen, it->memory[at], ends[end], unit,
                                     NULL, &fx->error)) ||
        !CHECK_BYTES(bytes, seen, 16))
      return false;
  }
  return true;
}

/* The first turn shows whether so much can be had; what it had, all later ones must get. */
static bool take_all(tbk_fixture_t* fx, churn_t* it, bool first) {
  for (int64_t i = 0; i < it->blocks; i++) {
    it->sizes[i] = block_size(it, i);
    tbk_status_t status =
        fx->core->memory_alloc(fx->self, fx->device, it->sizes[i], &it->memory[i], it->scene.error);
    it->refused = first && status == TBK_OUT_OF_MEMORY;
    if (it->refused || !tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("memory_alloc"))) {
      it->blocks = i;
      return false;
    }
  }
  return true;
}

static void give_all(tbk_fixture_t* fx, churn_t* it) {
  int64_t order = sweep_get(it->scene.one, &order_axis), count = it->blocks;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = order == 0 ? i : count - 1 - i;
    if (order == 2) at = i < count / 2 ? 2 * i + 1 : 2 * (i - count / 2);
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, it->memory[at], it->scene.error));
  }
}

static void churn_turns(tbk_fixture_t* fx, void* argument) {
  churn_t* it = argument;
  bool held = true;
  for (int64_t turn = 0; held && turn < sweep_get(it->scene.one, &turns_axis); turn++) {
    held = take_all(fx, it, turn == 0);
    bool look = turn % 16 == 0 && it->sizes[0] >= 2 * fx_round(fx, 16);
    for (int64_t i = 0; held && look && i < it->blocks; i++)
      held = it->sizes[i] < 2 * fx_round(fx, 16) || mark(fx, it, i, false);
    for (int64_t i = 0; held && look && i < it->blocks; i++)
      held = it->sizes[i] < 2 * fx_round(fx, 16) || mark(fx, it, i, true);
    give_all(fx, it);
  }
}

static void run_churn(tbk_fixture_t* fx, sweep_case_t* one) {
  churn_t* it = (churn_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_begin(fx, one, &it->scene);
  it->blocks = sweep_get(one, &blocks_axis);
  for (int64_t i = 0; i < it->blocks; i++)
    for (size_t k = 0; k < sizeof it->marks[i]; k++)
      it->marks[i][k] = (uint8_t)fx_random(fx);
  scene_call(&it->scene, churn_turns, it);
  one->left_out = it->refused;
}

static void memory_comes_and_goes(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&sweep_size, &blocks_axis, &turns_axis, &order_axis,
                                       &mixed_axis, &sweep_device, &sweep_thread, &sweep_error},
                                      churn_fits,
                                      run_churn,
                                      0};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------------------ small and large -- */

SWEEP_DIMENSION(pieces_axis, "pieces", {"7", 7}, {"60", 60}, {"290", 290});
SWEEP_DIMENSION(then_axis, "then", {"three-quarters", 6},
                {"half", 4}); /* eighths: others are there, too */

/* What allocators may keep apart for small allocations is smaller. */
enum { SMALLEST_PIECE = 2 << 20 };

static uint64_t piece_size(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const uint64_t most = fx->properties.max_allocation_bytes, unit = fx_round(fx, 1);
  uint64_t size = fx->properties.memory_bytes / (uint64_t)sweep_get(one, &pieces_axis);
  if (size < SMALLEST_PIECE) size = SMALLEST_PIECE;
  if (most != 0 && size > most) size = most;
  return size - size % unit;
}

/* Not where so many pieces do not reach all there is. */
static bool pieces_fit(const tbk_fixture_t* fx, const sweep_case_t* one) {
  if (fx->properties.memory_bytes == 0 || !scene_fits(fx, one)) return false;
  const uint64_t piece = piece_size(fx, one);
  return piece >= SMALLEST_PIECE && fx->properties.memory_bytes / piece < MOST_BLOCKS;
}

/* Returns whether all there was has been had: others may have got most, and a device may have more than it says. */
static bool take_pieces(tbk_fixture_t* fx, churn_t* it, uint64_t piece) {
  tbk_status_t status = TBK_OK;
  while (it->blocks < MOST_BLOCKS && status == TBK_OK) {
    status =
        fx->core->memory_alloc(fx->self, fx->device, piece, &it->memory[it->blocks], &fx->error);
    it->blocks += status == TBK_OK;
  }
  CHECK_SAID(status == TBK_OK || status == TBK_OUT_OF_MEMORY, "OUT_OF_MEMORY in the end",
             "%s after %lld pieces of %llu bytes", tbk_status_name(status), (long long)it->blocks,
             (unsigned long long)piece);
  return status == TBK_OUT_OF_MEMORY && it->blocks >= 2;
}

/* All that can be had, in pieces; then most of what could be had at once before, in one. */
static void run_pieces(tbk_fixture_t* fx, sweep_case_t* one) {
  churn_t* it = (churn_t*)(void*)fx_zeros(fx, sizeof *it);
  tbk_memory_t large = 0;
  scene_begin(fx, one, &it->scene);
  const uint64_t most = largest_block(fx), piece = piece_size(fx, one);
  const uint64_t large_bytes = most / 8 * (uint64_t)sweep_get(one, &then_axis);
  one->left_out = !take_pieces(fx, it, piece);
  give_all(fx, it);
  if (one->left_out) return;
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, fx->device, large_bytes, &large, &fx->error);
  CHECK_SAID(status == TBK_OK, "most of what could be had at once before it was had in pieces",
             "%s for %llu of %llu bytes, after %lld pieces of %llu", tbk_status_name(status),
             (unsigned long long)large_bytes, (unsigned long long)most, (long long)it->blocks,
             (unsigned long long)piece);
  if (status == TBK_OK) CHECK_OK(fx->core->memory_free(fx->self, fx->device, large, &fx->error));
}

static void memory_of_pieces_can_be_had_in_one(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&pieces_axis, &order_axis, &then_axis, &sweep_device}, pieces_fit, run_pieces, 2};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------------------- nearly full -- */

enum { MOST_SMALL = 2000 };

SWEEP_DIMENSION(small_axis, "size", {"1", 1}, {"64", 64}, {"513", 513}, {"4K", 4096},
                {"12K+1", 12289}, {"32K", 32768}, {"64K-1", 65535});
SWEEP_DIMENSION(again_axis, "again", {"1", 1}, {"4", 4});

typedef struct full {
  hoard_t hoard;
  tbk_memory_t small[MOST_SMALL];
  size_t count;
} full_t;

static void release(tbk_fixture_t* fx, const tbk_memory_t* memory, size_t count) {
  for (size_t i = 0; i < count; i++)
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory[i], &fx->error));
}

static size_t take_small(tbk_fixture_t* fx, full_t* it, uint64_t size, size_t most) {
  const uint64_t alignment = fx->properties.memory_alignment;
  bool flat = (fx->properties.flags & TBK_DEVICE_FLAT_ADDRESS) != 0;
  size_t count = 0;
  while (count < most && fx->core->memory_alloc(fx->self, fx->device, size, &it->small[count],
                                                &fx->error) == TBK_OK) {
    if (!CHECK(it->small[count] != 0) || (flat && !CHECK(it->small[count] % alignment == 0))) break;
    count++;
  }
  return count;
}

/* The total is as ever when nothing else is to be had. */
static void check_while_full(tbk_fixture_t* fx, uint64_t total_before) {
  uint64_t free = 0, total = 0;
  if (!TBK_HAS(fx->core, tbk_core_t, memory_info)) return;
  CHECK_OK(fx->core->memory_info(fx->self, fx->device, &free, &total, &fx->error));
  CHECK_EQUAL(total_before, total);
  CHECK(free <= total);
}

/* A handle for size 0 may take a place that a full device has not got; now it has. */
static void check_when_free_again(tbk_fixture_t* fx) {
  tbk_memory_t nothing = 0;
  CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, 0, &nothing, &fx->error));
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, nothing, &fx->error));
}

/* What was freed can be had again; half of it, because others may use the device meanwhile. */
static void run_small(tbk_fixture_t* fx, sweep_case_t* one) {
  full_t* it = (full_t*)(void*)fx_zeros(fx, sizeof *it);
  uint64_t size = (uint64_t)sweep_get(one, &small_axis), free = 0, total = 0;
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  if (TBK_HAS(fx->core, tbk_core_t, memory_info))
    REQUIRE_OK(fx->core->memory_info(fx->self, fx->device, &free, &total, &fx->error));
  hoard_take(fx, &it->hoard, NULL, 65536);
  hoard_leave_room(fx, &it->hoard, NULL, UINT64_C(1) << 19);
  it->count = take_small(fx, it, size, MOST_SMALL);
  check_while_full(fx, total);
  for (int64_t i = 0; i < sweep_get(one, &again_axis); i++) {
    release(fx, it->small, it->count);
    size_t count = take_small(fx, it, size, it->count);
    CHECK_SAID(2 * count >= it->count, "as many as were freed", "%zu of %zu", count, it->count);
    it->count = count;
  }
  release(fx, it->small, it->count);
  hoard_give(fx, &it->hoard, NULL);
  check_when_free_again(fx);
}

static void small_memory_can_be_had_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&small_axis, &again_axis, &sweep_device}, scene_fits, run_small, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-009", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             a_refused_allocation_takes_nothing),
    TBK_CASE("MEM-012", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             memory_of_pieces_can_be_had_in_one),
    TBK_CASE("MEM-005", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE, memory_comes_and_goes),
    TBK_CASE("MEM-012", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE, small_memory_can_be_had_again),
};
TBK_SUITE(sweep_memory);
