#include "redis/resp/reply.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

namespace holdfast::resp {
namespace {

constexpr std::size_t kMaxReply = std::size_t{64} << 20;
// hiredis allocates an array when it has read its size: limit the size that invalid bytes can ask
// for.
constexpr long long kMaxElements = 1 << 20;
constexpr int kMaxDepth = 16;
// The bytes of an error that are kept: more than any server's own words have. It becomes the
// message of an exception.
constexpr std::size_t kLongestError = 1200;

std::string_view text_of(const redisReply* reply) {
  return reply == nullptr || reply->str == nullptr ? std::string_view()
                                                   : std::string_view(reply->str, reply->len);
}

bool is_aggregate(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_ARRAY:
    case REDIS_REPLY_SET:
    case REDIS_REPLY_PUSH:
    case REDIS_REPLY_MAP:
      return true;
    default:
      return false;
  }
}

redisReply* element(const redisReply& reply, std::size_t index) {
  return is_aggregate(reply) && index < reply.elements ? reply.element[index] : nullptr;
}

constexpr std::string_view kEnd = "\r\n";

// The number at the beginning of a line, and the size of that line with its end; 0: there is none.
struct Line {
  std::int64_t number = 0;
  std::size_t size = 0;
};
Line numbered_line(std::string_view bytes) {
  Line line;
  const char* const end = bytes.data() + bytes.size();
  const auto [stop, error] = std::from_chars(bytes.data() + 1, end, line.number);
  const bool ends = end - stop >= 2 && stop[0] == '\r' && stop[1] == '\n';
  if (error == std::errc() && ends) line.size = static_cast<std::size_t>(stop - bytes.data()) + 2;
  return line;
}

PlainBeginning text_beginning(std::string_view bytes) {
  constexpr auto kLongest = static_cast<std::int64_t>(PlainReply::kLongestText);
  const Line line = numbered_line(bytes);
  if (line.size == 0 || line.number < 0 || line.number > kLongest) return {};
  const auto size = static_cast<std::size_t>(line.number);
  if (bytes.size() < line.size + size + 2) return {};
  if (bytes.substr(line.size + size, 2) != kEnd) return {};
  PlainBeginning text{{}, line.size + size + 2};
  text.reply.text_size = static_cast<std::uint8_t>(size);
  const char* const from = bytes.data() + line.size;
  std::copy(from, from + size, text.reply.text_bytes.begin());
  return text;
}

// The beginning of an array of two integers.
PlainBeginning pair_beginning(std::string_view bytes) {
  constexpr std::string_view kTwo = "*2\r\n";
  if (bytes.substr(0, kTwo.size()) != kTwo) return {};
  PlainBeginning pair{{}, kTwo.size()};
  for (std::optional<std::int64_t>* integer : {&pair.reply.integer, &pair.reply.second}) {
    const std::string_view rest = bytes.substr(pair.size);
    if (rest.empty() || rest[0] != ':') return {};
    const Line line = numbered_line(rest);
    if (line.size == 0) return {};
    *integer = line.number;
    pair.size += line.size;
  }
  return pair;
}

}  // namespace

PlainBeginning plain_beginning(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] == ':') {
    const Line line = numbered_line(bytes);
    return line.size > 0 ? PlainBeginning{{line.number}, line.size} : PlainBeginning{};
  }
  for (const std::string_view nil : {"$-1\r\n", "_\r\n"}) {
    if (bytes.substr(0, nil.size()) == nil) return {{}, nil.size()};
  }
  return bytes[0] == '$' ? text_beginning(bytes) : pair_beginning(bytes);
}

namespace {

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

ReplyKind kind_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
    case REDIS_REPLY_BOOL:
      return ReplyKind::kInteger;
    case REDIS_REPLY_NIL:
      return ReplyKind::kNil;
    case REDIS_REPLY_ERROR:
      return ReplyKind::kError;
    default:
      break;
  }
  if (is_aggregate(reply)) return ReplyKind::kArray;
  const std::string_view text = text_of(&reply);
  const bool word = !text.empty() && text.find_first_not_of(kCapitals) == std::string_view::npos;
  return word && reply.type == REDIS_REPLY_STATUS ? ReplyKind::kStatus : ReplyKind::kText;
}

}  // namespace

