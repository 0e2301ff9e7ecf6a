#include "base/limit.h"

#include <cerrno>
#include <system_error>

namespace holdfast {

std::string limit_hint(int error) {
  switch (error) {
    case EMFILE:
      return "the process may open no more files: raise `ulimit -n`";
    case ENFILE:
      return "the machine may open no more files: raise the sysctl fs.file-max";
    case EAGAIN:
      return "no more threads or processes are allowed: raise `ulimit -u`, or pids.max of the "
             "container";
    case ENOSPC:
      return "no more files may be watched: raise the sysctl fs.epoll.max_user_watches";
    case ENOMEM:
    case ENOBUFS:
      return "the system has no memory left";
    default:
      return {};
  }
}

std::string limit_text(const std::string& call, int error) {
  const std::string hint = limit_hint(error);
  const std::string text = call + ": " + std::generic_category().message(error);
  return hint.empty() ? text : text + " (" + hint + ")";
}

}  // namespace holdfast
