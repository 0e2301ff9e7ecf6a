#include "resp/reply_kinds.h"

#include <charconv>
#include <string_view>

namespace holdfast::resp {

bool ReplyKinds::allow(const Reply& reply) const {
  const ReplyKind kind = reply.kind();
  if (kind == ReplyKind::kError) return true;
  if (!allow(kind)) return false;
  switch (kind) {
    case ReplyKind::kInteger:
      return allow(reply.integer());
    case ReplyKind::kText:
      return allow_text(reply.text());
    case ReplyKind::kArray:
      return allow_array(reply.size(), [&](std::size_t i, std::int64_t& number) {
        number = reply.integer_at(i);
        return reply.at(i).is_integer();
      });
    default:
      return true;
  }
}

bool ReplyKinds::fits(const PlainReply& reply) const {
  if (reply.kind() == ReplyKind::kText) return allow_text(reply.text());
  return allow_array(2, [&](std::size_t i, std::int64_t& number) {
    number = i == 0 ? *reply.integer : *reply.second;
    return true;
  });
}

bool ReplyKinds::allow_text(std::string_view text) const {
  if (!decimal_) return true;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end;
}

template <typename Element>
bool ReplyKinds::allow_array(std::size_t size, const Element& element) const {
  if (array_ == Array::kAny) return true;
  if (!allow_size(size)) return false;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::int64_t number = 0;
    if (!element(i, number) || !allow_element(number, before)) return false;
    before = number;
  }
  return true;
}

bool ReplyKinds::allow_size(std::size_t size) const {
  if (array_ == Array::kFew) return size == 2 || size == 3;
  return array_ == Array::kPlaces ? size <= count_ : size == count_;
}

bool ReplyKinds::allow_element(std::int64_t number, std::int64_t before) const {
  if (array_ == Array::kFew) return true;
  if (array_ == Array::kEach) return number >= 0;
  return number > before && static_cast<std::size_t>(number) <= count_;
}

}  // namespace holdfast::resp
