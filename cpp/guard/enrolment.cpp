#include "guard/enrolment.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "guard/settings.h"
#include "locks/sync/recipes/kinds.h"
#include "locks/sync/recipes/permit_semaphore.h"
#include "redis/base/process.h"

namespace holdfast::guard {

namespace {

// The memory is used as records are, the lowest first.
constexpr std::uint32_t kCapacity = 32768;
// Between two searches of a full page for records that are over.
constexpr Millis kReclaim{1000};

struct SharedGuard {
  Mutex mutex;
  std::weak_ptr<Guard> guard HOLDFAST_GUARDED_BY(mutex);
};
std::atomic<bool> g_kept{false};
std::atomic<std::uint64_t> g_numbers{0};

Result<std::shared_ptr<Guard>> join(const std::string& path, const std::string& number, int page) {
  SharedGuard& program = OfProcess<SharedGuard>::instance();
  const MutexLock lock(program.mutex);
  std::shared_ptr<Guard> guard = program.guard.lock();
  if (guard && guard->join(number, page).ok()) return guard;
  auto started = Guard::start(path);
  if (!started.ok()) return started.status();
  if (Status joined = started.value()->join(number, page); !joined.ok()) return joined;
  program.guard = started.value();
  return started;
}

// The kind of a record.
std::uint8_t kind_of(const lease::Renewal& renewal) {
  static const auto kinds = [] {
    std::array<const lease::Renewal*, sync::kLockKinds.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = &sync::kLockKinds[i].recipe();
    return all;
  }();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == &renewal) return static_cast<std::uint8_t>(i);
  }
  std::uint8_t number = HeldRecord::kPermit;
  for (const auto kind : sync::kPermitKinds) {
    if (&kind().renewed == &renewal) break;
    --number;
  }
  return number;
}

}  // namespace

