/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event_time.h: tests of the suite "event" on the time between events; event_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_EVENT_TIME_H
#define TBK_CONTRACTS_EVENT_TIME_H

#include "fixture.h"

void elapsed_refuses_events_without_a_time(tbk_fixture_t* fx);
void elapsed_goes_by_what_each_event_was_made_with(tbk_fixture_t* fx);
void elapsed_refuses_events_of_two_devices(tbk_fixture_t* fx);
void elapsed_refuses_null(tbk_fixture_t* fx);
void elapsed_is_not_negative(tbk_fixture_t* fx);
void elapsed_between_streams_is_not_negative(tbk_fixture_t* fx);
void elapsed_is_in_milliseconds(tbk_fixture_t* fx);
void elapsed_counts_whole_seconds(tbk_fixture_t* fx);
void elapsed_is_not_ready_while_one_is_pending(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_EVENT_TIME_H */
