/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * count.c: which devices there are, and what they say of themselves. Many drivers start threads when
 * they are first asked, so nothing of this happens before the first question.
 */
#include <driver/library.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

enum { MAX_PLATFORMS = 16, LEAST_ALLOCATION = 4 << 20, WORK_GROUP = 64, PARAMETERS = 1024 };

/* A device that does not know what is meant has not got it; any other error is kept. */
static bool answers(opencl_device_t* device, cl_uint what, size_t size, void* out) {
  const cl_int result = device->instance->driver.clGetDeviceInfo(device->id, what, size, out, NULL);
  if (result != CL_OK && result != CL_INVALID_VALUE) device->refusal = result;
  return result == CL_OK;
}

static uint64_t ask(opencl_device_t* device, cl_uint what, size_t size) {
  uint64_t value = 0; /* little-endian: cl_uint, size_t and cl_ulong all fit from the left */
  return answers(device, what, size, &value) ? value : 0;
}

static void ask_text(opencl_device_t* device, cl_uint what, char* text, size_t size) {
  if (!answers(device, what, size - 1, text)) text[0] = '\0';
  text[size - 1] = '\0';
}

/* The version of "OpenCL 1.2 and whatever": major * 10 + minor. */
static int version_of(const char* text) {
  int major = 0, minor = 0;
  return sscanf(text, "OpenCL %d.%d", &major, &minor) == 2 ? major * 10 + minor : 0;
}

static void describe_abilities(opencl_device_t* device, int version) {
  char extensions[8192] = "";
  ask_text(device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  device->has_double = ask(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_bits)) != 0;
  device->parameter_bytes = ask(device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(size_t));
  device->has_compiler = ask(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_uint)) &&
                         ask(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)) >= WORK_GROUP &&
                         device->parameter_bytes >= PARAMETERS;
  device->has_properties_of_queues =
      version >= 20 && device->instance->driver.clCreateCommandQueueWithProperties != NULL;
  device->has_priorities =
      device->has_properties_of_queues && strstr(extensions, "cl_khr_priority_hints") != NULL;
  device->queue_properties =
      ask(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(cl_bits)) & CL_QUEUE_PROFILING;
}

static void ask_platform(const opencl_device_t* device, cl_uint what, char* text, size_t size) {
  const opencl_driver_t* driver = &device->instance->driver;
  if (driver->clGetPlatformInfo(device->platform, what, size - 1, text, NULL) != CL_OK)
    snprintf(text, size, "unknown");
  text[size - 1] = '\0';
}

/* The driver's own file is the loader's secret. */
static void describe_driver(opencl_device_t* device, const char* driver) {
  char platform[256] = "", version[256] = "", loader[301];
  const opencl_driver_t* api = &device->instance->driver;
  ask_platform(device, CL_PLATFORM_NAME, platform, sizeof platform);
  ask_platform(device, CL_PLATFORM_VERSION, version, sizeof version);
  library_file_of(&api->clGetPlatformIDs, sizeof api->clGetPlatformIDs, loader, sizeof loader);
  snprintf(device->driver, sizeof device->driver, "%s, %s, driver %s; loader %s", platform, version,
           driver, loader);
}

/* The device and its driver, with what both say of themselves: a list of devices names nothing else. */
static void name(opencl_device_t* device, const char* version) {
  char own[256], driver[128];
  ask_text(device, CL_DEVICE_NAME, own, sizeof own);
  ask_text(device, CL_DRIVER_VERSION, driver, sizeof driver);
  if (driver[0] == '\0') strcpy(driver, "unknown");
  snprintf(device->name, sizeof device->name, "%.140s (%.70s, driver %.30s)",
           own[0] ? own : "an OpenCL device", version, driver);
  describe_driver(device, driver);
}

