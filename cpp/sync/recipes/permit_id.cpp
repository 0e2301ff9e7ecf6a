#include "sync/recipes/permit_id.h"

#include <functional>
#include <random>

namespace holdfast::sync {

namespace {

constexpr std::size_t kHalf = kPermitIdSize / 2;
constexpr unsigned kByte = 8;

char* write_half(char* to, std::uint64_t half) {
  for (std::size_t i = kHalf; i-- > 0;) *to++ = static_cast<char>(half >> (i * kByte) & 0xffU);
  return to;
}

std::uint64_t read_half(std::string_view bytes) {
  std::uint64_t half = 0;
  for (const char byte : bytes) half = half << kByte | static_cast<unsigned char>(byte);
  return half;
}

// An id consists of the client's half and the number's half, mixed with a value that no other
// process has: a program that is started again with the same client id must not make the same ids.
std::uint64_t client_half(std::string_view client_id) {
  return std::hash<std::string_view>()(client_id);
}

std::uint64_t number_half(std::uint64_t number) {
  static const std::uint64_t process = [] {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32U | random();
  }();
  return process ^ number;
}

}  // namespace

void write_permit_ids(char* to, const Owner& first, std::int64_t amount) {
  const std::uint64_t client = client_half(first.client_id);
  for (std::int64_t i = 0; i < amount; ++i) {
    const auto number = static_cast<std::uint64_t>(owner_after(first.number, i));
    to = write_half(write_half(to, client), number_half(number));
  }
}

std::string permit_id(const std::string& client_id, OwnerNumber number) {
  std::string permit(kPermitIdSize, '\0');
  write_permit_ids(permit.data(), {client_id, number}, 1);
  return permit;
}

std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit) {
  if (read_half(permit.substr(0, kHalf)) != client_half(client_id)) return std::nullopt;
  return OwnerNumber{number_half(read_half(permit.substr(kHalf)))};
}

}  // namespace holdfast::sync
