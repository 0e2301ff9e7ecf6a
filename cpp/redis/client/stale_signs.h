#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::client {

// Where the streams to one server report signs that another server has its place: its address leads
// elsewhere by now, and connections that are open still end at the old one. Any thread, with locks
// of a connection held.
class StaleSigns {
 public:
  virtual ~StaleSigns() = default;

  // Whether this error reply is such a sign.
  virtual bool is_sign(std::string_view error) const = 0;
  // There was one. The number of the look for another server that follows soon; 0: there is none at
  // the moment, or it takes too long to be waited for.
  virtual std::uint64_t report() = 0;
  // Whether that look is over.
  virtual bool over(std::uint64_t look) const = 0;
  // A command that was refused so is accepted.
  virtual void accepted() = 0;
  // The server refuses to work for the moment: after a second of it, another address of its name is
  // a sign.
  virtual void refused_for_now() = 0;
};

}  // namespace holdfast::client
