// Strict YAML over yaml-cpp's event interface.
//
// 1. Events build our own tree, each node with its position; depth, node count and what aliases expand to are bounded,
//    so that no document can make a reader run away.
// 2. Duplicate keys, tags and a second document are errors at their position.
// 3. Typed reads and YamlMap report mismatches and unknown keys with the nearest known one.
#include "runtime/support/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "runtime/support/files.h"

namespace cs {

struct YamlNode::Data {
  YamlKind kind = YamlKind::null;
  SourceLoc loc;
  std::string text;
  bool quoted = false;
  std::vector<YamlNode> items;
  std::vector<std::pair<YamlNode, YamlNode>> entries;
  size_t expanded = 1;  // nodes below, aliases counted as often as they occur
};

namespace {

constexpr size_t kMaxBytes = size_t(64) << 20;
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxNodes = 4'000'000;

const std::string kEmptyText;
const std::vector<YamlNode> kNoItems;
const std::vector<std::pair<YamlNode, YamlNode>> kNoEntries;

struct Refused {  // thrown by the builder only, caught in parse_text
  SourceLoc loc;
  std::string message;
};

// Builds the tree from events. A frame is an open sequence or map; a map alternates key and value.
class Builder : public YAML::EventHandler {
 public:
  Builder(uint32_t file, Diag& diag) : file_(file), diag_(diag) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(YamlKind::null, mark, "", false, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool as_text = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!as_text) check_tag(mark, tag);
    leaf(YamlKind::scalar, mark, value, as_text, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw Refused{at(mark), "an alias must not stand inside the node it names"};
    attach(it->second.first, it->second.second, at(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(YamlKind::sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(YamlKind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

  static YamlNode nothing(uint32_t file) {
    auto data = std::make_shared<YamlNode::Data>();
    data->loc = {file, 1, 1};
    return YamlNode(data);
  }

  YamlNode root;

 private:
  struct Frame {
    std::shared_ptr<YamlNode::Data> data;
    YAML::anchor_t anchor = 0;
    YamlNode key;
    bool has_key = false;
    std::set<std::string> keys;
  };

  SourceLoc at(const YAML::Mark& mark) const {
    return {file_, uint32_t(std::max(mark.line, 0) + 1), uint32_t(std::max(mark.column, 0) + 1)};
  }
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused{at(mark), "YAML tags are not used here"};
  }
  void leaf(YamlKind kind, const YAML::Mark& mark, std::string text, bool quoted, YAML::anchor_t anchor) {
    auto data = std::make_shared<YamlNode::Data>();
    data->kind = kind;
    data->loc = at(mark);
    data->text = std::move(text);
    data->quoted = quoted;
    finish(data, anchor);
  }
  void open(YamlKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (frames_.size() >= kMaxDepth) {
      throw Refused{at(mark), fmt::format("nested deeper than {} levels", kMaxDepth)};
    }
    Frame frame;
    frame.data = std::make_shared<YamlNode::Data>();
    frame.data->kind = kind;
    frame.data->loc = at(mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }
  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    finish(frame.data, frame.anchor);
  }
  void finish(const std::shared_ptr<YamlNode::Data>& data, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = {YamlNode(data), data->expanded};
    attach(YamlNode(data), data->expanded, data->loc);
  }
  void attach(const YamlNode& node, size_t expanded, SourceLoc loc) {
    if (frames_.empty()) {
      root = node;
      return;
    }
    Frame& frame = frames_.back();
    frame.data->expanded += expanded;
    if (frame.data->expanded > kMaxNodes) {
      throw Refused{loc, fmt::format("more than {} nodes, aliases counted as often as they are used", kMaxNodes)};
    }
    if (frame.data->kind == YamlKind::sequence) {
      frame.data->items.push_back(node);
    } else if (!frame.has_key) {
      frame.key = node;
      frame.has_key = true;
    } else {
      frame.has_key = false;
      add_entry(frame, node);
    }
  }
  void add_entry(Frame& frame, const YamlNode& value) {
    if (!frame.key.is_scalar()) {
      diag_.error(frame.key.loc(), "a key must be a plain word");
    } else if (!frame.keys.insert(frame.key.text()).second) {
      diag_.error(frame.key.loc(), fmt::format("duplicate key '{}'", frame.key.text()), "keep one of the two");
    } else {
      frame.data->entries.emplace_back(frame.key, value);
    }
  }

  uint32_t file_;
  Diag& diag_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, std::pair<YamlNode, size_t>> anchors_;
};

std::string describe(const YamlNode& node) {
  switch (node.kind()) {
    case YamlKind::null: return "nothing";
    case YamlKind::sequence: return "a list";
    case YamlKind::map: return "a map";
    case YamlKind::scalar: break;
  }
  const std::string& text = node.text();
  return "'" + (text.size() > 40 ? text.substr(0, 40) + "..." : text) + "'";
}

bool mismatch(const YamlNode& node, const std::string& what, const char* wanted, Diag& diag) {
  diag.error(node.loc(), fmt::format("'{}' must be {}, got {}", what, wanted, describe(node)));
  return false;
}

bool parse_integer(std::string_view text, int64_t& v) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint64_t magnitude = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (ec != std::errc() || end != text.data() + text.size()) return false;
  if (magnitude > uint64_t(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0)) return false;
  v = negative ? int64_t(-magnitude) : int64_t(magnitude);
  return true;
}

bool parse_real(std::string_view text, double& v) {
  const bool negative = text.starts_with('-');
  std::string_view rest = text;
  if (negative || text.starts_with('+')) rest.remove_prefix(1);
  if (rest == ".inf" || rest == ".Inf" || rest == ".INF" || rest == "inf") {
    v = negative ? -INFINITY : INFINITY;
    return true;
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN" || text == "nan") {
    v = NAN;
    return true;
  }
  if (int64_t whole = 0; parse_integer(text, whole)) {
    v = double(whole);
    return true;
  }
  const bool digit = !rest.empty() && (rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9'));
  const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), v);
  if (!digit || ec != std::errc() || end != rest.data() + rest.size()) return false;
  if (negative) v = -v;
  return true;
}

}  // namespace

// ---- YamlNode

YamlKind YamlNode::kind() const { return data_ ? data_->kind : YamlKind::null; }
SourceLoc YamlNode::loc() const { return data_ ? data_->loc : SourceLoc{}; }
const std::string& YamlNode::text() const { return data_ ? data_->text : kEmptyText; }
bool YamlNode::quoted() const { return data_ && data_->quoted; }
const std::vector<YamlNode>& YamlNode::items() const { return data_ ? data_->items : kNoItems; }
const std::vector<std::pair<YamlNode, YamlNode>>& YamlNode::entries() const {
  return data_ ? data_->entries : kNoEntries;
}

const YamlNode* YamlNode::find(const std::string& key) const {
  for (const auto& [k, v] : entries()) {
    if (k.text() == key) return &v;
  }
  return nullptr;
}

bool YamlNode::read(int64_t& v, const std::string& what, Diag& diag) const {
  int64_t value = 0;
  if (!is_scalar() || quoted() || !parse_integer(text(), value)) return mismatch(*this, what, "a whole number", diag);
  v = value;
  return true;
}

bool YamlNode::read(int& v, const std::string& what, Diag& diag) const {
  int64_t wide = 0;
  if (!read(wide, what, diag)) return false;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    return mismatch(*this, what, "a number of 32 bits", diag);
  }
  v = int(wide);
  return true;
}

bool YamlNode::read(double& v, const std::string& what, Diag& diag) const {
  double value = 0;
  if (!is_scalar() || quoted() || !parse_real(text(), value)) return mismatch(*this, what, "a number", diag);
  v = value;
  return true;
}

bool YamlNode::read(bool& v, const std::string& what, Diag& diag) const {
  const bool is_true = text() == "true", is_false = text() == "false";
  if (!is_scalar() || quoted() || !(is_true || is_false)) return mismatch(*this, what, "true or false", diag);
  v = is_true;
  return true;
}

bool YamlNode::read(std::string& v, const std::string& what, Diag& diag) const {
  if (!is_scalar()) return mismatch(*this, what, "text", diag);
  v = text();
  return true;
}

// ---- YamlDoc

std::optional<YamlDoc> YamlDoc::parse_file(const std::string& path, Diag& diag) {
  std::optional<std::string> text = read_file(path, diag, kMaxBytes);
  if (!text) return std::nullopt;
  return parse_text(std::move(*text), path, diag);
}

std::optional<YamlDoc> YamlDoc::parse_text(std::string text, const std::string& name, Diag& diag) {
  const size_t errors = diag.errors();
  if (text.size() > kMaxBytes) {
    diag.error_at(name, fmt::format("the text has {} bytes, at most {} can be read", text.size(), kMaxBytes));
    return std::nullopt;
  }
  const uint32_t file = diag.sources.add(name, text);
  std::istringstream in(std::move(text));
  YamlDoc doc;
  try {
    YAML::Parser parser(in);
    Builder builder(file, diag);
    parser.HandleNextDocument(builder);
    // An empty text has a position too.
    doc.root_ = builder.root.loc().valid() ? builder.root : Builder::nothing(file);
    Builder second(file, diag);
    if (parser.HandleNextDocument(second)) {
      diag.error(second.root.loc(), "a second document in one file", "keep one document per file");
    }
  } catch (const Refused& r) {
    diag.error(r.loc, r.message);
  } catch (const YAML::Exception& e) {
    const SourceLoc loc{file, uint32_t(std::max(e.mark.line, 0) + 1), uint32_t(std::max(e.mark.column, 0) + 1)};
    diag.error(loc, "YAML syntax: " + e.msg);
  }
  if (diag.errors() != errors) return std::nullopt;
  return doc;
}

// ---- YamlMap

YamlMap::YamlMap(YamlNode node, std::string what, Diag& diag)
    : node_(std::move(node)), what_(std::move(what)), diag_(diag) {
  valid_ = node_.is_map();
  if (!valid_) mismatch(node_, what_, "a map of keys", diag_);
}

SourceLoc YamlMap::loc() const { return node_.loc(); }

const YamlNode* YamlMap::child(const std::string& key) {
  known_.push_back(key);
  return node_.find(key);
}

void YamlMap::missing(const std::string& key) {
  if (valid_) diag_.error(node_.loc(), fmt::format("'{}' needs the key '{}'", what_, key));
}

void YamlMap::finish() {
  for (const auto& [key, value] : node_.entries()) {
    if (std::find(known_.begin(), known_.end(), key.text()) != known_.end()) continue;
    const std::string near = nearest(key.text(), known_);
    diag_.error(key.loc(), fmt::format("unknown key '{}' in '{}'", key.text(), what_),
                near.empty() ? std::string() : fmt::format("did you mean '{}'?", near));
  }
}

}  // namespace cs
