/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dlfcn.h>
#include <driver/library.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_at(int file, void* out, size_t size, uint64_t offset) {
  return offset <= INT64_MAX && pread(file, out, size, (off_t)offset) == (ssize_t)size;
}

static bool is_within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

/* Whether it is made for what this code itself is made for: the head of our own image says that. */
static bool is_of_this_machine(const ElfW(Ehdr) * head) {
  static const char anything = 0;
  Dl_info own;
  if (dladdr(&anything, &own) == 0) return true; /* the dynamic loader has to tell */
  const ElfW(Ehdr)* ours = own.dli_fbase;
  return head->e_machine == ours->e_machine && head->e_ident[EI_CLASS] == ours->e_ident[EI_CLASS] &&
         head->e_ident[EI_DATA] == ours->e_ident[EI_DATA];
}

/* Whether all that is mapped is there, and the table of sections, which is the last part of most libraries. */
static bool is_whole(int file, const ElfW(Ehdr) * head, uint64_t size) {
  if (head->e_phentsize != sizeof(ElfW(Phdr))) return true; /* which the dynamic loader refuses */
  if (head->e_shoff != 0 &&
      !is_within(head->e_shoff, (uint64_t)head->e_shnum * head->e_shentsize, size))
    return false;
  for (uint64_t i = 0; i < head->e_phnum; i++) {
    ElfW(Phdr) part;
    if (!read_at(file, &part, sizeof part, head->e_phoff + i * sizeof part)) return false;
    if (part.p_type == PT_LOAD && !is_within(part.p_offset, part.p_filesz, size)) return false;
  }
  return true;
}

/* Returns what is wrong with the file, or NULL. */
static const char* fault_of(int file) {
  struct stat about;
  ElfW(Ehdr) head;
  if (fstat(file, &about) != 0) return NULL;
  if (!S_ISREG(about.st_mode)) return "is no regular file";
  if (about.st_size == 0) return "is empty";
  if (!read_at(file, &head, SELFMAG, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return "is no library";
  if (!read_at(file, &head, sizeof head, 0)) return "is cut short";
  if (!is_of_this_machine(&head)) return "is made for another machine";
  return is_whole(file, &head, (uint64_t)about.st_size) ? NULL : "is cut short";
}

/* Of a file that cannot be opened the dynamic loader tells why. */
static const char* fault_of_path(const char* path) {
  const int file = strchr(path, '/') ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  if (file < 0) return NULL;
  const char* fault = fault_of(file);
  close(file);
  return fault;
}

void* library_open(const char* name, int flags, char* reason, size_t size) {
  const char* fault = fault_of_path(name);
  if (fault != NULL) {
    snprintf(reason, size, "%s %s", name, fault);
    return NULL;
  }
  void* library = dlopen(name, flags);
  if (library != NULL) return library;
  const char* why = dlerror();
  snprintf(reason, size, "%s", why != NULL ? why : name);
  return NULL;
}

void* library_open_first(const char* const* names, int flags, char* reason, size_t size) {
  void* library = NULL;
  for (; *names != NULL && library == NULL; names++)
    library = library_open(*names, flags, reason, size);
  return library;
}

bool library_find(void* library, const char* symbol, void* out_function, size_t size) {
  void* address = dlsym(library, symbol);
  memcpy(out_function, &address, size);
  return address != NULL;
}

void library_file_of(const void* function, size_t function_size, char* out, size_t size) {
  void* address = NULL;
  Dl_info found;
  memcpy(&address, function, function_size);
  const bool known = dladdr(address, &found) != 0 && found.dli_fname != NULL;
  char* file = known ? realpath(found.dli_fname, NULL) : NULL;
  const char* told = known ? found.dli_fname : "a file that cannot be told";
  snprintf(out, size, "%s", file != NULL ? file : told);
  free(file);
}
