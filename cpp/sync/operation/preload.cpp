#include "sync/operation/preload.h"

#include <memory>
#include <utility>

#include "resp/command.h"

namespace holdfast::sync {

namespace {

class Load final : public client::Request {
 public:
  Load(LockName name, const script::Script& script) : name_(std::move(name)), script_(script) {}

  std::string_view key() const override { return name_.bytes(); }
  std::string_view subject() const override { return {}; }

  resp::ReplyKinds encode(std::string& out) const override {
    out += resp::Command({"SCRIPT", "LOAD", script_.text}).bytes();
    return resp::ReplyKind::kText;
  }
  void complete(Result<resp::Reply> /*reply*/, const client::Sent& /*sent*/) override {}

 private:
  const LockName name_;
  const script::Script& script_;
};

}  // namespace

void preload(const Context& context, const Recipe& recipe, const LockName& name) {
  const auto connection = context.topology->route(name.bytes(), topology::Traffic::kCalls);
  for (const script::Script* script : recipe.scripts()) {
    const auto load = std::make_shared<Load>(name, *script);
    load->deadline = after(context.clock.now(), context.command_timeout);
    (void)connection->submit(load);
  }
}

}  // namespace holdfast::sync
