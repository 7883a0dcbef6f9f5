/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * library_test.c: opens every kind of file that is no library of this machine, made out of the good one that
 * is the only argument.
 */
#include <cunit_run.h>
#include <dlfcn.h>
#include <driver/library.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* good;
static char* image;
static size_t image_size;
static char folder[] = "/tmp/tbk-library-XXXXXX";
static char path[sizeof folder + 16];
static char reason[512];

static ElfW(Ehdr) * head(void) {
  return (ElfW(Ehdr)*)image;
}

/* A path of its own for each file: of one that is open already, the dynamic loader looks at the name alone. */
static void next_path(void) {
  static int number;
  unlink(path);
  snprintf(path, sizeof path, "%s/%d.so", folder, ++number);
}

static bool write_file(const char* bytes, size_t size) {
  next_path();
  FILE* file = fopen(path, "wb");
  const bool written = file != NULL && fwrite(bytes, 1, size, file) == size;
  return file != NULL && fclose(file) == 0 && written;
}

static void* opened(void) {
  reason[0] = '\0';
  return library_open(path, RTLD_NOW | RTLD_LOCAL, reason, sizeof reason);
}

/* Checks that what lies at the path is refused by its name, in one line that says why. */
static void is_refused_since(const char* why) {
  char expected[sizeof path + 64];
  CU_ASSERT_PTR_NULL(opened());
  snprintf(expected, sizeof expected, "%s %s", path, why);
  CU_ASSERT_STRING_EQUAL(reason, expected);
}

/* Writes the good library with other bytes in its head, which are put back. */
static void write_changed(void* field, const void* value, size_t size) {
  char before[16];
  memcpy(before, field, size);
  memcpy(field, value, size);
  CU_ASSERT_TRUE(write_file(image, image_size));
  memcpy(field, before, size);
}

static void a_good_one_is_opened(void) {
  void (*function)(void) = NULL;
  char file[512], link_path[sizeof path + 8];
  CU_ASSERT_TRUE(write_file(image, image_size));
  snprintf(link_path, sizeof link_path, "%s.link", path);
  CU_ASSERT_EQUAL(symlink(path, link_path), 0);
  const char* const names[] = {"/nowhere/libx.so", folder, link_path, NULL};
  void* library = library_open_first(names, RTLD_NOW | RTLD_LOCAL, reason, sizeof reason);
  CU_ASSERT_PTR_NOT_NULL_FATAL(library);
  CU_ASSERT_TRUE(library_find(library, "tbk_backend_create", &function, sizeof function));
  library_file_of(&function, sizeof function, file, sizeof file);
  CU_ASSERT_STRING_EQUAL(file, path);
  CU_ASSERT_FALSE(library_find(library, "nobody_has_this", &function, sizeof function));
  CU_ASSERT_PTR_NULL(function);
  CU_ASSERT_EQUAL(unlink(link_path), 0);
}

static void names_that_lead_nowhere_have_the_last_ones_reason(void) {
  const char* const names[] = {"libnobody-has-this.so.1", "/nowhere/libx.so", NULL};
  CU_ASSERT_PTR_NULL(library_open_first(names, RTLD_NOW | RTLD_LOCAL, reason, sizeof reason));
  CU_ASSERT_PTR_NOT_NULL(strstr(reason, "/nowhere/libx.so"));
}

static const char* expected_of(size_t size) {
  return size == 0 ? "is empty" : size < SELFMAG ? "is no library" : "is cut short";
}

static void one_cut_short_is_refused_wherever_it_was_cut(void) {
  const size_t sizes[] = {0, 1, SELFMAG, sizeof(ElfW(Ehdr)) - 1, sizeof(ElfW(Ehdr)), 200};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CU_ASSERT_TRUE(write_file(image, sizes[i]));
    is_refused_since(expected_of(sizes[i]));
  }
  for (size_t sixteenth = 1; sixteenth < 16; sixteenth++) {
    CU_ASSERT_TRUE(write_file(image, image_size * sixteenth / 16));
    is_refused_since("is cut short");
  }
  CU_ASSERT_TRUE(write_file(image, image_size - 1));
  is_refused_since("is cut short");
}

