/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * budget_order.h: in which order tests tell most for the time that they take.
 */
#ifndef TBK_HARNESS_BUDGET_ORDER_H
#define TBK_HARNESS_BUDGET_ORDER_H

#include "plan.h"

/*
 * Orders items: first a test of each clause that has one that is soon over, the cheap ones before
 * the others; then one of each name that is as cheap; then whatever shows most that is new for what
 * it costs. Suites take turns, and get time by the cube root of what all their tests cost: the
 * small ones shall not wait for the large. What is equal in this keeps its order; it is taken from
 * ids, flags and stated costs alone.
 */
void tbk_budget_order(tbk_item_t* items, size_t count, const tbk_test_t* tests);

#endif /* TBK_HARNESS_BUDGET_ORDER_H */