// Reports the streams of one connection.
class Enrolment::Witness final : public client::StreamWitness {
 public:
  explicit Witness(std::weak_ptr<Enrolment> enrolment) : enrolment_(std::move(enrolment)) {}
  ~Witness() override {
    if (const auto enrolment = own()) enrolment->forget(*this);
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  void greeted(const client::StreamOptions& link, const net::Credentials& who,
               std::string_view connection) override {
    if (const auto enrolment = own()) enrolment->connected(*this, link, who, connection);
  }
  void reauthenticated(const net::Credentials& who) override {
    if (const auto enrolment = own()) enrolment->reauthenticated(who);
  }
  void left() override {
    if (const auto enrolment = own()) enrolment->left(*this);
  }

 private:
  // Null: it is over, or of the parent of this process.
  std::shared_ptr<Enrolment> own() const {
    auto enrolment = enrolment_.lock();
    return enrolment && !enrolment->inherited() ? enrolment : nullptr;
  }

  const std::weak_ptr<Enrolment> enrolment_;
};

Result<std::shared_ptr<Enrolment>> Enrolment::make(const std::string& path,
                                                   const std::string& client_id) {
  auto page = HeldPage::make(kCapacity);
  if (!page.ok()) return page.status();
  std::string number = std::to_string(++g_numbers);
  auto guard = join(path, number, page.value().fd());
  if (!guard.ok()) return guard.status();
  return std::shared_ptr<Enrolment>(new Enrolment(std::move(page.value()), std::move(guard.value()),
                                                  std::move(number), client_id));
}

Enrolment::Enrolment(HeldPage page, std::shared_ptr<Guard> guard, std::string number,
                     const std::string& client_id)
    : page_(std::move(page)),
      guard_(std::move(guard)),
      number_(std::move(number)),
      client_id_(client_id),
      epoch_(fork_epoch()),
      field_(client_id + ':') {}

Enrolment::~Enrolment() {
  if (inherited()) {
    page_.forget();
  } else if (!g_kept) {
    page_.set_closed();
    guard_->leave(number_);
  }
}

void Enrolment::keep_at_exit() { g_kept = true; }

void Enrolment::set_topology(std::weak_ptr<topology::Topology> topology) {
  topology_ = std::move(topology);
}

void Enrolment::set_endpoint(const net::Endpoint& endpoint,
                             std::function<void(const std::string&)> failed) {
  const MutexLock lock(mutex_);
  settings_.endpoint = endpoint;
  settings_.endpoint.credential_source = {};
  settings_.endpoint.address_source = {};
  failed_ = std::move(failed);
}

std::shared_ptr<client::StreamWitness> Enrolment::witness() {
  return std::make_shared<Witness>(weak_from_this());
}

void Enrolment::connected(const Witness& of, const client::StreamOptions& link,
                          const net::Credentials& who, std::string_view connection) {
  const auto topology = topology_.lock();
  const MutexLock lock(mutex_);
  links_.remove_if([&](const Link& known) { return known.of == &of; });
  links_.push_front({&of, link.given, std::string(connection)});
  if (link.address_map) settings_.endpoint.address_table = link.address_map->known();
  if (topology) settings_.publish = topology->publish_command();
  settings_.endpoint.credentials = who;
  write_settings();
}

void Enrolment::reauthenticated(const net::Credentials& who) {
  const MutexLock lock(mutex_);
  settings_.endpoint.credentials = who;
  write_settings();
}

// The server is known still.
void Enrolment::left(const Witness& of) {
  const MutexLock lock(mutex_);
  for (Link& link : links_) {
    if (link.of == &of) link.connection.clear();
  }
  write_settings();
}

// The connection is made no more: its server has left the cluster, or the client is closed.
void Enrolment::forget(const Witness& of) {
  const MutexLock lock(mutex_);
  links_.remove_if([&](const Link& link) { return link.of == &of; });
}

// A cluster, or the sentinels, may be out of reach by the URL, and by the servers of the moment.
void Enrolment::write_settings() {
  if (settings_.publish.empty() || links_.empty()) return;
  Settings settings = settings_;
  std::vector<net::Address>& servers = settings.endpoint.addresses;
  const bool cluster = settings.endpoint.deployment == net::Deployment::kCluster;
  std::vector<net::Address> first;
  for (const Link& link : links_) {
    if (cluster) first.push_back(link.server);
    if (!link.connection.empty()) settings.connections.push_back(link.connection);
  }
  servers.insert(servers.begin(), first.begin(), first.end());
  if (settings.endpoint.deployment == net::Deployment::kSentinel) {
    settings.primary = links_.front().server;
  }
  const std::string text = settings_text(settings);
  if (page_.set_settings(text) || !failed_) return;
  std::exchange(failed_, nullptr)(
      "the guard cannot know the servers of this client: their addresses"
      " and credentials have " +
      std::to_string(text.size()) + " bytes, more than " +
      std::to_string(HeldPage::kLongestSettings));
}

bool Enrolment::inherited() const { return epoch_ != fork_epoch(); }

lease::HeldRecords::Id Enrolment::add(const LockName& name, OwnerNumber owner,
                                      const lease::Renewal& kind, TimePoint until) {
  if (inherited()) return 0;
  if (page_.full()) {
    const TimePoint now = SystemClock().now();
    if (now >= next_reclaim_) {
      next_reclaim_ = after(now, kReclaim);
      page_.reclaim(now);
    }
  }
  const std::uint8_t number = kind_of(kind);
  if (number >= sync::kLockKinds.size()) {
    return page_.put({number, name.bytes(), sync::permit_id(client_id_, owner), until}).value_or(0);
  }
  std::array<char, 20> digits{};
  const auto end =
      std::to_chars(digits.begin(), digits.end(), static_cast<std::uint64_t>(owner)).ptr;
  field_.resize(client_id_.size() + 1);
  field_.append(digits.begin(), end);
  return page_.put({number, name.bytes(), field_, until}).value_or(0);
}

bool Enrolment::set_until(Id record, TimePoint until) {
  return record == 0 || inherited() || page_.set_deadline(record, until);
}

void Enrolment::remove(Id record) {
  if (record != 0 && !inherited()) page_.remove(record);
}

}  // namespace holdfast::guard
