// Refuses system calls of holdfast's module and guard: preloaded, it lets refusals_arm() name a
// call, and from its n-th use on that number of uses fail with that error. pthread_create fails for
// Python's threads too; everything else of the interpreter is left alone. A guard that is started
// gets what HOLDFAST_TEST_REFUSALS says ("call n times error"), by posix_spawn() here, as it has no
// environment, and leaves the number of uses in the file HOLDFAST_TEST_USES.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static char armed[32];
static atomic_long uses, first, times;
static atomic_int with_error;
static const char* uses_file;
static atomic_ulong begin_of_module, end_of_module;

void refusals_arm(const char* call, long nth, long count, int error) {
  first = 0;
  uses = 0;
  times = count;
  with_error = error;
  snprintf(armed, sizeof armed, "%s", call);
  first = nth;
}

long refusals_uses(void) { return uses; }

__attribute__((constructor)) static void arm_a_guard(void) {
  const char* what = getenv("HOLDFAST_TEST_REFUSALS");
  char call[32];
  long nth = 0, count = 0;
  int error = 0;
  // The number of uses is left in this file.
  uses_file = getenv("HOLDFAST_TEST_USES");
  if (what == NULL || strstr(program_invocation_short_name, "holdfast-guard") == NULL) return;
  if (sscanf(what, "%31s %ld %ld %d", call, &nth, &count, &error) == 4) {
    refusals_arm(call, nth, count, error);
  }
}

__attribute__((destructor)) static void leave_uses(void) {
  FILE* file = uses_file == NULL || first == 0 ? NULL : fopen(uses_file, "w");
  if (file == NULL) return;
  fprintf(file, "%ld", (long)uses);
  fclose(file);
}

static int look_for_module(struct dl_phdr_info* object, size_t size, void* found) {
  (void)size;
  (void)found;
  const int guard = strstr(program_invocation_short_name, "holdfast-guard") != NULL;
  if (guard ? object->dlpi_name[0] != '\0' : strstr(object->dlpi_name, "/_core.") == NULL) return 0;
  unsigned long end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && part->p_vaddr + part->p_memsz > end) {
      end = part->p_vaddr + part->p_memsz;
    }
  }
  begin_of_module = object->dlpi_addr;
  end_of_module = object->dlpi_addr + end;
  return 1;
}

static int refused(const char* call, const void* caller) {
  if (first == 0 || strcmp(call, armed) != 0) return 0;
  if (caller != NULL) {
    if (end_of_module == 0) dl_iterate_phdr(look_for_module, NULL);
    const unsigned long at = (unsigned long)caller;
    if (at < begin_of_module || at >= end_of_module) return 0;
  }
  const long use = ++uses;
  if (use < first || (times > 0 && use >= first + times)) return 0;
  errno = with_error;
  return 1;
}

#define CALLER __builtin_return_address(0)
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FORWARD(type, name, parameters, arguments) \
  type name parameters {                           \
    if (refused(#name, CALLER)) return (type)-1;   \
    static __typeof__(&name) real;                 \
    if (real == NULL) real = REAL(name);           \
    return real arguments;                         \
  }

FORWARD(int, socket, (int family, int type, int protocol), (family, type, protocol))
FORWARD(int, socketpair, (int family, int type, int protocol, int pair[2]),
        (family, type, protocol, pair))
FORWARD(int, connect, (int fd, const struct sockaddr* to, socklen_t size), (fd, to, size))
FORWARD(int, epoll_create1, (int flags), (flags))
FORWARD(int, epoll_wait, (int set, struct epoll_event* events, int most, int time),
        (set, events, most, time))
FORWARD(int, eventfd, (unsigned value, int flags), (value, flags))
FORWARD(int, timerfd_create, (int clock, int flags), (clock, flags))
FORWARD(int, memfd_create, (const char* name, unsigned flags), (name, flags))
FORWARD(int, ftruncate, (int fd, off_t size), (fd, size))
FORWARD(int, poll, (struct pollfd * fds, nfds_t count, int time), (fds, count, time))
FORWARD(int, ppoll,
        (struct pollfd * fds, nfds_t count, const struct timespec* time, const sigset_t* mask),
        (fds, count, time, mask))
FORWARD(int, madvise, (void* at, size_t size, int advice), (at, size, advice))
FORWARD(ssize_t, recv, (int fd, void* into, size_t size, int flags), (fd, into, size, flags))
FORWARD(ssize_t, send, (int fd, const void* from, size_t size, int flags), (fd, from, size, flags))
FORWARD(ssize_t, sendmsg, (int fd, const struct msghdr* message, int flags), (fd, message, flags))
FORWARD(ssize_t, recvmsg, (int fd, struct msghdr* message, int flags), (fd, message, flags))
FORWARD(pid_t, fork, (void), ())
FORWARD(int, waitid, (idtype_t type, id_t id, siginfo_t* info, int options),
        (type, id, info, options))

void* mmap(void* at, size_t size, int rights, int flags, int fd, off_t offset) {
  // #lizard forgives: the parameters are the C library's
  if (refused("mmap", CALLER)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, at, size, rights, flags, fd, offset);
}

// What adds nothing is not refused.
int epoll_ctl(int set, int what, int fd, struct epoll_event* event) {
  if (what == EPOLL_CTL_ADD && refused("epoll_ctl", CALLER)) return -1;
  return (int)syscall(SYS_epoll_ctl, set, what, fd, event);
}

int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (command == F_DUPFD_CLOEXEC && refused("fcntl", CALLER)) return -1;
  return (int)syscall(SYS_fcntl, fd, command, argument);
}

// pidfd_open(), which has no function here.
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long given[6];
  for (int i = 0; i < 6; ++i) given[i] = va_arg(more, long);
  va_end(more);
  if (number == SYS_pidfd_open && refused("pidfd_open", CALLER)) return -1;
  static long (*real)(long, ...);
  if (real == NULL) real = dlsym(RTLD_NEXT, "syscall");
  return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  if (refused("pthread_create", NULL)) return with_error;
  static __typeof__(&pthread_create) real;
  if (real == NULL) real = REAL(pthread_create);
  return real(thread, attributes, body, argument);
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
  // #lizard forgives: the parameters are the C library's
  if (refused("posix_spawn", CALLER)) return with_error;
  static __typeof__(&posix_spawn) real;
  if (real == NULL) real = REAL(posix_spawn);
  const char* what = getenv("HOLDFAST_TEST_REFUSALS");
  if (what == NULL || strstr(path, "holdfast-guard") == NULL) {
    return real(pid, path, actions, attributes, arguments, environment);
  }
  char preload[512], refusals[128], file[512];
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
  snprintf(refusals, sizeof refusals, "HOLDFAST_TEST_REFUSALS=%s", what);
  const char* into = getenv("HOLDFAST_TEST_USES");
  snprintf(file, sizeof file, "HOLDFAST_TEST_USES=%s", into == NULL ? "/dev/null" : into);
  char* given[] = {preload, refusals, file, NULL};
  return real(pid, path, actions, attributes, arguments, given);
}
