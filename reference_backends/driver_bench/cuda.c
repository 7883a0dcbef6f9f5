/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda.c: the CUDA driver, bare: one context that stays current, one stream.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../cuda/driver.h"
#include "../cuda/library.h"
#include "../cuda/nvrtc.h"
#include "bench.h"

static const cuda_driver_t* cu;
static cu_stream queue;
static cu_deviceptr blocks[2];
static cu_device device;
static cu_module module;
static cu_function function;
static int architecture;

static bool open_device(const char* options, char* reason, size_t reason_bytes) {
  char path[DRIVER_PATH_BYTES] = "", option[DRIVER_PATH_BYTES + 16];
  cu_context context;
  int major = 0, minor = 0;
  const bool given = bench_option(options, "driver", path, sizeof path);
  tbk_error_t error;
  snprintf(option, sizeof option, "driver=%s", path);
  const bool chosen = driver_choose(&cuda_driver_choice, given ? option : NULL, &error) == TBK_OK;
  cu = chosen ? cuda_driver() : NULL;
  snprintf(reason, reason_bytes, "%s", chosen ? cuda_driver_reason() : error.message);
  if (cu == NULL) return false;
  if (cu->device_get(&device, 0) != CU_OK || cu->primary_retain(&context, device) != CU_OK ||
      cu->context_push(context) != CU_OK ||
      cu->stream_create(&queue, CU_STREAM_NON_BLOCKING, 0) != CU_OK) {
    snprintf(reason, reason_bytes, "device 0 cannot be opened");
    return false;
  }
  cu->device_get_attribute(&major, CU_ATTRIBUTE_CC_MAJOR, device);
  cu->device_get_attribute(&minor, CU_ATTRIBUTE_CC_MINOR, device);
  architecture = major * 10 + minor;
  return true;
}

static void give_back(void) {
  for (int i = 0; i < 2; i++) {
    if (blocks[i] != 0) cu->mem_free(blocks[i]);
    blocks[i] = 0;
  }
}

static bool take(size_t size_bytes) {
  give_back();
  return cu->mem_alloc(&blocks[0], size_bytes) == CU_OK &&
         cu->mem_alloc(&blocks[1], size_bytes) == CU_OK;
}

static bool waited(cu_result result) {
  return result == CU_OK && cu->stream_synchronize(queue) == CU_OK;
}

static bool upload(const void* from, size_t size_bytes) {
  return waited(cu->copy_h2d(blocks[0], from, size_bytes, queue));
}

static bool download(void* to, size_t size_bytes) {
  return waited(cu->copy_d2h(to, blocks[0], size_bytes, queue));
}

static bool copy(size_t size_bytes) {
  return waited(cu->copy_d2d(blocks[1], blocks[0], size_bytes, queue));
}

static bool prepare(const emit_job_t* job) {
  cuda_build_t build = {.options = job->options, .architecture = architecture};
  cuda_image_t image;
  const cuda_nvrtc_t* nvrtc = cuda_nvrtc(cuda_driver_choice.paths[0]);
  if (nvrtc == NULL || !cuda_nvrtc_compile(nvrtc, &build, &image)) return false;
  const bool loaded = cu->module_load_data(&module, image.bytes) == CU_OK &&
                      cu->module_get_function(&function, module, "run") == CU_OK;
  free(image.bytes);
  return loaded;
}

static bool launch(const emit_job_t* job, int times) {
  emit_job_t own = *job; /* parameters are not const */
  cu_deviceptr pointers[EMIT_OPERANDS] = {blocks[0]};
  void* parameters[2 + EMIT_OPERANDS] = {&own.shape, own.scalar};
  cu_result result = CU_OK;
  for (int i = 0; i < EMIT_OPERANDS; i++)
    parameters[2 + i] = &pointers[i];
  for (int i = 0; i < times && result == CU_OK; i++)
    result = cu->launch_kernel(function, (unsigned)job->groups, 1, 1, EMIT_GROUP, 1, 1, 0, queue,
                               parameters, NULL);
  return waited(result);
}

static void close_device(void) {
  cu_context context;
  give_back();
  cu->module_unload(module);
  cu->stream_destroy(queue);
  cu->context_pop(&context);
  cu->primary_release(device);
}

const bench_driver_t bench_cuda = {"cuda",   "CUDA driver", open_device, take,   upload,
                                   download, copy,          prepare,     launch, close_device};
