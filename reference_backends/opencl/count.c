/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * count.c: which devices there are, and what they say of themselves. Many drivers start threads when
 * they are first asked, so nothing of this happens before the first question.
 */
#include <stdio.h>
#include <string.h>

#include "opencl.h"

enum { MAX_PLATFORMS = 16, LEAST_ALLOCATION = 4 << 20, WORK_GROUP = 64, PARAMETERS = 1024 };

static uint64_t ask(const opencl_device_t* device, cl_uint what, size_t size) {
  uint64_t value = 0; /* little-endian: cl_bool, size_t and cl_ulong all fit from the left */
  const opencl_driver_t* driver = &device->instance->driver;
  return driver->clGetDeviceInfo(device->id, what, size, &value, NULL) == CL_OK ? value : 0;
}

static void ask_text(const opencl_device_t* device, cl_uint what, char* text, size_t size) {
  const opencl_driver_t* driver = &device->instance->driver;
  if (driver->clGetDeviceInfo(device->id, what, size - 1, text, NULL) != CL_OK) text[0] = '\0';
  text[size - 1] = '\0';
}

/* The version of "OpenCL 1.2 and whatever": major * 10 + minor. */
static int version(const opencl_device_t* device) {
  char text[256] = "";
  int major = 0, minor = 0;
  ask_text(device, CL_DEVICE_VERSION, text, sizeof text);
  return sscanf(text, "OpenCL %d.%d", &major, &minor) == 2 ? major * 10 + minor : 0;
}

static void describe_abilities(opencl_device_t* device) {
  char extensions[8192] = "";
  ask_text(device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  device->has_double = ask(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_bits)) != 0;
  device->has_compiler = ask(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_bool)) &&
                         ask(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)) >= WORK_GROUP &&
                         ask(device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(size_t)) >= PARAMETERS;
  device->has_properties_of_queues =
      version(device) >= 20 && device->instance->driver.clCreateCommandQueueWithProperties != NULL;
  device->has_priorities =
      device->has_properties_of_queues && strstr(extensions, "cl_khr_priority_hints") != NULL;
  device->queue_properties =
      ask(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(cl_bits)) & CL_QUEUE_PROFILING;
}

/* Fills in the device; false where it cannot be one of ours. */
static bool describe(opencl_device_t* device) {
  const opencl_options_t* options = &device->instance->options;
  if (!ask(device, CL_DEVICE_AVAILABLE, sizeof(cl_bool))) return false;
  if (!ask(device, CL_DEVICE_ENDIAN_LITTLE, sizeof(cl_bool)) || version(device) < 12) return false;
  ask_text(device, CL_DEVICE_NAME, device->name, sizeof device->name);
  if (device->name[0] == '\0') strcpy(device->name, "an OpenCL device");
  device->memory_bytes = ask(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
  if (options->memory && options->memory < device->memory_bytes)
    device->memory_bytes = options->memory;
  device->max_allocation_bytes = ask(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
  if (device->max_allocation_bytes > device->memory_bytes)
    device->max_allocation_bytes = device->memory_bytes;
  device->alignment = ask(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint)) / 8;
  if (device->alignment < 16) device->alignment = 16;
  describe_abilities(device);
  return device->max_allocation_bytes >= LEAST_ALLOCATION;
}

/* Appends the devices of a platform; returns how many it has, ours or not. */
static cl_uint count_platform(tbk_instance_t* self, cl_platform platform) {
  cl_device ids[OPENCL_MAX_DEVICES];
  cl_uint count = 0;
  cl_int result =
      self->driver.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, OPENCL_MAX_DEVICES, ids, &count);
  if (result != CL_OK) return 0;
  for (cl_uint i = 0; i < count && i < OPENCL_MAX_DEVICES; i++) {
    if (self->device_count == OPENCL_MAX_DEVICES) break;
    opencl_device_t* device = &self->devices[self->device_count];
    *device = (opencl_device_t){
        .instance = self, .index = self->device_count, .platform = platform, .id = ids[i]};
    self->device_count += describe(device);
  }
  return count;
}

static void count(tbk_instance_t* self) {
  char text[512];
  const char* reason = opencl_driver_load(&self->driver, self->options.library, text, sizeof text);
  cl_platform platforms[MAX_PLATFORMS];
  cl_uint platform_count = 0, seen = 0;
  if (reason == NULL) {
    cl_int result = self->driver.clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count);
    if (result != CL_OK || platform_count == 0)
      reason =
          "the OpenCL loader knows no driver: there is none in /etc/OpenCL/vendors, or it fails";
  }
  for (cl_uint i = 0; reason == NULL && i < platform_count && i < MAX_PLATFORMS; i++)
    seen += count_platform(self, platforms[i]);
  if (reason == NULL && self->device_count == 0) {
    snprintf(text, sizeof text,
             "%u devices, none of which can be used: little-endian, "
             "OpenCL 1.2, available, and with 4 MiB in one allocation",
             seen);
    reason = seen ? text : "the OpenCL drivers have no device";
  }
  if (reason != NULL) opencl_log(self, TBK_LOG_WARNING, "0 devices: %s", reason);
}

void opencl_count(tbk_instance_t* self) {
  pthread_mutex_lock(&self->lock);
  if (!self->counted) count(self);
  self->counted = true;
  pthread_mutex_unlock(&self->lock);
}
