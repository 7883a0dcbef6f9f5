/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: tbk-bench-driver NAME LIBRARY [--options TEXT] [--rounds N] [--most BYTES] times copies and
 * launches through the interface of the backend NAME, and by the bare driver below it, in turn in one
 * process; it writes JSON and judges nothing. `--list` writes the names of the drivers that it knows.
 * Ends with 5 where there is no device, and 1 where a call fails.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

enum { MOST_ROUNDS = 101, LAUNCHES = 200, NO_DEVICE = 5, WARM_UP = 2 };

static const bench_driver_t* const drivers[] = {&bench_cuda, &bench_opencl};

static struct {
  const char *name, *library, *options;
  int rounds;
  uint64_t most;
} settings = {.rounds = 21, .most = UINT64_C(64) << 20};

static const bench_driver_t* raw;
static const tbk_backend_t* backend;
static tbk_instance_t* self;
static tbk_stream_t* stream;
static tbk_memory_t blocks[2];
static char* host;
static const tbk_kernel_t* kernel;
static tbk_error_t error;

static _Noreturn void stop(int code, const char* what, const char* why) {
  fprintf(stderr, "tbk-bench-driver: %s: %s\n", what, why);
  exit(code);
}

static void want(tbk_status_t status, const char* what) {
  if (status != TBK_OK) stop(EXIT_FAILURE, what, error.message);
}

bool bench_option(const char* options, const char* key, char* out, size_t out_bytes) {
  const size_t length = strlen(key);
  for (const char* at = options; at != NULL && *at != '\0';) {
    const size_t size = strcspn(at, ",");
    if (size > length && strncmp(at, key, length) == 0 && at[length] == '=') {
      snprintf(out, out_bytes, "%.*s", (int)(size - length - 1), at + length + 1);
      return true;
    }
    at += size + (at[size] == ',');
  }
  return false;
}