Reply::Reply(redisReply* reply, bool owned) : reply_(reply, Free{owned}) {
  if (reply == nullptr) return;
  kind_ = kind_of(*reply);
  push_ = reply->type == REDIS_REPLY_PUSH;
  if (is_integer()) plain_.integer = reply->integer;
  if (is_error() && reply->len > kLongestError) {
    constexpr std::string_view kCut = "...";
    reply->len = kLongestError;
    std::copy(kCut.begin(), kCut.end(), reply->str + kLongestError - kCut.size());
  }
}

void Reply::Free::operator()(redisReply* reply) const {
  if (owned) freeReplyObject(reply);
}

std::string_view word_for(ReplyKind kind) {
  switch (kind) {
    case ReplyKind::kNil:
      return "a nil";
    case ReplyKind::kInteger:
      return "an integer";
    case ReplyKind::kText:
      return "a string";
    case ReplyKind::kStatus:
      return "a status";
    case ReplyKind::kArray:
      return "an array";
    case ReplyKind::kError:
      break;
  }
  return "an error";
}

std::string_view Reply::text() const {
  return reply_ == nullptr ? plain_.text() : text_of(reply_.get());
}
std::size_t Reply::size() const {
  if (reply_ == nullptr) return plain_.second ? 2 : 0;
  return is_aggregate(*reply_) ? reply_->elements : 0;
}

std::string_view Reply::text_at(std::size_t index) const {
  return reply_ == nullptr ? std::string_view() : text_of(element(*reply_, index));
}

std::int64_t Reply::integer_at(std::size_t index) const { return at(index).integer(); }

std::string_view Reply::field(std::string_view name) const {
  for (std::size_t i = 0; i + 1 < size(); i += 2) {
    if (text_at(i) == name) return text_at(i + 1);
  }
  return {};
}

Reply Reply::at(std::size_t index) const {
  if (reply_ == nullptr) {
    if (index >= size()) return Reply(PlainReply{});
    return Reply(PlainReply{index == 0 ? plain_.integer : plain_.second});
  }
  redisReply* const found = element(*reply_, index);
  return found == nullptr ? Reply(PlainReply{}) : Reply(found, false);
}

Reader::Reader() : reader_(redisReaderCreate()) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->maxelements = kMaxElements;
  reader_->maxdepth = kMaxDepth;
}

Reader::~Reader() { redisReaderFree(reader_); }

void Reader::feed(const char* data, std::size_t size) {
  incomplete_ += size;
  if (!reads_) {
    bytes_.append(data, size);
  } else {
    redisReaderFeed(reader_, data, size);  // its error stays in the reader: next() returns it
  }
}

Result<std::optional<Reply>> Reader::next() {
  if (!reads_) {
    const PlainBeginning plain = plain_beginning(std::string_view(bytes_).substr(begin_));
    begin_ += plain.size;
    incomplete_ -= plain.size;
    if (begin_ == bytes_.size()) {
      bytes_.clear();
      begin_ = 0;
    }
    if (plain.size > 0) return std::optional<Reply>(Reply(plain.reply));
    if (bytes_.empty()) return std::optional<Reply>();
    redisReaderFeed(reader_, bytes_.data() + begin_, bytes_.size() - begin_);
    bytes_.clear();
    begin_ = 0;
  }
  Result<std::optional<Reply>> next = next_of_reader();
  reads_ = !next.ok() || incomplete_ > 0;
  return next;
}

