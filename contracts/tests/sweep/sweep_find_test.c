/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which operators are found: under which names and versions, by which thread, and on which device.
 */
#include <stdatomic.h>
#include <string.h>

#include "child.h"
#include "dimensions.h"
#include "operation.h"
#include "range.h"

enum { FINDERS = 2, ROUNDS = 2000, NAME_BYTES = 96 };

SWEEP_DIMENSION(version_axis, "version", {"0", 0}, {"1", 1}, {"2", 2}, {"255", 255}, {"256", 256},
                {"257", 257}, {"65536", 65536}, {"65537", 65537}, {"2^31+1", 2147483649LL},
                {"most", 4294967295LL});
SWEEP_DIMENSION(name_axis, "name", {"as_it_is", 0}, {"longer", 1}, {"shorter", 2}, {"empty", 3},
                {"capital", 4});

static const tbk_kernel_t* find(tbk_fixture_t* fx, const char* name, int64_t version) {
  return fx->kernel->kernel_find(fx->self, fx->device, name, (uint32_t)version);
}

static const tbk_kernel_t* find_operator(tbk_fixture_t* fx, int id) {
  return find(fx, operation_name((operator_id_t)id), operation_version((operator_id_t)id));
}

static void change(char name[NAME_BYTES], int64_t how) {
  const size_t length = strlen(name);
  if (how == 1) name[length] = '_', name[length + 1] = '\0';
  if (how == 2) name[length - 1] = '\0';
  if (how == 3) name[0] = '\0';
  if (how == 4) name[0] = (char)(name[0] - 'a' + 'A');
}

/* A version is offered or not; another number that ends in the same bits is another version. */
static void run_names(tbk_fixture_t* fx, sweep_case_t* one) {
  const int64_t how = sweep_get(one, &name_axis), version = sweep_get(one, &version_axis);
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  for (int id = 0; id < OPERATORS; id++) {
    char name[NAME_BYTES] = {0};
    strncpy(name, operation_name((operator_id_t)id), NAME_BYTES - 2);
    change(name, how);
    const bool defined = how == 0 && version == operation_version((operator_id_t)id);
    const tbk_kernel_t* kernel = find(fx, name, version);
    CHECK_SAID(kernel == NULL || defined, "NULL", "a kernel for \"%s\", version %lld", name,
               (long long)version);
    CHECK(kernel == find(fx, name, version));
  }
}

static void other_names_and_versions_are_not_found(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&name_axis, &version_axis, &sweep_device}, scene_fits, run_names, 2};
  sweep_run(fx, &space);
}

/* ---------------------------------------------------------------------------------- threads --- */

typedef struct finder {
  tbk_fixture_t fx;
  const tbk_kernel_t* found[OPERATORS];
  atomic_int* waiting;
  size_t first;
} finder_t;

static void find_all(void* argument) {
  finder_t* it = argument;
  atomic_fetch_sub(it->waiting, 1);
  while (atomic_load(it->waiting) > 0)
    continue;
  for (size_t i = 0; i < ROUNDS; i++) {
    operator_id_t id = (operator_id_t)((it->first + i) % OPERATORS);
    const tbk_kernel_t* kernel = find(&it->fx, operation_name(id), operation_version(id));
    CHECK_SAID(kernel == it->found[id], "the kernel that was found before", "%s for %s",
               kernel == NULL ? "NULL" : "another one", operation_name(id));
  }
}

static void every_thread_finds_the_same_kernels(tbk_fixture_t* fx) {
  finder_t* finders = (finder_t*)(void*)fx_zeros(fx, FINDERS * sizeof *finders);
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  tbk_thread_t* threads[FINDERS];
  atomic_store(waiting, FINDERS);
  for (size_t i = 0; i < FINDERS; i++) {
    finders[i].fx = *fx;
    finders[i].waiting = waiting;
    finders[i].first = i * 3;
    for (int id = 0; id < OPERATORS; id++)
      finders[i].found[id] = find_operator(fx, id);
  }
  for (size_t i = 0; i < FINDERS; i++)
    threads[i] = fx_thread(fx, find_all, &finders[i]);
  for (size_t i = 0; i < FINDERS; i++)
    fx_join(fx, threads[i]);
}

/* ---------------------------------------------------------------------------------- closed ---- */

/* Those that were found while it was open too. */
static void nothing_is_found_once_the_device_is_closed(tbk_fixture_t* fx) {
  REQUIRE_OK(fx->core->device_count(fx->self, &fx->device_count, &fx->error));
  for (int32_t device = 0; device < fx->device_count && device < 2; device++) {
    fx_use_device(fx, device);
    for (int turn = 0; turn < 2; turn++) {
      REQUIRE_OK(fx_reopen(fx, device));
      for (int id = 0; id < OPERATORS; id++)
        (void)find_operator(fx, id);
      CHECK_OK(fx->core->device_close(fx->self, device, &fx->error));
      for (int id = 0; id < OPERATORS; id++)
        CHECK(find_operator(fx, id) == NULL);
    }
  }
  fx_use_device(fx, 0);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-020", "kernel", 0, other_names_and_versions_are_not_found),
    TBK_CASE("KRN-021", "kernel", 0, every_thread_finds_the_same_kernels),
    TBK_CASE("KRN-019", "kernel", TBK_CASE_CLOSED, nothing_is_found_once_the_device_is_closed),
};
TBK_SUITE(sweep_find);
