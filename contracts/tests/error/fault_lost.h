/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fault_lost.h: tests of the suite "fault" on a device that is lost; fault_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_FAULT_LOST_H
#define TBK_CONTRACTS_FAULT_LOST_H

#include "fixture.h"

void lost_device_answers_so_to_every_call(tbk_fixture_t* fx);
void lost_device_stays_lost(tbk_fixture_t* fx);
void lost_device_holds_nobody(tbk_fixture_t* fx);
void loss_keeps_its_place_in_the_stream(tbk_fixture_t* fx);
void other_device_works_on_after_a_loss(tbk_fixture_t* fx);
void what_a_lost_device_gave_can_be_given_back(tbk_fixture_t* fx);
void async_memory_of_a_lost_device_can_be_given_back(tbk_fixture_t* fx);
void queries_of_a_lost_device_come_to_an_end(tbk_fixture_t* fx);
void loss_comes_with_a_reason(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_FAULT_LOST_H */
