// The hand-off by hand: try; subscribe; try again; wait for a message or the holder's lease.
#include <poll.h>
#include <stdbool.h>

#include "common.h"

enum { GRANTED = -2 };

static long try_acquire(Lock* lock) {
  send_encoded(lock->commands, lock->acquire);
  redisReply* reply = next_reply(lock->commands);
  long ttl = reply->type == REDIS_REPLY_NIL ? GRANTED : (long)reply->integer;
  freeReplyObject(reply);
  return ttl;
}

static bool readable(redisContext* connection, long wait_ms) {
  struct pollfd entry = {.fd = connection->fd, .events = POLLIN};
  return poll(&entry, 1, (int)wait_ms) > 0;
}

// Waits for a message and drops it with all others that have arrived.
static void drain(redisContext* messages, long wait_ms) {
  while (readable(messages, wait_ms)) {
    if (redisBufferRead(messages) != REDIS_OK) die("messages", messages->errstr);
    redisReply* reply = NULL;
    while (redisGetReplyFromReader(messages, (void**)&reply) == REDIS_OK && reply != NULL) {
      freeReplyObject(reply);
      wait_ms = 0;
    }
  }
}

static void subscribe(Lock* lock) {
  lock->messages = connect_server();
  redisReply* reply = redisCommand(lock->messages, "SUBSCRIBE %s", lock->channel);
  if (reply == NULL || reply->type == REDIS_REPLY_ERROR) die("subscribe", lock->channel);
  freeReplyObject(reply);
}

void lock_acquire(Lock* lock) {
  if (lock->messages != NULL) drain(lock->messages, 0);
  long ttl = try_acquire(lock);
  if (ttl != GRANTED && lock->messages == NULL) {
    subscribe(lock);
    ttl = try_acquire(lock);
  }
  while (ttl != GRANTED) {
    drain(lock->messages, ttl + 1);
    ttl = try_acquire(lock);
  }
}

void lock_release(Lock* lock) {
  send_encoded(lock->commands, lock->release);
  redisReply* reply = next_reply(lock->commands);
  if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 1) die("release", "not the owner");
  freeReplyObject(reply);
}
