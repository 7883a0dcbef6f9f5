/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * old.c: the names without a suffix, which stand for the oldest version of their functions; a program
 * that means the current one calls another ABI.
 */
#include "old.h"
#include "simulator.h"

#define SIM_OLD_DEFINE(name)               \
  SIM_EXPORT cu_result name(void);         \
  cu_result name(void) {                   \
    return sim_broken(SIM_VERSION, #name); \
  }
SIM_OLD_NAMES(SIM_OLD_DEFINE)
