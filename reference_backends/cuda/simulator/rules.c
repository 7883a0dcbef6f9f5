/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.c: the rules as a table.
 */
#include "simulator.h"

static const sim_rule_row_t rows[] = {
#define SIM_RULE_ROW(name, number, class, answer, source, sentence) \
  [number] = {number, class, answer, source, sentence},
    SIM_RULES(SIM_RULE_ROW)
#undef SIM_RULE_ROW
};

const sim_driver_t sim_driver = {"CUDA", "SIM-CUDA", rows, &sim.own.answer, NULL};
