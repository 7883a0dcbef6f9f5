/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * facts.c: see facts.h.
 */
#include "facts.h"

#include <string.h>

void tbk_facts_order(const tbk_facts_t* facts, tbk_order_t* order, const uint32_t* items,
                     uint32_t count) {
  order->kind = TBK_ORDER_TESTS;
  order->argument = 0;
  order->gate = (int32_t)facts->gate;
  order->wait_blocks = facts->wait_blocks;
  order->watch_health = 0;
  order->held_known = 1;
  order->held = facts->held;
  order->count = count;
  if (count > 0) memcpy(order->items, items, count * sizeof *items);
}

bool tbk_facts_simulated(const tbk_facts_t* facts) {
  size_t index;
  const json_t* device;
  json_array_foreach(facts->devices, index, device) {
    if (json_is_true(json_object_get(device, "simulated"))) return true;
  }
  return false;
}
