#include "redis/client/direct_exchange.h"

#include <utility>

#include "redis/base/mutex.h"

namespace holdfast::client {

DirectExchange::Exchanged DirectExchange::exchange(const RequestPtr& request, DirectReply& answer) {
  if (!read_turn_ && !begin(*request)) return Exchanged::kNotBegun;
  Replies replies;
  const bool read = write(*request) && read_all(replies) && expected_.allow(replies[unread_]);
  if (!read || !stays() || (unread_ > 0 && !deliver_unread(replies))) {
    put_in_line({request, sent()});
    return Exchanged::kInLine;
  }
  answer = {replies[unread_], sent()};
  end(nullptr);
  return Exchanged::kAnswered;
}

DirectExchange::Posted DirectExchange::post(const RequestPtr& request) {
  if (!read_turn_ && !begin(*request)) return Posted::kNotBegun;
  if (write(*request)) {
    MutexLock lock(pipe_.mutex);
    if (has_stream() && pipe_.closed.ok()) {
      pipe_.line.put_behind(unread_, {request, sent()}, RequestQueue::Way::kWritten, expected_);
      lock.unlock();
      end(nullptr);
      return Posted::kWritten;
    }
  }
  put_in_line({request, sent()});
  return Posted::kInLine;
}

bool DirectExchange::begin(Request& request) {
  const MutexLock lock(pipe_.mutex);
  if (!pipe_.vacant()) return false;
  std::optional<ReadTurn> turn = reader_.take(pipe_);
  if (!turn || !reader_.at_rest(*turn)) return false;
  // All that is to come, or has come, are a few replies that no caller awaits, if anything.
  const bool few =
      pipe_.line.empty() || (pipe_.line.size() <= kMostUnread && pipe_.may_stay_unread());
  if (!few) return false;
  if (pipe_.send.unasked_input(pipe_.line)) return false;
  if (pipe_.election.contended() || !pipe_.owns(request)) return false;
  pipe_.election.enter_directly(parker_);
  unread_ = pipe_.line.size();
  read_turn_.emplace(std::move(*turn));
  write_turn_.emplace(std::move(*pipe_.send.take()));
  stream_ = pipe_.send.stream().get();
  number_ = pipe_.line.stream();
  begun_ = request.sent_from == kNever ? pipe_.clock.now() : request.sent_from;
  pipe_.setup.link.stats->add(Stats::Counter::kCommands);
  std::string& out = SendBuffer::direct(*write_turn_);
  out.clear();
  if (!request.ahead) return true;
  // It stands in line as if it were written already, which write() does.
  InFlightRequest first{std::move(request.ahead), sent()};
  first.by_text = first.request->sends_text == Request::SendsText::kAlways;
  const auto replies = first.request->encode(out, first.by_text);
  pipe_.line.put_behind(unread_++, std::move(first), RequestQueue::Way::kSent, replies);
  pipe_.setup.link.stats->add(Stats::Counter::kCommands);
  return true;
}

// `waiter`: as of Connection::submit().
void DirectExchange::end(Parker* waiter) {
  {
    const MutexLock lock(pipe_.mutex);
    write_turn_.reset();
    read_turn_.reset();
    pipe_.election.leave();
    if (pipe_.ordered()) pipe_.drive();
    if (pipe_.line.empty()) return;
  }
  const WakeBatch wakes;
  const MutexLock lock(pipe_.mutex);
  if (pipe_.line.has_unsent()) (void)pipe_.flush();
  pipe_.find_reader(waiter);
}

// False: not to its end.
bool DirectExchange::write(const Request& request) {
  expected_ = request.encode(SendBuffer::direct(*write_turn_), false);
  return SendBuffer::write_direct(*write_turn_, *stream_, written_);
}

// All replies, wholly and alone. The first ones may come before the last.
bool DirectExchange::read_all(Replies& replies) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= unread_; ++i) {
    if (begin == size_) {
      net::IoResult result =
          reader_.await(*read_turn_, *stream_, bytes_.data() + size_, bytes_.size() - size_);
      got_ = result.io;
      if (got_ == net::Io::kDone) size_ += result.bytes;
      if (got_ == net::Io::kFailed) failure_ = std::move(result.status);
    }
    const auto next = resp::plain_beginning({bytes_.data() + begin, size_ - begin});
    if (next.size == 0) return false;
    replies[i] = next.reply;
    begin += next.size;
  }
  return begin == size_;
}

// False where the stream has been left meanwhile, or its replies are not those that are to come:
// what was unread is to be sent again, and before the thread's own command.
bool DirectExchange::deliver_unread(const Replies& replies) {
  std::array<InFlightRequest, kMostUnread + 1> requests;
  {
    const MutexLock lock(pipe_.mutex);
    if (!has_stream() || !pipe_.closed.ok()) return false;
    if (!pipe_.line.allow_first(replies, unread_)) return false;
    for (std::size_t i = 0; i < unread_; ++i)
      requests[i] = pipe_.line.take_first(reader_.address());
  }
  const WakeBatch wakes;
  for (std::size_t i = 0; i < unread_; ++i) {
    const InFlightRequest& answered = requests[i];
    if (answered.request) answered.request->complete(resp::Reply(replies[i]), answered.sent);
  }
  return true;
}

// The request stands where it would stand if it had been submitted: behind the unread replies (of
// which nothing is ever abandoned), in front of all that has come since. What was read of its reply
// goes the way of all replies.
void DirectExchange::put_in_line(InFlightRequest unanswered) {
  StreamReader::DirectInput input;
  {
    const MutexLock lock(pipe_.mutex);
    // Closed, the unread replies have been answered.
    input.current = has_stream() && (pipe_.closed.ok() || unread_ == 0);
    using Way = RequestQueue::Way;
    unanswered.sent.repeated = !input.current;
    pipe_.line.put_behind(unread_, std::move(unanswered), input.current ? Way::kSent : Way::kUnsent,
                          expected_);
    if (input.current) pipe_.send.keep_direct(*write_turn_, written_);
    write_turn_.reset();
  }
  input.bytes = bytes_.data();
  input.size = size_;
  input.io = got_;
  input.failure = std::move(failure_);
  reader_.take_input(pipe_, *read_turn_, std::move(input));
  end(&parker_);
}

}  // namespace holdfast::client
