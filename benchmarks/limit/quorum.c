// One lock on each of several servers: every command is written before the first reply is read.
#include <stdlib.h>

#include "common.h"

enum { SERVERS = 16 };

struct Quorum {
  redisContext* servers[SERVERS];
  int count;
  Encoded acquire;
  Encoded release;
};

Quorum* quorum_open(const char* name) {
  Quorum* quorum = calloc(1, sizeof *quorum);
  if (quorum == NULL) die("quorum", "no memory");
  char owner[64];
  owner_name(owner, sizeof owner, 1);
  quorum->acquire = encode_acquire(name, owner, 30000);
  quorum->release = encode_release(name, owner);
  char* at = (char*)word("ports", NULL);
  while (*at != '\0' && quorum->count < SERVERS) {
    quorum->servers[quorum->count++] = connect_port((int)strtol(at, &at, 10));
    if (*at == ',') ++at;
  }
  return quorum;
}

static void ask_all(Quorum* quorum, Encoded command, int expected) {
  for (int i = 0; i < quorum->count; ++i) {
    int done = 0;
    send_encoded(quorum->servers[i], command);
    if (redisBufferWrite(quorum->servers[i], &done) != REDIS_OK) die("quorum", "write");
  }
  for (int i = 0; i < quorum->count; ++i) {
    redisReply* reply = next_reply(quorum->servers[i]);
    if (reply->type != expected) die("quorum", "not the owner");
    freeReplyObject(reply);
  }
}

void quorum_acquire(Quorum* quorum) { ask_all(quorum, quorum->acquire, REDIS_REPLY_NIL); }

void quorum_release(Quorum* quorum) { ask_all(quorum, quorum->release, REDIS_REPLY_INTEGER); }
