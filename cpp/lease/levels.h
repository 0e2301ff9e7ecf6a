#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace holdfast::lease {

// The holds that one owner has of one lock, nested: was each acquired without a lease?
class Levels {
 public:
  int count() const { return count_; }
  bool renewed() const { return renewed_; }  // one of them is
  bool renewed_at(int level) const {
    return (level == 0 ? outermost_ : inner_->at(static_cast<std::size_t>(level - 1))) == kRenewed;
  }
  // The inner ones end; or, if the server knows of more holds than we do, those have a lease.
  void set_count(int count) {
    if (count == count_) return;
    if (count > 0 && count_ == 0) outermost_ = kLeased;
    if (inner_ || count > 1)
      inner().resize(count > 1 ? static_cast<std::size_t>(count - 1) : 0, kLeased);
    count_ = count;
    renewed_ = has_renewed();
  }
  void push(bool renewed) {
    const char mark = renewed ? kRenewed : kLeased;
    if (count_ == 0) {
      outermost_ = mark;
    } else {
      inner() += mark;
    }
    ++count_;
    renewed_ = renewed_ || renewed;
  }
  void all_leased() {
    outermost_ = kLeased;
    if (inner_) inner_->assign(inner_->size(), kLeased);
    renewed_ = false;
  }

 private:
  static constexpr char kRenewed = 'w';
  static constexpr char kLeased = 'l';

  bool has_renewed() const {
    const bool outermost = count_ > 0 && outermost_ == kRenewed;
    return outermost || (inner_ && inner_->find(kRenewed) != std::string::npos);
  }
  std::string& inner() {
    if (!inner_) inner_ = std::make_unique<std::string>();
    return *inner_;
  }

  std::unique_ptr<std::string> inner_;  // made for the second one, as most holds have one level
  int count_ = 0;
  char outermost_ = kLeased;
  bool renewed_ = false;
};

}  // namespace holdfast::lease
