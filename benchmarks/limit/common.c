#include "common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int word_count;
static char** word_list;

void words_init(int argc, char** argv) {
  word_count = argc;
  word_list = argv;
}

const char* word(const char* key, const char* fallback) {
  size_t length = strlen(key);
  for (int i = 1; i < word_count; ++i) {
    if (strncmp(word_list[i], key, length) == 0 && word_list[i][length] == '=') {
      return word_list[i] + length + 1;
    }
  }
  if (fallback == NULL) die("a word is missing", key);
  return fallback;
}

long word_long(const char* key, long fallback) {
  const char* text = word(key, "");
  return *text == '\0' ? fallback : strtol(text, NULL, 10);
}

double word_double(const char* key, double fallback) {
  const char* text = word(key, "");
  return *text == '\0' ? fallback : strtod(text, NULL);
}

void die(const char* what, const char* detail) {
  fprintf(stderr, "%s: %s\n", what, detail);
  exit(1);
}

int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

void sleep_until(int64_t moment) {
  struct timespec at = {moment / 1000000000, moment % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

void ready(void) {
  puts("{\"ready\": true}");
  fflush(stdout);
}

int64_t moment(void) {
  int64_t value = 0;
  if (scanf("%" SCNd64, &value) != 1) die("no moment", "the runner is gone");
  return value;
}

void print_array(const char* key, const int64_t* values, long count) {
  if (key != NULL) printf("\"%s\": ", key);
  putchar('[');
  for (long i = 0; i < count; ++i) printf("%s%" PRId64, i == 0 ? "" : ",", values[i]);
  putchar(']');
}

redisContext* connect_server(void) { return connect_port((int)word_long("port", 6379)); }

redisContext* connect_port(int port) {
  redisContext* connection = redisConnect("127.0.0.1", port);
  if (connection == NULL || connection->err != 0) {
    die("connect", connection == NULL ? "no memory" : connection->errstr);
  }
  return connection;
}

// With the word `look=150`: until there is something to read, for 150 microseconds at most.
static void look(redisContext* connection) {
  static long longest = -1;
  if (longest < 0) longest = word_long("look", 0);
  if (longest == 0) return;
  for (int sent = 0; sent == 0;) {
    if (redisBufferWrite(connection, &sent) != REDIS_OK) die("send", connection->errstr);
  }
  const int64_t end = now() + longest * 1000;
  char first;
  while (recv(connection->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && now() < end) {
  }
}

redisReply* next_reply(redisContext* connection) {
  redisReply* reply = NULL;
  look(connection);
  if (redisGetReply(connection, (void**)&reply) != REDIS_OK) die("reply", connection->errstr);
  if (reply->type == REDIS_REPLY_ERROR) die("error reply", reply->str);
  return reply;
}

void send_encoded(redisContext* connection, Encoded command) {
  redisAppendFormattedCommand(connection, command.text, command.length);
}

static Encoded encode(int count, const char** words) {
  Encoded command;
  long long length = redisFormatCommandArgv(&command.text, count, words, NULL);
  if (length < 0) die("encode", "no memory");
  command.length = (size_t)length;
  return command;
}

Encoded encode_acquire(const char* name, const char* owner, long lease_ms) {
  char lease[24];
  snprintf(lease, sizeof lease, "%ld", lease_ms);
  const char* words[] = {"EVALSHA", word("acquire", NULL), "1", name, owner, lease, "1"};
  return encode(7, words);
}

// A batch of one.
Encoded encode_renew(const char* name, const char* owner, long lease_ms) {
  char lease[24];
  snprintf(lease, sizeof lease, "%ld", lease_ms);
  const char* words[] = {"EVALSHA", word("renew", NULL), "1", name, lease, owner};
  return encode(6, words);
}

static void channel_name(char* channel, size_t size, const char* name) {
  snprintf(channel, size, "redisson_lock__channel:{%s}", name);
}

Encoded encode_release(const char* name, const char* owner) {
  char channel[160];
  channel_name(channel, sizeof channel, name);
  const char* words[] = {"EVALSHA", word("release", NULL), "2", name, channel, owner, "0",
                         "publish"};
  return encode(8, words);
}

void owner_name(char* owner, size_t size, long number) {
  static char uuid[37];
  if (uuid[0] == '\0') {
    FILE* source = fopen("/proc/sys/kernel/random/uuid", "r");
    if (source == NULL || fgets(uuid, sizeof uuid, source) == NULL) die("uuid", "not readable");
    fclose(source);
  }
  snprintf(owner, size, "%s:%ld", uuid, number);
}

void lock_open(Lock* lock, const char* name, long number) {
  char owner[64];
  owner_name(owner, sizeof owner, number);
  lock->commands = connect_server();
  lock->messages = NULL;
  channel_name(lock->channel, sizeof lock->channel, name);
  lock->acquire = encode_acquire(name, owner, (long)(word_double("lease", 30) * 1000));
  lock->release = encode_release(name, owner);
}
