/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * options.c: the options of the virtual device, and those that are this interface's own.
 */
#include "cpu.h"

#define MEMBER(name) offsetof(cpu_options_t, name)
static const vdev_option_t own_options[] = {
    {"zero_handle", MEMBER(zero_handle), 0, 1, NULL, false},
    {"granularity", MEMBER(granularity), 1, 4096, NULL, true},
    {"shape_ms", MEMBER(shape_ms), 0, 60000, NULL, false},
};

tbk_status_t cpu_options_parse(cpu_options_t* options, const char* text, tbk_error_t* error) {
  *options = (cpu_options_t){.device = vdev_config_default(), .granularity = 1};
  const vdev_own_options_t own = {own_options, sizeof own_options / sizeof *own_options, options};
  char bad[64];
  if (!vdev_config_parse(&options->device, &own, text, bad))
    return cpu_fail(TBK_INVALID, error, "option '%s': unknown key, or not a value for it", bad);
  if (options->device.arena.alignment < options->granularity)
    options->device.arena.alignment = options->granularity;
  return TBK_OK;
}
