// SPDX-License-Identifier: Apache-2.0
// `allot` in the release archive: starts lib/program with the loader, the C library and all other libraries that stand
// beside it, so that nothing of the machine's own is needed. Statically linked: it runs on any Linux of its processor.
//
// The libraries are named to the loader and not in the environment: the commands that a worker runs have their own.
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <sys/auxv.h>
#include <unistd.h>

namespace {

// Where this program is, links followed; false with errno set. Without /proc, as in a bare chroot, by how it was
// started.
bool FindSelf(char (&path)[PATH_MAX]) {
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size > 0) {
    path[size] = '\0';
    return true;
  }
  const char* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return started != nullptr && realpath(started, path) != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  char self[PATH_MAX];
  if (!FindSelf(self)) {
    std::perror("allot: its own folder cannot be found");
    return 127;
  }
  *std::strrchr(self, '/') = '\0';
  constexpr std::size_t kRoom = PATH_MAX + 32;
  static char loader[kRoom], libraries[kRoom], program[kRoom];
  std::snprintf(libraries, kRoom, "%s/lib", self);
  std::snprintf(loader, kRoom, "%s/lib/loader", self);
  std::snprintf(program, kRoom, "%s/lib/program", self);

  static char argv0_flag[] = "--argv0", path_flag[] = "--library-path", name[] = "allot";
  char** args = static_cast<char**>(std::calloc(static_cast<std::size_t>(argc) + 8, sizeof(char*)));
  if (args == nullptr) {
    std::perror("allot");
    return 127;
  }
  int n = 0;
  for (char* arg : {loader, argv0_flag, argc > 0 ? argv[0] : name, path_flag, libraries, program}) args[n++] = arg;
  for (int i = 1; i < argc; ++i) args[n++] = argv[i];
  execv(loader, args);
  std::fprintf(stderr, "allot: %s cannot be started: %s\nhint: unpack the whole archive, and keep lib/ beside allot\n",
               loader, std::strerror(errno));
  return 127;
}
