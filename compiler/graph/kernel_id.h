// Who makes a node: the identity of a kernel, or the host. Graphs know its printed name and nothing else; what
// kernels there are, and what each of them is, their registry says (compiler/kernels/kind.h).
#pragma once

#include <string>
#include <string_view>

namespace cs::graph {

// Interned: equal names are one identity, so that ids are compared and looked up by address.
class KernelId {
 public:
  KernelId() = default;  // not decided
  explicit KernelId(std::string_view name);
  static KernelId host();
  bool empty() const { return name_ == nullptr; }
  const std::string& name() const;
  bool operator==(const KernelId&) const = default;

 private:
  const std::string* name_ = nullptr;
};

}  // namespace cs::graph
