// The names that were seen, which stay where they are.
#include "compiler/graph/kernel_id.h"

#include <mutex>
#include <set>

namespace cs::graph {

namespace {

const std::string* interned(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = names.find(name);
  return found != names.end() ? &*found : &*names.emplace(name).first;
}

}  // namespace

KernelId::KernelId(std::string_view name) : name_(name.empty() ? nullptr : interned(name)) {}

KernelId KernelId::host() {
  static const KernelId id("host");
  return id;
}

const std::string& KernelId::name() const {
  static const std::string none;
  return name_ == nullptr ? none : *name_;
}

}  // namespace cs::graph