/* Returns whether the dynamic loader alone dies of what lies at the path. */
static bool kills_the_loader(void) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL); /* a sanitizer's handler would make an exit of it */
    signal(SIGSEGV, SIG_DFL);
    (void)dlopen(path, RTLD_NOW | RTLD_LOCAL);
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

/* Without a table of sections there is only what is mapped to be looked at. */
static void one_without_sections_is_opened_and_refused_when_cut(void) {
  int deaths = 0;
  const uint64_t nothing = 0;
  write_changed(&head()->e_shoff, &nothing, sizeof head()->e_shoff);
  void* library = opened();
  CU_ASSERT_PTR_NOT_NULL_FATAL(library);
  for (size_t sixteenth = 1; sixteenth < 16; sixteenth++) {
    write_changed(&head()->e_shoff, &nothing, sizeof head()->e_shoff);
    CU_ASSERT_EQUAL(truncate(path, (off_t)(image_size * sixteenth / 16)), 0);
    const bool dies = kills_the_loader();
    deaths += dies;
    if (dies) is_refused_since("is cut short");
  }
  CU_ASSERT_TRUE(deaths > 0); /* else nothing was shown */
}

static void one_for_another_machine_is_refused(void) {
  const uint16_t machine = head()->e_machine == EM_S390 ? EM_SPARC : EM_S390;
  write_changed(&head()->e_machine, &machine, sizeof machine);
  is_refused_since("is made for another machine");
  const unsigned char width = head()->e_ident[EI_CLASS] == ELFCLASS64 ? ELFCLASS32 : ELFCLASS64;
  write_changed(&head()->e_ident[EI_CLASS], &width, 1);
  is_refused_since("is made for another machine");
  const unsigned char order = head()->e_ident[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
  write_changed(&head()->e_ident[EI_DATA], &order, 1);
  is_refused_since("is made for another machine");
}

static void a_head_that_points_anywhere_is_refused(void) {
  const uint64_t far = UINT64_MAX - 8;
  write_changed(&head()->e_phoff, &far, sizeof far);
  is_refused_since("is cut short");
  write_changed(&head()->e_shoff, &far, sizeof far);
  is_refused_since("is cut short");
  const uint16_t size = 1;
  write_changed(&head()->e_phentsize, &size, sizeof size);
  CU_ASSERT_PTR_NULL(opened());
  CU_ASSERT_PTR_NOT_NULL(strstr(reason, path));
}

static void what_is_no_file_of_bytes_is_refused(void) {
  static const char text[] =
      "\x7f"
      "EL: this is a text and no library, however long it may be";
  CU_ASSERT_TRUE(write_file(text, sizeof text));
  is_refused_since("is no library");
  next_path();
  CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
  is_refused_since("is no regular file");
  next_path();
  CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
  is_refused_since("is no regular file");
  rmdir(path);
  next_path();
  CU_ASSERT_EQUAL(symlink(path, path), 0);
  CU_ASSERT_PTR_NULL(opened());
  CU_ASSERT_PTR_NOT_NULL(strstr(reason, path));
}

static bool read_image(void) {
  FILE* file = fopen(good, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return false;
  const long size = ftell(file);
  rewind(file);
  image_size = size > 0 ? (size_t)size : 0;
  image = malloc(image_size);
  const bool whole = image != NULL && fread(image, 1, image_size, file) == image_size;
  return fclose(file) == 0 && whole;
}

static CU_TestInfo tests[] = {
    {"a good one is opened", a_good_one_is_opened},
    {"names that lead nowhere", names_that_lead_nowhere_have_the_last_ones_reason},
    {"one cut short is refused", one_cut_short_is_refused_wherever_it_was_cut},
    {"one without sections", one_without_sections_is_opened_and_refused_when_cut},
    {"one for another machine is refused", one_for_another_machine_is_refused},
    {"a head that points anywhere is refused", a_head_that_points_anywhere_is_refused},
    {"what is no file of bytes is refused", what_is_no_file_of_bytes_is_refused},
    CU_TEST_INFO_NULL};

int main(int argc, char** argv) {
  CU_SuiteInfo suites[] = {{"library", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  good = argc == 2 ? argv[1] : "";
  if (!read_image() || mkdtemp(folder) == NULL) return EXIT_FAILURE;
  const int code = cunit_run(suites);
  unlink(path);
  rmdir(folder);
  free(image);
  return code;
}
