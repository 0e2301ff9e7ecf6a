// The modes in which somebody waits: contend, hold, wake.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

enum { GRANTS_ROOM = 1 << 20 };

static int64_t until;
static pthread_barrier_t opened, begun;

typedef struct {
  pthread_t thread;
  long number;
  int64_t* grants;  // entered, left, entered, left …
  long count;
} Waiter;

static void open_worker_lock(Lock* lock, long number) {
  char name[128];
  const char* base = word("name", "bench");
  if (word_long("own", 0) != 0) {
    snprintf(name, sizeof name, "%s:%ld", base, number);
  } else {
    snprintf(name, sizeof name, "%s", base);
  }
  lock_open(lock, name, number);
}

static void* wait_and_hold(void* argument) {
  Waiter* waiter = argument;
  long hold_us = word_long("hold_us", 0);
  long grants = word_long("grants", 0);
  long room = grants != 0 ? 2 * grants : GRANTS_ROOM;
  Lock lock;
  open_worker_lock(&lock, waiter->number);
  waiter->grants = malloc((size_t)room * sizeof(int64_t));
  pthread_barrier_wait(&opened);
  pthread_barrier_wait(&begun);
  while (now() < until && waiter->count < room) {
    lock_acquire(&lock);
    waiter->grants[waiter->count++] = now();
    if (hold_us != 0) usleep((useconds_t)hold_us);
    waiter->grants[waiter->count++] = now();
    lock_release(&lock);
  }
  return NULL;
}

void run_contend(void) {
  long count = word_long("workers", 1);
  Waiter* waiters = calloc((size_t)count, sizeof *waiters);
  pthread_barrier_init(&opened, NULL, (unsigned)count + 1);
  pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
  for (long i = 0; i < count; ++i) {
    waiters[i].number = i;
    pthread_create(&waiters[i].thread, NULL, wait_and_hold, &waiters[i]);
  }
  pthread_barrier_wait(&opened);
  ready();
  until = moment();
  pthread_barrier_wait(&begun);
  for (long i = 0; i < count; ++i) pthread_join(waiters[i].thread, NULL);
  printf("{\"grants\": [");
  for (long i = 0; i < count; ++i) {
    if (i != 0) putchar(',');
    print_array(NULL, waiters[i].grants, waiters[i].count);
  }
  puts("]}");
}

void run_hold(void) {
  long count = word_long("locks", 1);
  Lock* locks = calloc((size_t)count, sizeof *locks);
  for (long i = 0; i < count; ++i) {
    open_worker_lock(&locks[i], i);
    lock_acquire(&locks[i]);
    usleep((useconds_t)word_long("stagger_ms", 0) * 1000);
  }
  ready();
  moment();
  int64_t released = now();
  for (long i = 0; i < count; ++i) lock_release(&locks[i]);
  printf("{\"released_ns\": %lld}\n", (long long)released);
}

static void wait_once(Lock* lock, int64_t ask, int64_t* asked, int64_t* acquired) {
  sleep_until(ask);
  *asked = now();
  lock_acquire(lock);
  *acquired = now();
}

static void hold_once(Lock* lock, int64_t slot, int64_t release, int64_t* held, int64_t* released) {
  sleep_until(slot);
  lock_acquire(lock);
  *held = now();
  sleep_until(release);
  *released = now();
}

void run_wake(void) {
  long rounds = word_long("rounds", 1);
  int64_t ask_ns = word_long("ask_us", 0) * 1000;
  double spread_ns = (double)word_long("spread_us", 0) * 1000;
  int64_t* begun_at = calloc((size_t)rounds, sizeof(int64_t));
  int64_t* done_at = calloc((size_t)rounds, sizeof(int64_t));
  int waits = strcmp(word("role", "holder"), "waiter") == 0;
  Lock lock;
  lock_open(&lock, word("name", "bench"), 1);
  ready();
  int64_t start = moment();
  for (long i = 0; i < rounds; ++i) {
    int64_t slot = start + i * word_long("period_us", 0) * 1000;
    double turn = (double)i * 0.618034;  // the golden ratio spreads the releases evenly
    int64_t release = slot + 2 * ask_ns + (int64_t)((turn - (double)(long)turn) * spread_ns);
    if (waits) {
      wait_once(&lock, slot + ask_ns, &begun_at[i], &done_at[i]);
    } else {
      hold_once(&lock, slot, release, &begun_at[i], &done_at[i]);
    }
    lock_release(&lock);
  }
  putchar('{');
  print_array("begun", begun_at, rounds);
  printf(", ");
  print_array("done", done_at, rounds);
  puts("}");
}
