// Steps the clocks of a process: preloaded, it adds the offsets that the file named by
// HOLDFAST_TEST_CLOCKS holds (two int64 of nanoseconds: the wall clock's, the boot clock's) to what
// the kernel says. The file is mapped, so a step takes effect at once. CLOCK_MONOTONIC is left
// alone.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t* offsets;

__attribute__((constructor)) static void map_offsets(void) {
  const char* path = getenv("HOLDFAST_TEST_CLOCKS");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, 2 * sizeof *offsets, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) offsets = mapped;
  close(file);
}

static int64_t offset_of(clockid_t clock) {
  if (offsets == NULL) return 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return offsets[0];
  return clock == CLOCK_BOOTTIME ? offsets[1] : 0;
}

// The kernel is called directly: looking up the real function may allocate, and an allocator may
// ask for the time before it is ready.
int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result != 0) return result;
  const int64_t second = 1000000000;
  const int64_t sum = time->tv_sec * second + time->tv_nsec + offset_of(clock);
  time->tv_sec = sum / second;
  time->tv_nsec = sum % second;
  return 0;
}

int gettimeofday(struct timeval* time, void* zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}
