// Strict YAML: every key is known, every value has its type, every complaint has line and column.
//
// yaml-cpp parses; this reader adds positions, unknown keys with "did you mean", duplicate keys and type errors.
// The only home of yaml-cpp is yaml.cpp beside this header.
//
//   YamlDoc doc = YamlDoc::parse_file(path, diag);
//   YamlMap m(doc.root(), "machine", diag);
//   m.required("name", name);  m.optional("clock_mhz", clock);  m.finish();   // finish() reports unknown keys
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/support/diag.h"

namespace cs {

enum class YamlKind : uint8_t { null, scalar, sequence, map };

// One node of a parsed document with its position. Plain data; copies are cheap (shared).
class YamlNode {
 public:
  YamlNode() = default;
  YamlKind kind() const;
  SourceLoc loc() const;
  bool is_null() const { return kind() == YamlKind::null; }
  bool is_scalar() const { return kind() == YamlKind::scalar; }
  bool is_sequence() const { return kind() == YamlKind::sequence; }
  bool is_map() const { return kind() == YamlKind::map; }
  // Scalar text as written; `quoted` tells "8" from 8.
  const std::string& text() const;
  bool quoted() const;
  // Sequence items.
  const std::vector<YamlNode>& items() const;
  // Map entries in file order; duplicate keys were already reported by the parser.
  const std::vector<std::pair<YamlNode, YamlNode>>& entries() const;
  const YamlNode* find(const std::string& key) const;

  // Typed reads of a scalar; report "must be a number, got 'eight'" and return false on mismatch.
  bool read(int64_t& v, const std::string& what, Diag&) const;
  bool read(int& v, const std::string& what, Diag&) const;
  bool read(double& v, const std::string& what, Diag&) const;
  bool read(bool& v, const std::string& what, Diag&) const;
  bool read(std::string& v, const std::string& what, Diag&) const;
  template <typename T>
  bool read(std::vector<T>& v, const std::string& what, Diag& diag) const {
    if (!is_sequence()) {
      diag.error(loc(), "'" + what + "' must be a list");
      return false;
    }
    v.clear();
    for (const YamlNode& item : items()) {
      T x{};
      if (!item.read(x, what, diag)) return false;
      v.push_back(std::move(x));
    }
    return true;
  }

  struct Data;
  explicit YamlNode(std::shared_ptr<const Data> d) : data_(std::move(d)) {}

 private:
  std::shared_ptr<const Data> data_;
};

class YamlDoc {
 public:
  // Parses; on a syntax error reports it and returns nothing. Aliases, depth and size are bounded (no bombs).
  static std::optional<YamlDoc> parse_file(const std::string& path, Diag&);
  static std::optional<YamlDoc> parse_text(std::string text, const std::string& name, Diag&);
  const YamlNode& root() const { return root_; }

 private:
  YamlNode root_;
};

// Reads a map key by key and, in finish(), reports every key that nobody asked for.
class YamlMap {
 public:
  YamlMap(YamlNode node, std::string what, Diag& diag);
  bool valid() const { return valid_; }
  SourceLoc loc() const;
  // The child under `key` or nullptr; marks the key as known.
  const YamlNode* child(const std::string& key);
  template <typename T>
  bool required(const std::string& key, T& v) {
    const YamlNode* n = child(key);
    if (n == nullptr) {
      missing(key);
      return false;
    }
    return n->read(v, key, diag_);
  }
  template <typename T>
  bool optional(const std::string& key, T& v) {
    const YamlNode* n = child(key);
    return n == nullptr || n->read(v, key, diag_);
  }
  void finish();  // reports unknown keys with the nearest known one

 private:
  void missing(const std::string& key);
  YamlNode node_;
  std::string what_;
  Diag& diag_;
  bool valid_ = false;
  std::vector<std::string> known_;
};

// The candidate nearest to `word` by edit distance, empty if none is near enough to be worth suggesting.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
// A scalar as YAML text, quoted when it would not read back as the same string.
std::string yaml_quote(const std::string& s);

}  // namespace cs
