/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <simkit/machine.h>
#include <stdio.h>
#include <stdlib.h>

static vdev_config_t config;
static bool options_read; /* else they hold something that is no option */

static void read_options(void) {
  char name[64], bad[64];
  snprintf(name, sizeof name, "TBK_%s_SIMULATOR", sim_driver.name);
  const char* text = getenv(name);
  config = vdev_config_default();
  config.arena.alignment = sim_setup.alignment;
  config.arena.flat = 1;
  options_read = vdev_config_parse(&config, &sim_setup.own, text ? text : "", bad);
  if (!options_read)
    fprintf(stderr, "%s: '%s' is no option, or has another kind of value\n", name, bad);
}

bool sim_options(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_options);
  return options_read;
}

vdev_machine_t* sim_machine_new(void) {
  return sim_options() ? vdev_machine_new(&config) : NULL;
}
