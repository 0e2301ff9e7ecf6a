#include "resp/command.h"

#include <hiredis/hiredis.h>

#include <new>

namespace holdfast::resp {
namespace {

std::string encode(const std::string_view* args, std::size_t count) {
  std::vector<const char*> starts(count);
  std::vector<std::size_t> sizes(count);
  for (std::size_t i = 0; i < count; ++i) {
    starts[i] = args[i].data() == nullptr ? "" : args[i].data();
    sizes[i] = args[i].size();
  }
  char* encoded = nullptr;
  const long long size =
      redisFormatCommandArgv(&encoded, static_cast<int>(count), starts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  std::string bytes(encoded, static_cast<std::size_t>(size));
  redisFreeCommand(encoded);
  return bytes;
}

}  // namespace

Command::Command(std::initializer_list<std::string_view> args)
    : bytes_(encode(args.begin(), args.size())) {}

Command::Command(const std::vector<std::string_view>& args)
    : bytes_(encode(args.data(), args.size())) {}

}  // namespace holdfast::resp
