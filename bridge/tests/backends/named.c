/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named.c: the template, under the name and with as many of its devices as the options say:
 * "name=cuda", "devices=0".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk.h>

/* The entry of the template, which is compiled under this name. */
tbk_status_t template_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                             tbk_error_t* error);

static struct {
  char name[64];
  int32_t devices; /* less than 0: as many as the template has */
  const tbk_core_t* template_core;
  tbk_core_t core;
  tbk_backend_t backend;
} named; /* one instance at a time is enough for a test */

static tbk_status_t named_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  tbk_status_t status = named.template_core->device_count(self, out_count, error);
  if (status == TBK_OK && named.devices >= 0) *out_count = named.devices;
  return status;
}

static void read_option(char* option) {
  char* value = strchr(option, '=');
  if (!value) return;
  *value++ = '\0';
  if (!strcmp(option, "name")) snprintf(named.name, sizeof named.name, "%s", value);
  if (!strcmp(option, "devices")) named.devices = (int32_t)strtol(value, NULL, 10);
}

static void read_options(const char* options) {
  char copy[128] = "", *rest = copy;
  snprintf(copy, sizeof copy, "%s", options ? options : "");
  snprintf(named.name, sizeof named.name, "named");
  named.devices = -1;
  for (char* option; (option = strsep(&rest, ","));)
    read_option(option);
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error);

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  if (!host || !out_backend) return TBK_INVALID;
  tbk_host_t plain = *host;
  plain.options = NULL;
  const tbk_backend_t* template = NULL;
  tbk_status_t status = template_create(&plain, &template, error);
  if (status != TBK_OK) return status;
  read_options(host->options);
  named.template_core = template->core;
  named.core = *template->core;
  named.core.device_count = named_count;
  named.backend = *template;
  named.backend.name = named.name;
  named.backend.core = &named.core;
  *out_backend = &named.backend;
  return TBK_OK;
}
