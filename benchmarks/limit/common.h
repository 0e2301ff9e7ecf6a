// The C contender over hiredis: what its modes share.
//
// A program of one mode a run, following the worker protocol of ../README.md.  Any failure ends it
// with a message on stderr, so no function here reports one.
#ifndef HOLDFAST_BENCHMARKS_LIMIT_COMMON_H_
#define HOLDFAST_BENCHMARKS_LIMIT_COMMON_H_

#include <hiredis.h>
#include <stdint.h>
#include <stdio.h>

// The word `key=value` of the command line, or the fallback.  Set up by words_init.
void words_init(int argc, char** argv);
const char* word(const char* key, const char* fallback);
long word_long(const char* key, long fallback);
double word_double(const char* key, double fallback);

_Noreturn void die(const char* what, const char* detail);

// CLOCK_MONOTONIC, ns.
int64_t now(void);
void sleep_until(int64_t moment);

// Writes the ready line; waits for the runner's moment and returns it.
void ready(void);
int64_t moment(void);
void print_array(const char* key, const int64_t* values, long count);

redisContext* connect_server(void);
redisContext* connect_port(int port);
// The next reply of a connection; an error reply ends the program.
redisReply* next_reply(redisContext* connection);

// One EVALSHA encoded for the wire; the caller frees it with redisFreeCommand.
typedef struct {
  char* text;
  size_t length;
} Encoded;
Encoded encode_acquire(const char* name, const char* owner, long lease_ms);
Encoded encode_renew(const char* name, const char* owner, long lease_ms);
Encoded encode_release(const char* name, const char* owner);
void send_encoded(redisContext* connection, Encoded command);

// "uuid:number" with this process's UUID.
void owner_name(char* owner, size_t size, long number);

// A lock of one thread, over a connection for commands and, once it had to wait, one for messages.
typedef struct {
  redisContext* commands;
  redisContext* messages;
  char channel[160];
  Encoded acquire;
  Encoded release;
} Lock;
void lock_open(Lock* lock, const char* name, long number);
void lock_acquire(Lock* lock);
void lock_release(Lock* lock);

// One lock of a name on each server of the word `ports`, all asked before any answer is read.
typedef struct Quorum Quorum;
Quorum* quorum_open(const char* name);
void quorum_acquire(Quorum* quorum);
void quorum_release(Quorum* quorum);

void run_pair(void);
void run_throughput(void);
void run_contend(void);
void run_hold(void);
void run_wake(void);
void run_watchdog(void);

#endif  // HOLDFAST_BENCHMARKS_LIMIT_COMMON_H_
