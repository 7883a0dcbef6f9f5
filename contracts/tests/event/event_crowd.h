/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event_crowd.h: tests of the suite "event" on who may wait; event_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_EVENT_CROWD_H
#define TBK_CONTRACTS_EVENT_CROWD_H

#include "fixture.h"

void many_streams_wait_for_one_event(tbk_fixture_t* fx);
void stream_waits_for_its_own_event(tbk_fixture_t* fx);
void wait_orders_work_across_devices(tbk_fixture_t* fx);
void wait_orders_work_of_a_stream_that_is_gone(tbk_fixture_t* fx);
void wait_orders_work_of_a_far_stream_that_is_gone(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_EVENT_CROWD_H */
