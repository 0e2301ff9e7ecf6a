#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace holdfast {

// What a connection reports to its application beside its replies.
struct Report {
  enum class Kind {
    kProtocolError,  // the connection was ended by what its server sent: `reason`
    kResolved,       // a command for `key` was sent again, and has its reply, of `server`
  };
  Kind kind;
  std::string key{};
  std::string reason{};
  std::string server{};  // its address
};

// Where reports go. Called on any thread, with mutexes locked: it only puts the report away.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void report(Report report) = 0;
};

// The commands that are sent again after their connection had ended, for tests and models. Without
// a sink each costs one comparison.
class ResendTrace {
 public:
  using Sink = void (*)(std::string_view key);
  // Null: no sink. To be called while no connection is open.
  static void set_sink(Sink sink) { sink_.store(sink, std::memory_order_release); }

  static void record(std::string_view key) {
    const Sink sink = sink_.load(std::memory_order_acquire);
    if (sink != nullptr) sink(key);
  }

 private:
  static inline std::atomic<Sink> sink_{nullptr};
};

}  // namespace holdfast
