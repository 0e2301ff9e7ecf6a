// The writing half of a connection, and the turn without which no thread writes.

#include "redis/client/send_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "redis/client/stream_reader.h"
#include "support/scripted_stream.h"

namespace holdfast::client {
namespace {

using simulation::Script;
using simulation::ScriptedStream;

// A thread cannot make a turn, copy one, or use the stream without one.
static_assert(!std::is_default_constructible_v<WriteTurn>);
static_assert(!std::is_constructible_v<WriteTurn, SendBuffer&>);
static_assert(!std::is_copy_constructible_v<WriteTurn>);
static_assert(std::is_move_constructible_v<WriteTurn>);
static_assert(
    !std::is_invocable_v<decltype(&SendBuffer::flush), SendBuffer&, RequestQueue&, Mutex&>);
static_assert(!std::is_invocable_v<decltype(&SendBuffer::direct)>);
static_assert(!std::is_default_constructible_v<ReadTurn>);
static_assert(!std::is_copy_constructible_v<ReadTurn>);
static_assert(!std::is_invocable_v<decltype(&StreamReader::advance), StreamReader&, Pipeline&,
                                   TimePoint, StreamReader::Wait>);
static_assert(!std::is_invocable_v<decltype(&StreamReader::advance), StreamReader&, Pipeline&,
                                   WriteTurn&, TimePoint, StreamReader::Wait>);

class Word final : public Request {
 public:
  explicit Word(std::string word) : word_(std::move(word)) {}
  std::string_view key() const override { return word_; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += word_;
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> /*reply*/, const Sent& /*sent*/) override {}

 private:
  const std::string word_;
};

class SendBufferTest : public ::testing::Test {
 protected:
  SendBufferTest() { send.open(std::make_shared<ScriptedStream>(script)); }

  void add(const std::string& word) { line.add({std::make_shared<Word>(word)}); }
  // False where another thread has the turn, or the stream takes no more.
  bool flush() {
    const std::optional<WriteTurn> turn = send.take();
    if (!turn) return false;
    const MutexLock lock(mutex);
    return send.flush(*turn, line, mutex);
  }

  Script script;
  Mutex mutex;
  RequestQueue line;
  Stats stats;
  SendBuffer send{script.clock, stats};
};

TEST_F(SendBufferTest, OneThreadHasTheTurnUntilItGivesItBack) {
  add("word");
  {
    const std::optional<WriteTurn> turn = send.take();
    ASSERT_TRUE(turn);
    EXPECT_FALSE(send.take());
    EXPECT_FALSE(flush());
    EXPECT_EQ(script.got, "");
  }
  EXPECT_TRUE(flush());
  EXPECT_EQ(script.got, "word");
}

TEST_F(SendBufferTest, ATurnThatMovesIsGivenBackOnce) {
  std::optional<WriteTurn> later;
  {
    std::optional<WriteTurn> first = send.take();
    ASSERT_TRUE(first);
    later.emplace(std::move(*first));
  }
  EXPECT_FALSE(send.take()) << "it is still in use";
  later.reset();
  EXPECT_TRUE(send.take());
}

TEST_F(SendBufferTest, WhileACommandIsWrittenNoOtherThreadWrites) {
  add("first");
  script.on_writing = [this] {
    add("second");
    EXPECT_FALSE(flush());
    EXPECT_EQ(script.got, "");
  };
  EXPECT_TRUE(flush());
  EXPECT_EQ(script.got, "firstsecond") << "by the thread that has the turn";
}

TEST_F(SendBufferTest, WhatTheStreamDoesNotTakeIsWrittenLater) {
  add("word");
  script.room = 1;
  EXPECT_FALSE(flush());
  EXPECT_TRUE(send.blocked());
  EXPECT_FALSE(send.at_rest());
  send.unblock();
  EXPECT_TRUE(flush());
  EXPECT_EQ(script.got, "word");
  EXPECT_TRUE(send.healthy());
}

TEST_F(SendBufferTest, TheRestOfADirectCommandIsWrittenFirst) {
  script.room = 2;
  std::optional<WriteTurn> turn = send.take();
  SendBuffer::direct(*turn) = "direct";
  SendBuffer::Written written;
  EXPECT_FALSE(SendBuffer::write_direct(*turn, *send.stream(), written));
  script.room = std::string::npos;
  line.put_behind(0, {std::make_shared<Word>("direct")}, RequestQueue::Way::kSent,
                  resp::ReplyKinds::any());
  send.keep_direct(*turn, written);
  turn.reset();
  add("next");
  send.unblock();
  EXPECT_TRUE(flush());
  EXPECT_EQ(script.got, "directnext");
}

TEST_F(SendBufferTest, WhatCameUnaskedIsReadBeforeACommandGoesOut) {
  add("word");
  script.unasked = true;
  EXPECT_FALSE(flush());
  EXPECT_EQ(script.got, "");
}

}  // namespace
}  // namespace holdfast::client
