/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * config_test.c: texts that are read, and texts that are not.
 */
#include "vdev/config.h"

#include <string.h>

#include "selftest.h"

static void what_is_said_is_read(void) {
  vdev_config_t config = vdev_config_default();
  char bad[64];
  CU_ASSERT(vdev_config_parse(&config, NULL,
                              "devices=3,memory=64M,scheduler=seeded,seed=0x10,policy=one_queue,"
                              "handles=never,alignment=4K,exclusive=/tmp/x",
                              bad));
  CU_ASSERT(config.devices == 3 && config.arena.memory_bytes == 64 << 20 && config.seed == 16);
  CU_ASSERT(config.scheduler == VDEV_SEEDED && config.policy == VDEV_ONE_QUEUE);
  CU_ASSERT(config.arena.handles == VDEV_NEVER && config.arena.alignment == 4096);
  CU_ASSERT_STRING_EQUAL(config.exclusive, "/tmp/x");
  CU_ASSERT(config.arena.flat == 1 && config.events == UINT64_MAX);
}

static void what_is_read_fits_together(void) {
  vdev_config_t config = vdev_config_default();
  char bad[64];
  CU_ASSERT(vdev_config_parse(&config, NULL, "policy=shuffled,memory=5000", bad));
  CU_ASSERT(config.scheduler == VDEV_SEEDED && config.arena.memory_bytes == 8192);
  CU_ASSERT(vdev_config_parse(&config, NULL, "", bad));
  CU_ASSERT(vdev_config_parse(&config, NULL, NULL, bad));
}

static void what_is_wrong_is_named(void) {
  static const char* const wrong[] = {
      "colour=1",   "devices",      "devices=",    "devices=65",
      "devices=-1", "memory=4T",    "policy=fast", "policy=fif",
      "seed=1x",    "alignment=48", "exclusive",   "seed=18446744073709551616",
      "memory=1M1", "exclusive=",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    vdev_config_t config = vdev_config_default();
    char text[64], bad[64] = "";
    strcpy(text, "seed=1,");
    strcat(text, wrong[i]);
    CU_ASSERT_FALSE(vdev_config_parse(&config, NULL, text, bad));
    CU_ASSERT_STRING_EQUAL(bad, wrong[i]);
  }
}

static void a_long_item_is_refused(void) {
  vdev_config_t config = vdev_config_default();
  char text[400], bad[64];
  memset(text, 'x', sizeof text);
  memcpy(text, "exclusive=", 10);
  text[sizeof text - 1] = '\0';
  CU_ASSERT_FALSE(vdev_config_parse(&config, NULL, text, bad));
  text[300] = '\0';
  CU_ASSERT_FALSE(vdev_config_parse(&config, NULL, text, bad));
  text[10 + sizeof config.exclusive - 1] = '\0';
  CU_ASSERT_TRUE(vdev_config_parse(&config, NULL, text, bad));
  CU_ASSERT_EQUAL(strlen(config.exclusive), sizeof config.exclusive - 1);
}

typedef struct own {
  uint64_t speed, seed;
} own_t;

static void a_face_has_keys_of_its_own(void) {
  static const vdev_option_t options[] = {
      {"speed", offsetof(own_t, speed), 0, 2, "slow|fast|", false},
      {"seed", offsetof(own_t, seed), 0, 9, NULL, false},
  };
  own_t values = {0, 0};
  const vdev_own_options_t own = {options, 2, &values};
  vdev_config_t config = vdev_config_default();
  char bad[64];
  CU_ASSERT(vdev_config_parse(&config, &own, "speed=fast,seed=7,devices=1", bad));
  CU_ASSERT(values.speed == 1 && values.seed == 7 && config.seed == 0 && config.devices == 1);
  CU_ASSERT_FALSE(vdev_config_parse(&config, &own, "seed=10", bad));
}

CU_TestInfo vdev_config_tests[] = {
    {"what is said is read", what_is_said_is_read},
    {"what is read fits together", what_is_read_fits_together},
    {"what is wrong is named", what_is_wrong_is_named},
    {"a long item is refused", a_long_item_is_refused},
    {"a face has keys of its own", a_face_has_keys_of_its_own},
    CU_TEST_INFO_NULL,
};
