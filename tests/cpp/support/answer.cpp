#include "support/answer.h"

namespace holdfast::simulation {

void Answer::append_to(std::string& bytes) const {
  switch (kind) {
    case Kind::kNil:
      bytes += "$-1";
      break;
    case Kind::kStatus:
      bytes += '+' + text;
      break;
    case Kind::kError:
      bytes += '-' + text;
      break;
    case Kind::kInteger:
      bytes += ':' + std::to_string(integer);
      break;
    case Kind::kBulk:
      bytes += '$' + std::to_string(text.size()) + "\r\n" + text;
      break;
    case Kind::kArray:
      bytes += '*' + std::to_string(elements.size()) + "\r\n";
      for (const Answer& element : elements) element.append_to(bytes);
      return;
  }
  bytes += "\r\n";
}

}  // namespace holdfast::simulation