static void describe(opencl_device_t* device, int version) {
  const opencl_options_t* options = &device->instance->options;
  device->memory_bytes = ask(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
  if (options->memory && options->memory < device->memory_bytes)
    device->memory_bytes = options->memory;
  device->max_allocation_bytes = ask(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
  if (device->max_allocation_bytes > device->memory_bytes)
    device->max_allocation_bytes = device->memory_bytes;
  device->alignment = ask(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint)) / 8;
  if (device->alignment < 16) device->alignment = 16;
  describe_abilities(device, version);
}

/* Fills in the device; false, and the reason, where it cannot be one of ours. */
static bool is_usable(opencl_device_t* device, char* why, size_t size) {
  char version[128] = "";
  ask_text(device, CL_DEVICE_VERSION, version, sizeof version);
  const bool available = ask(device, CL_DEVICE_AVAILABLE, sizeof(cl_uint));
  const bool little = ask(device, CL_DEVICE_ENDIAN_LITTLE, sizeof(cl_uint));
  name(device, version);
  describe(device, version_of(version));
  if (device->refusal != CL_OK)
    snprintf(why, size, "clGetDeviceInfo: %s", opencl_error_name(device->refusal));
  else if (version_of(version) < 12)
    snprintf(why, size, "its version is '%s', below OpenCL 1.2", version);
  else if (!available || !little || device->max_allocation_bytes < LEAST_ALLOCATION)
    snprintf(why, size, "not available, not little-endian, or below 4 MiB in one allocation");
  else
    return true;
  return false;
}

/* Appends the devices of a platform that can be used; why one cannot is told. */
static void count_platform(tbk_instance_t* self, cl_platform platform, char* why, size_t size) {
  cl_device ids[OPENCL_MAX_DEVICES];
  cl_uint count = 0;
  const cl_int result =
      self->driver.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, OPENCL_MAX_DEVICES, ids, &count);
  if (result != CL_OK) snprintf(why, size, "clGetDeviceIDs: %s", opencl_error_name(result));
  for (cl_uint i = 0; result == CL_OK && i < count && i < OPENCL_MAX_DEVICES; i++) {
    if (self->device_count == OPENCL_MAX_DEVICES) break;
    opencl_device_t* device = &self->devices[self->device_count];
    *device = (opencl_device_t){
        .instance = self, .index = self->device_count, .platform = platform, .id = ids[i]};
    if (is_usable(device, why, size))
      self->device_count++;
    else
      driver_log(&self->host, TBK_LOG_WARNING, "a device that cannot be used: %s", why);
  }
}

/* Where the loader looks for drivers: both of the usual ones take this variable. */
static void tell_no_driver(cl_int result, char* text, size_t size) {
  const char* stated = getenv("OCL_ICD_VENDORS");
  const char* place = stated != NULL && stated[0] != '\0' ? stated : "/etc/OpenCL/vendors";
  snprintf(text, size,
           "the OpenCL loader knows no driver (%s): there is none in %.300s, or it fails",
           opencl_error_name(result), place);
}

static void count(tbk_instance_t* self) {
  char text[512] = "the OpenCL drivers have no device";
  const char* why = opencl_driver_load(&self->driver, self->options.library, text, sizeof text);
  cl_platform platforms[MAX_PLATFORMS];
  cl_uint platform_count = 0;
  if (why == NULL) {
    const cl_int result = self->driver.clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count);
    if (result != CL_OK || platform_count == 0) tell_no_driver(result, text, sizeof text);
    for (cl_uint i = 0; result == CL_OK && i < platform_count && i < MAX_PLATFORMS; i++)
      count_platform(self, platforms[i], text, sizeof text);
  }
  if (self->device_count == 0) driver_log(&self->host, TBK_LOG_WARNING, "0 devices: %s", text);
}

void opencl_count(tbk_instance_t* self) {
  pthread_mutex_lock(&self->lock);
  if (!self->counted) count(self);
  self->counted = true;
  pthread_mutex_unlock(&self->lock);
}
