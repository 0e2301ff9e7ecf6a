// The modes without contention: one thread's pairs, and many locks at once.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

typedef struct {
  int64_t* samples;
  long count;
  long room;
} Samples;

static void keep(Samples* samples, int64_t value) {
  if (samples->count == samples->room) {
    samples->room = samples->room == 0 ? 4096 : samples->room * 2;
    samples->samples = realloc(samples->samples, (size_t)samples->room * sizeof(int64_t));
    if (samples->samples == NULL) die("samples", "no memory");
  }
  samples->samples[samples->count++] = value;
}

typedef void (*Pair)(void* lock);

static void pair_of_lock(void* lock) {
  lock_acquire(lock);
  lock_release(lock);
}

static void pair_of_quorum(void* quorum) {
  quorum_acquire(quorum);
  quorum_release(quorum);
}

static void pairs_for(Pair pair, void* lock, double seconds, Samples* samples) {
  int64_t begin = now();
  int64_t end = begin + (int64_t)(seconds * 1e9);
  while (begin < end) {
    pair(lock);
    int64_t done = now();
    keep(samples, done - begin);
    begin = done;
  }
}

static void run_pairs(Pair pair, void* lock) {
  Samples warmup = {0};
  Samples samples = {0};
  ready();
  moment();
  pairs_for(pair, lock, word_double("warmup", 0), &warmup);
  pairs_for(pair, lock, word_double("seconds", 1), &samples);
  putchar('{');
  print_array("samples_ns", samples.samples, samples.count);
  puts("}");
}

void run_pair(void) {
  const char* name = word("name", "bench");
  if (strcmp(word("kind", "lock"), "red") == 0) {
    run_pairs(pair_of_quorum, quorum_open(name));
  } else {
    Lock lock;
    lock_open(&lock, name, 1);
    run_pairs(pair_of_lock, &lock);
  }
}

typedef struct {
  pthread_t thread;
  long number;
  int64_t begin, end;
  long pairs;
} Worker;

static void worker_lock_name(char* name, size_t size, long number) {
  snprintf(name, size, "%s:%ld", word("name", "bench"), number);
}

// A connection for each thread, one command under way on each.
static void* pairs_of_thread(void* argument) {
  Worker* worker = argument;
  char name[128];
  Lock lock;
  worker_lock_name(name, sizeof name, worker->number);
  lock_open(&lock, name, worker->number);
  for (int64_t at = now(); at < worker->end; at = now()) {
    lock_acquire(&lock);
    lock_release(&lock);
    worker->pairs += at >= worker->begin;
  }
  return NULL;
}

static long pairs_of_threads(long count, int64_t begin, int64_t end) {
  Worker* workers = calloc((size_t)count, sizeof *workers);
  long pairs = 0;
  for (long i = 0; i < count; ++i) {
    workers[i] = (Worker){.number = i, .begin = begin, .end = end};
    pthread_create(&workers[i].thread, NULL, pairs_of_thread, &workers[i]);
  }
  for (long i = 0; i < count; ++i) {
    pthread_join(workers[i].thread, NULL);
    pairs += workers[i].pairs;
  }
  free(workers);
  return pairs;
}

// One connection, one thread: every lock has a command under way, replies come in sending order.
static long pairs_of_pipeline(long count, int64_t begin, int64_t end) {
  redisContext* connection = connect_server();
  Encoded(*commands)[2] = calloc((size_t)count, sizeof *commands);
  for (long i = 0; i < count; ++i) {
    char name[128];
    char owner[64];
    worker_lock_name(name, sizeof name, i);
    owner_name(owner, sizeof owner, i);
    commands[i][0] = encode_acquire(name, owner, 30000);
    commands[i][1] = encode_release(name, owner);
    send_encoded(connection, commands[i][0]);
  }
  long pairs = 0;
  for (long round = 1; now() < end; ++round) {
    for (long i = 0; i < count; ++i) {
      freeReplyObject(next_reply(connection));
      send_encoded(connection, commands[i][round % 2]);
    }
    if (round % 2 == 0 && now() >= begin) pairs += count;
  }
  return pairs;
}

void run_throughput(void) {
  long workers = word_long("workers", 1);
  double seconds = word_double("seconds", 1);
  ready();
  moment();
  int64_t begin = now() + (int64_t)(word_double("warmup", 0) * 1e9);
  int64_t end = begin + (int64_t)(seconds * 1e9);
  long pairs = word_long("each", 0) != 0 ? pairs_of_threads(workers, begin, end)
                                         : pairs_of_pipeline(workers, begin, end);
  printf("{\"pairs\": %ld, \"seconds\": %g}\n", pairs, seconds);
}
