/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event_wait.h: tests of the suite "event" on what a wait orders; event_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_EVENT_WAIT_H
#define TBK_CONTRACTS_EVENT_WAIT_H

#include "fixture.h"

void wait_refuses_null(tbk_fixture_t* fx);
void wait_refuses_an_event_of_another_device(tbk_fixture_t* fx);
void wait_orders_every_two_kinds_of_work(tbk_fixture_t* fx);
void wait_orders_work_on_second_device(tbk_fixture_t* fx);
void wait_orders_work_after_refused_calls(tbk_fixture_t* fx);
void wait_orders_work_many_times(tbk_fixture_t* fx);
void wait_orders_work_after_an_earlier_wait(tbk_fixture_t* fx);
void wait_orders_work_along_a_chain_of_streams(tbk_fixture_t* fx);
void wait_holds_what_comes_later_only(tbk_fixture_t* fx);
void waits_and_records_keep_their_place(tbk_fixture_t* fx);
void wait_keeps_to_the_record_before_it(tbk_fixture_t* fx);
void wait_is_not_held_by_a_later_record_elsewhere(tbk_fixture_t* fx);
void wait_is_not_held_by_a_later_record(tbk_fixture_t* fx);
void waits_outlive_the_event(tbk_fixture_t* fx);
void wait_for_the_new_point_of_an_event(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_EVENT_WAIT_H */
