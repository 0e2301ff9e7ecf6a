#include "guard/enrolment.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/process.h"
#include "guard/settings.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/permit_semaphore.h"

namespace holdfast::guard {

namespace {

// The memory is used as records are, the lowest first.
constexpr std::uint32_t kCapacity = 32768;
// Between two searches of a full page for records that are over.
constexpr Millis kReclaim{1000};

// The guard since the latest fork(): the parent's may be locked for ever. Never destroyed.
struct OfProgram {
  Mutex mutex;
  std::weak_ptr<Guard> guard HOLDFAST_GUARDED_BY(mutex);
};
std::atomic<OfProgram*> g_program{nullptr};
std::atomic<bool> g_kept{false};
std::atomic<std::uint64_t> g_numbers{0};

OfProgram& of_program() {
  static const bool registered = (call_in_child([] { g_program.store(nullptr); }), true);
  (void)registered;
  OfProgram* program = g_program.load();
  if (program != nullptr) return *program;
  auto* fresh = new OfProgram();
  if (g_program.compare_exchange_strong(program, fresh)) return *fresh;
  delete fresh;
  return *program;
}

Result<std::shared_ptr<Guard>> join(const std::string& path, const std::string& number, int page) {
  OfProgram& program = of_program();
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
  return HeldRecord::kPermit;
}

}  // namespace

// Reports the streams of one connection.
class Enrolment::Witness final : public client::StreamWitness {
 public:
  Witness(std::weak_ptr<Enrolment> enrolment, std::size_t place)
      : enrolment_(std::move(enrolment)), place_(place) {}

  void greeted(const client::StreamOptions& link, const net::Credentials& who,
               std::int64_t connection) override {
    const auto enrolment = enrolment_.lock();
    if (!enrolment || enrolment->inherited()) return;
    enrolment->page_.set_connection(place_, connection);
    const MutexLock lock(mutex_);
    server_ = enrolment->settings_of(link, place_);
    server_.credentials = who;
    enrolment->connected(server_);
  }

  void reauthenticated(const net::Credentials& who) override {
    const auto enrolment = enrolment_.lock();
    if (!enrolment || enrolment->inherited()) return;
    const MutexLock lock(mutex_);
    server_.credentials = who;
    enrolment->connected(server_);
  }

  void left() override {
    const auto enrolment = enrolment_.lock();
    if (enrolment && !enrolment->inherited()) enrolment->page_.set_connection(place_, 0);
  }

 private:
  const std::weak_ptr<Enrolment> enrolment_;
  const std::size_t place_;
  Mutex mutex_;
  Settings server_ HOLDFAST_GUARDED_BY(mutex_);  // as the guard knows it
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
    (void)guard_->send(end_message(number_));
  }
}

void Enrolment::keep_at_exit() { g_kept = true; }

void Enrolment::set_topology(std::weak_ptr<topology::Topology> topology) {
  topology_ = std::move(topology);
}

void Enrolment::set_endpoint(const net::Endpoint& endpoint) {
  cluster_ = endpoint.deployment == net::Deployment::kCluster;
  if (cluster_) seeds_ = endpoint.addresses;
  if (endpoint.deployment != net::Deployment::kSentinel) return;
  Settings sentinel;
  sentinel.credentials = endpoint.sentinel_credentials;
  sentinel.tls = endpoint.tls;
  sentinel.service = endpoint.service;
  for (const net::Address& address : endpoint.addresses) {
    sentinel.address = address;
    (void)guard_->send(server_message(number_, sentinel));
  }
}

std::shared_ptr<client::StreamWitness> Enrolment::witness() {
  return std::make_shared<Witness>(weak_from_this(), places_++);
}

Settings Enrolment::settings_of(const client::StreamOptions& link, std::size_t place) const {
  Settings server;
  if (link.address_map) server.address_map = link.address_map->known();
  if (link.database != 0) server.database = std::to_string(link.database);
  server.tls = link.tls;
  if (const auto topology = topology_.lock()) server.publish = topology->publish_command();
  server.cluster = cluster_;
  server.address = link.address;
  server.announced = link.given;
  server.place = place;
  return server;
}

void Enrolment::connected(const Settings& server) {
  if (server.publish.empty()) return;
  if (cluster_ && !seeds_sent_.exchange(true)) {
    Settings other = server;
    other.announced = {};
    other.place = Settings::kNoPlace;
    for (const net::Address& seed : seeds_) {
      other.address = seed;
      (void)guard_->send(server_message(number_, other));
    }
  }
  (void)guard_->send(server_message(number_, server));
}

bool Enrolment::inherited() const { return epoch_ != fork_epoch(); }

void Enrolment::make_room() {
  const TimePoint now = SystemClock().now();
  if (now < next_reclaim_) return;
  next_reclaim_ = after(now, kReclaim);
  page_.reclaim(now);
}

lease::HeldRecords::Id Enrolment::add(const LockName& name, OwnerNumber owner,
                                      const lease::Renewal& kind, TimePoint until) {
  if (inherited()) return 0;
  if (page_.full()) make_room();
  const std::uint8_t number = kind_of(kind);
  if (number == HeldRecord::kPermit) {
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
