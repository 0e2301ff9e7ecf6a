#include "net/plain_text_probe.h"

#include <string_view>

namespace holdfast::net {

namespace {
constexpr std::string_view kPing = "PING\r\n";
constexpr char kAlert = 0x15;  // the first byte of a TLS answer
}  // namespace

PlainTextProbe::Verdict PlainTextProbe::advance() {
  IoResult step;
  if (!connected_) step = socket_.connect();
  connected_ = connected_ || step.io == Io::kDone;
  if (connected_ && !sent_) {
    step = socket_.write(kPing.data(), kPing.size());
    sent_ = step.io == Io::kDone;
  }
  char first = 0;
  if (sent_) {
    step = socket_.read(&first, 1);
    if (step.io == Io::kDone) return first == kAlert ? Verdict::kUnknown : Verdict::kPlainText;
  }
  writes_ = step.io == Io::kWantWrite;
  return step.io == Io::kFailed ? Verdict::kUnknown : Verdict::kPending;
}

Interest PlainTextProbe::interest() const { return {socket_.fd(), !writes_, writes_}; }

Status PlainTextProbe::failure(const Address& address) {
  return Status::unreachable("cannot connect to " + address.text() +
                                 " over TLS: the server answers in plain text (does the port "
                                 "speak TLS? redis:// in place of rediss:// connects without)",
                             Reach::kPlainText);
}

}  // namespace holdfast::net