Result<std::optional<Reply>> Reader::next_of_reader() {
  for (;;) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_, &reply) != REDIS_OK) return failure();
    if (reply == nullptr) break;
    incomplete_ = reader_->len - reader_->pos;
    Reply whole(static_cast<redisReply*>(reply));
    // An attribute describes the reply that follows it: it is not part of that reply.
    if (whole.reply_->type != REDIS_REPLY_ATTR) return std::optional<Reply>(std::move(whole));
  }
  if (incomplete_ > kMaxReply) return failure();
  return std::optional<Reply>();
}

Status Reader::failure() const {
  const char* const why = reader_->err != 0 ? reader_->errstr : "it is larger than 64 MiB";
  return Status::unreachable(std::string("not a Redis reply: ") + why);
}

std::string hiredis_version() {
  return std::to_string(HIREDIS_MAJOR) + '.' + std::to_string(HIREDIS_MINOR) + '.' +
         std::to_string(HIREDIS_PATCH);
}

namespace {

constexpr std::string_view kDigits = "0123456789";

// Removes the digits at the beginning; false: there are none.
bool skip_digits(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

// Skips a single character, one of `of`.
bool skip_one(std::string_view& text, std::string_view of) {
  if (text.empty() || of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// As servers write doubles, and float() of Python reads them.
bool is_score(std::string_view text) {
  (void)skip_one(text, "-");
  if (text == "inf" || text == "nan") return true;
  if (!skip_digits(text)) return false;
  if (skip_one(text, ".") && !skip_digits(text)) return false;
  if (!skip_one(text, "e")) return text.empty();
  (void)skip_one(text, "+-");
  return skip_digits(text) && text.empty();
}

bool has_row(const Reply& reply, const ArrayRow& row) {
  const std::size_t once = row.size - row.repeated;
  if (reply.size() < once) return false;
  const std::size_t rest = reply.size() - once;
  if (row.repeated == 0 ? rest != 0 : rest % row.repeated != 0) return false;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const std::size_t of_row = i < row.size ? i : once + (i - once) % row.repeated;
    const Reply element = reply.at(i);
    if (element.is_error() || !row.elements[of_row].allow(element)) return false;
  }
  return true;
}

}  // namespace

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
      return allow_array(
          reply.size(),
          [&](std::size_t i, std::int64_t& number) {
            number = reply.integer_at(i);
            return reply.at(i).is_integer();
          },
          [&]() -> const Reply& { return reply; });
    default:
      return true;
  }
}

bool ReplyKinds::fits(const PlainReply& reply) const {
  if (reply.kind() == ReplyKind::kText) return allow_text(reply.text());
  return allow_array(
      2,
      [&](std::size_t i, std::int64_t& number) {
        number = i == 0 ? *reply.integer : *reply.second;
        return true;
      },
      [&] { return Reply(reply); });
}

bool ReplyKinds::allow_text(std::string_view text) const {
  if (text_ == Text::kAny) return true;
  if (text_ == Text::kScore) return is_score(text);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end;
}

template <typename Element, typename Whole>
bool ReplyKinds::allow_array(std::size_t size, const Element& element, const Whole& whole) const {
  if (array_ >= Array::kAny) return array_ == Array::kAny || allow_shaped(whole());
  if (!allow_size(size)) return false;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::int64_t number = 0;
    if (!element(i, number)) return false;
    if (array_ == Array::kEach && number < 0) return false;
    const bool place = number > before && static_cast<std::size_t>(number) <= count_;
    if (array_ == Array::kPlaces && !place) return false;
    before = number;
  }
  return true;
}

bool ReplyKinds::allow_shaped(const Reply& reply) const {
  if (count_ != 0 && reply.size() != count_) return false;
  const ArrayRow* const end = shape_->rows + shape_->size;
  return std::any_of(shape_->rows, end, [&](const ArrayRow& row) { return has_row(reply, row); });
}

bool ReplyKinds::allow_size(std::size_t size) const {
  if (array_ == Array::kFew) return size == 2 || size == 3;
  return array_ == Array::kPlaces ? size <= count_ : size == count_;
}

}  // namespace holdfast::resp
