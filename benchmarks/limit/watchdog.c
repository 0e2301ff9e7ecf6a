// Many locks renewed each third of their lease: the whole period's commands are encoded once.
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { BATCH = 1000 };

typedef struct {
  char* text;
  size_t* ends;  // where each batch ends
  long batches;
} Commands;

static Commands encode_all(Encoded (*encode)(const char*, const char*, long), long locks) {
  long lease_ms = (long)(word_double("lease", 30) * 1000);
  Commands all = {.ends = calloc((size_t)(locks / BATCH + 1), sizeof(size_t))};
  size_t length = 0;
  size_t room = 0;
  char owner[64];
  owner_name(owner, sizeof owner, 1);
  for (long i = 0; i < locks; ++i) {
    char name[128];
    snprintf(name, sizeof name, "%s:%ld", word("name", "bench"), i);
    Encoded command = encode(name, owner, lease_ms);
    if (length + command.length > room) {
      room = 2 * room + command.length;
      all.text = realloc(all.text, room);
      if (all.text == NULL) die("commands", "no memory");
    }
    memcpy(all.text + length, command.text, command.length);
    length += command.length;
    redisFreeCommand(command.text);
    all.batches = i / BATCH + 1;
    all.ends[i / BATCH] = length;
  }
  return all;
}

static void send_all(redisContext* connection, const Commands* all, long locks) {
  size_t begin = 0;
  for (long batch = 0; batch < all->batches; ++batch) {
    Encoded commands = {all->text + begin, all->ends[batch] - begin};
    long left = locks - batch * BATCH;
    send_encoded(connection, commands);
    for (long i = 0; i < (left < BATCH ? left : BATCH); ++i) {
      freeReplyObject(next_reply(connection));
    }
    begin = all->ends[batch];
  }
}

void run_watchdog(void) {
  long locks = word_long("locks", 1);
  int64_t period = (int64_t)(word_double("lease", 30) * 1e9 / 3);
  redisContext* connection = connect_server();
  Commands acquires = encode_all(encode_acquire, locks);
  Commands renewals = encode_all(encode_renew, locks);
  ready();
  moment();
  send_all(connection, &acquires, locks);
  printf("{\"held\": %ld}\n", locks);
  fflush(stdout);
  for (int64_t next = now() + period;; next += period) {
    sleep_until(next);
    send_all(connection, &renewals, locks);
  }
}