static void open_backend(void) {
  tbk_backend_create_fn create;
  int32_t count = 0;
  void* library = dlopen(settings.library, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
  if (symbol == NULL) stop(EXIT_FAILURE, settings.library, "is no backend");
  memcpy(&create, &symbol, sizeof create);
  const tbk_host_t by = {sizeof by, TBK_ABI_VERSION, NULL, NULL, settings.options};
  want(create(&by, &backend, &error), "the backend");
  self = backend->instance;
  if (backend->core->device_count(self, &count, &error) != TBK_OK || count == 0)
    stop(NO_DEVICE, settings.name, "no device");
  want(backend->core->device_open(self, 0, &error), "device_open");
  if (backend->stream == NULL || backend->kernel == NULL)
    stop(EXIT_FAILURE, settings.name, "has no streams or no kernels to time");
  want(backend->stream->stream_create(self, 0, 0, &stream, &error), "stream_create");
  kernel = backend->kernel->kernel_find(self, 0, TBK_NAME_fill__Scalar, TBK_VERSION_fill__Scalar);
  if (kernel == NULL) stop(EXIT_FAILURE, settings.name, "has no " TBK_NAME_fill__Scalar);
}

static void take(uint64_t size_bytes) {
  for (int i = 0; i < 2; i++) {
    want(backend->core->memory_free(self, 0, blocks[i], &error), "memory_free");
    want(backend->core->memory_alloc(self, 0, size_bytes, &blocks[i], &error), "memory_alloc");
  }
  if (!raw->take(size_bytes)) stop(EXIT_FAILURE, raw->api, "gives no memory");
  char* bytes = realloc(host, size_bytes);
  if (bytes == NULL) stop(EXIT_FAILURE, "the host", "has no memory");
  host = memset(bytes, 0x5a, size_bytes);
}

/* What is timed: the same piece of work, by the interface and by the driver. */
typedef enum work { UPLOAD, DOWNLOAD, COPY, LAUNCH, WORKS } work_t;
static const char* const work_names[] = {"upload", "download", "copy", "launch"};

static emit_job_t job;
static const int64_t one = 1;
static tbk_tensor_t tensor;
static tbk_args_fill__Scalar_t arguments;

static void launch_many(void) {
  for (int i = 0; i < LAUNCHES; i++)
    want(kernel->launch(self, 0, kernel, &arguments, stream, &error), "launch");
  want(backend->stream->stream_synchronize(self, stream, &error), "stream_synchronize");
}

static void by_interface(work_t work, uint64_t size_bytes) {
  const tbk_core_t* core = backend->core;
  switch (work) {
    case UPLOAD:
      want(core->upload(self, 0, blocks[0], 0, host, size_bytes, NULL, &error), "upload");
      break;
    case DOWNLOAD:
      want(core->download(self, 0, host, blocks[0], 0, size_bytes, NULL, &error), "download");
      break;
    case COPY:
      want(core->copy(self, 0, blocks[1], 0, blocks[0], 0, size_bytes, NULL, &error), "copy");
      break;
    default:
      launch_many();
      break;
  }
}

static void by_driver(work_t work, uint64_t size_bytes) {
  const bool done = work == UPLOAD     ? raw->upload(host, size_bytes)
                    : work == DOWNLOAD ? raw->download(host, size_bytes)
                    : work == COPY     ? raw->copy(size_bytes)
                                       : raw->launch(&job, LAUNCHES);
  if (!done) stop(EXIT_FAILURE, raw->api, work_names[work]);
}

static double timed(void (*act)(work_t, uint64_t), work_t work, uint64_t size_bytes) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  act(work, size_bytes);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double ns =
      (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
  return work == LAUNCH ? ns / LAUNCHES : ns;
}

static int by_size(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return values[count / 2];
}

/* What disturbs a round disturbs both of its halves, so the ratio is the median of theirs. */
static void measure(work_t work, uint64_t size_bytes, bool first) {
  double ours[MOST_ROUNDS], bare[MOST_ROUNDS], ratios[MOST_ROUNDS];
  for (int i = -WARM_UP; i < settings.rounds; i++) {
    const int at = i < 0 ? 0 : i;
    ours[at] = timed(by_interface, work, size_bytes);
    bare[at] = timed(by_driver, work, size_bytes);
    ratios[at] = ours[at] / bare[at];
  }
  printf(
      "%s\n  {\"what\": \"%s\", \"bytes\": %llu, \"backend_ns\": %.0f, \"driver_ns\": %.0f, "
      "\"ratio\": %.3f}",
      first ? "" : ",", work_names[work], (unsigned long long)size_bytes,
      median(ours, settings.rounds), median(bare, settings.rounds),
      median(ratios, settings.rounds));
}

/* A kernel that writes one element: what is timed is the way to it. */
static void prepare(void) {
  tensor = (tbk_tensor_t){sizeof tensor, blocks[0], 4, 0, TBK_FLOAT32, 1, &one, &one};
  arguments.struct_size = sizeof arguments;
  arguments.self = &tensor;
  arguments.value = (tbk_scalar_t){.kind = TBK_SCALAR_DOUBLE, .real = 1};
  want(emit_build(&emit_fill, &arguments, true, &job, &error), "a job");
  if (!raw->prepare(&job)) stop(EXIT_FAILURE, raw->api, "does not compile the kernel");
}

static void read_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (argv[i][0] != '-') {
      *(settings.name == NULL ? &settings.name : &settings.library) = argv[i];
      continue;
    }
    if (strcmp(argv[i], "--options") == 0) settings.options = value;
    if (strcmp(argv[i], "--rounds") == 0) settings.rounds = atoi(value);
    if (strcmp(argv[i], "--most") == 0) settings.most = strtoull(value, NULL, 10);
    i++;
  }
  for (size_t i = 0; settings.name != NULL && i < sizeof drivers / sizeof *drivers; i++)
    if (strcmp(drivers[i]->name, settings.name) == 0) raw = drivers[i];
  if (settings.rounds < 1 || settings.rounds > MOST_ROUNDS) settings.rounds = MOST_ROUNDS;
}

static void list(void) {
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
    puts(drivers[i]->name);
  exit(EXIT_SUCCESS);
}

int main(int argc, char** argv) {
  char reason[512] = "no reason given";
  bool first = true;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) list();
  read_arguments(argc, argv);
  if (settings.library == NULL) stop(2, "usage", "NAME LIBRARY [--options TEXT] [--rounds N]");
  if (raw == NULL) stop(2, settings.name, "no driver of that name is known");
  open_backend();
  if (!raw->open(settings.options, reason, sizeof reason)) stop(NO_DEVICE, raw->api, reason);
  printf("{\"api\": \"%s\", \"rounds\": %d, \"launches\": %d, \"figures\": [", raw->api,
         settings.rounds, LAUNCHES);
  take(4096);
  prepare();
  measure(LAUNCH, 4, first);
  for (uint64_t size = 4096; size <= settings.most; size *= 128) {
    take(size);
    for (work_t work = UPLOAD; work < LAUNCH; work++)
      measure(work, size, false);
  }
  printf("\n]}\n");
  raw->close();
  backend->core->destroy(self);
  return EXIT_SUCCESS;
}
