#include "steelyard/http/http1_pool.h"

#include <algorithm>
#include <cstring>

namespace steelyard::http {

struct Http1Pool::Cell : base::Storage {
  Http1Pool* pool = nullptr;
  std::size_t kind = 0;  // index of kSizes, or kSizes.size(): made to measure, never kept
  std::size_t size = 0;
  std::unique_ptr<std::byte[]> bytes;
};

Http1Pool::Http1Pool(const Http1Limits& limits) : limits_(limits), fields_(limits.max_fields) {
  for (auto& list : free_) list.reserve(64);
  free_joins_.reserve(64);
}
Http1Pool::~Http1Pool() = default;

Http1Pool::Block Http1Pool::take(std::size_t bytes) {
  const auto fits =
      std::find_if(kSizes.begin(), kSizes.end(), [&](std::size_t size) { return size >= bytes; });
  const auto kind = static_cast<std::size_t>(fits - kSizes.begin());
  const std::size_t size = fits == kSizes.end() ? bytes : *fits;
  std::unique_ptr<Cell> cell;
  if (kind < kSizes.size() && !free_[kind].empty()) {
    cell = std::move(free_[kind].back());
    free_[kind].pop_back();
    kept_ -= size;
    surplus_[kind].taken(free_[kind].size());
  } else {
    if (kind < kSizes.size()) surplus_[kind].taken(0);
    cell = std::make_unique<Cell>();
    cell->release = &Http1Pool::give_back;
    cell->pool = this;
    cell->kind = kind;
    cell->size = size;
    cell->bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    ++made_;
  }
  lent_ += size;
  Cell* const at =
      cell.release();  // owned by its count from here on; give_back takes it over again
  return {base::Buf(at, at->bytes.get(), size), reinterpret_cast<char*>(at->bytes.get())};
}

void Http1Pool::give_back(base::Storage* storage) noexcept {
  std::unique_ptr<Cell> cell(static_cast<Cell*>(storage));
  Http1Pool& pool = *cell->pool;
  pool.lent_ -= cell->size;
  if (cell->kind >= kSizes.size() || pool.kept_ + cell->size > kKeepBytes) return;
  pool.kept_ += cell->size;
  pool.free_[cell->kind].push_back(std::move(cell));
}

std::size_t Http1Pool::trim(bool second) noexcept {
  constexpr std::size_t kMost = 32;
  const std::size_t before = kept_;
  for (std::size_t kind = 0; kind < kSizes.size(); ++kind) {
    auto& free = free_[kind];
    auto& surplus = surplus_[kind];
    if (second) surplus.look(free.size());
    const std::size_t going = std::min(surplus.count(), kMost);
    free.resize(free.size() - going);
    surplus.gone(going);
    kept_ -= going * kSizes[kind];
  }
  return before - kept_;
}

Http1Pool::SomeJoins Http1Pool::joins() {
  if (free_joins_.empty()) return SomeJoins(std::make_unique<Joins>(*this).release());
  SomeJoins out(free_joins_.back().release());
  free_joins_.pop_back();
  return out;
}

void Http1Pool::GiveBack::operator()(Joins* joins) const noexcept {
  std::unique_ptr<Joins> back(joins);
  auto& free = back->pool.free_joins_;
  back->partial.clear();
  back->backlog.clear();
  if (free.size() < free.capacity()) free.push_back(std::move(back));
}

std::shared_ptr<Http1Pool> make_http1_pool(Http1Limits limits) {
  return std::make_shared<Http1Pool>(limits);
}

std::size_t trim(Http1Pool& pool, bool second) noexcept { return pool.trim(second); }

std::size_t joined_bytes(const Http1Pool& pool) noexcept { return pool.lent(); }

void Join::append(std::string_view bytes) {
  if (size_ + bytes.size() > block_.size()) {
    Http1Pool::Block bigger = pool_->take(std::max(size_ + bytes.size(), 2 * size_));
    if (size_ > 0) std::memcpy(bigger.text, text_, size_);
    block_ = std::move(bigger.buf);
    text_ = bigger.text;
  }
  if (!bytes.empty()) std::memcpy(text_ + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

base::Buf Join::take() noexcept {
  base::Buf out = std::move(block_);
  out.trim_back(out.size() - size_);
  text_ = nullptr;
  size_ = 0;
  return out;
}

}  // namespace steelyard::http
