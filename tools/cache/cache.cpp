// One lock for everything: entries are few and large, and the time goes into what is cached.
#include "tools/cache/cache.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cs::cache {

void Cache::add_local(std::unique_ptr<CacheBackend> backend) {
  tiers_.push_back({std::move(backend), false});
}
void Cache::add_remote(std::unique_ptr<CacheBackend> backend) {
  tiers_.push_back({std::move(backend), true});
}

std::optional<Found> Cache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < tiers_.size(); ++i) {
    std::optional<Found> found = find_in(tiers_[i], key);
    if (!found) continue;
    for (size_t near = 0; near < i; ++near) put_in(tiers_[near], key, found->sealed());
    ++(tiers_[i].remote ? counters_[key.space].remote_hits : counters_[key.space].local_hits);
    return found;
  }
  ++counters_[key.space].misses;
  return std::nullopt;
}

std::optional<Found> Cache::find_in(Tier& tier, const Key& key) {
  if (!tier.backend->usable()) return std::nullopt;
  std::string sealed, why;
  const Answer answer = tier.backend->get(key, sealed, why);
  if (answer == Answer::failed) failed(tier, why);
  if (answer != Answer::found) return std::nullopt;
  if (const std::optional<Entry> entry = unseal(key, sealed, why)) {
    const size_t at = size_t(entry->value.data() - sealed.data()), size = entry->value.size();
    return Found(std::move(sealed), at, size, tier.remote);
  }
  tier.backend->drop(key);
  found_damaged(key, tier.backend->name(), why);
  return std::nullopt;
}

void Cache::keep(const Key& key, const std::string& label, std::string_view value) {
  keep_sealed(key, seal(key, label, value));
}

void Cache::keep_sealed(const Key& key, std::string_view sealed) {
  const std::lock_guard lock(mutex_);
  bool kept = false;
  for (Tier& tier : tiers_) kept = put_in(tier, key, sealed) || kept;
  if (kept) ++counters_[key.space].puts;
}

bool Cache::put_in(Tier& tier, const Key& key, std::string_view sealed) {
  if (!tier.backend->usable()) return false;
  std::string why;
  if (tier.backend->put(key, sealed, why)) return true;
  failed(tier, why);
  return false;
}

void Cache::refuse(const Key& key, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (Tier& tier : tiers_)
    if (tier.backend->usable()) tier.backend->drop(key);
  found_damaged(key, tiers_.empty() ? "cache" : tiers_[0].backend->name(), why);
  ++counters_[key.space].misses;
}

void Cache::failed(Tier& tier, const std::string& why) {
  ++errors_;
  if (tier.warned) return;
  tier.warned = true;
  warnings_.push_back({tier.backend->name(),
                       fmt::format("the {}cache cannot be used: {}; the result does not depend on it",
                                   tier.remote ? "remote " : "", why),
                       ""});
}

void Cache::found_damaged(const Key& key, const std::string& where, const std::string& why) {
  ++damaged_;
  warnings_.push_back({where,
                       fmt::format("the entry {} of {} is damaged: {}; it was removed and is made anew",
                                   key.digest, space_name(key.space), why),
                       ""});
}

Counters Cache::counters(Space space) const {
  const std::lock_guard lock(mutex_);
  const auto found = counters_.find(space);
  return found == counters_.end() ? Counters{} : found->second;
}

uint64_t Cache::evictions() const {
  const std::lock_guard lock(mutex_);
  uint64_t all = 0;
  for (const Tier& tier : tiers_) all += tier.backend->evictions();
  return all;
}

uint64_t Cache::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

uint64_t Cache::damaged() const {
  const std::lock_guard lock(mutex_);
  return damaged_;
}

std::string Cache::json() const {
  Counters all;
  nlohmann::ordered_json spaces;
  for (const Space space : kSpaces) {
    const Counters c = counters(space);
    spaces[std::string(space_name(space))] = {
        {"local_hits", c.local_hits}, {"remote_hits", c.remote_hits}, {"misses", c.misses}, {"puts", c.puts}};
    all.local_hits += c.hits();
    all.misses += c.misses;
    all.puts += c.puts;
  }
  nlohmann::ordered_json json = {{"hits", all.hits()},       {"misses", all.misses}, {"puts", all.puts},
                                 {"evictions", evictions()}, {"damaged", damaged()}, {"errors", errors()}};
  json.update(spaces);
  return json.dump();
}

void Cache::report(Diag& diag) {
  const std::lock_guard lock(mutex_);
  for (const Warning& w : warnings_) diag.warning({}, w.where + ": " + w.message, w.help);
  warnings_.clear();
}

}  // namespace cs::cache
