// The reader of .kgraph and the writer of .paint. Settings are in the first comment; then nodes and edges,
// one a line, in any order and spacing.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/mapping/kgraph.h"

namespace cs::mapping::kgraph {

namespace {

using Arguments = std::map<std::string, std::string>;  // keys in lower case

std::string trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return std::string(s);
}

std::optional<double> number(const std::string& text) {
  double v = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& path, Diag& diag)
      : text_(text), file_(diag.sources.add(path, text)), diag_(diag) {}

  std::optional<Graph> run() {
    std::string line, comment;
    bool in_comment = false, first = true;
    for (size_t i = 0; i <= text_.size(); ++i) {
      if (!in_comment && text_.compare(i, 2, "(*") == 0) {
        in_comment = true;
        ++i;
      } else if (in_comment && text_.compare(i, 2, "*)") == 0) {
        in_comment = false;
        if (first) settings(comment);
        first = false;
        ++i;
      } else if (in_comment) {
        comment += i < text_.size() ? text_[i] : ' ';
      } else if (i == text_.size() || text_[i] == '\n') {
        statement(trimmed(line));
        line.clear();
      } else {
        line += text_[i];
      }
      if (i < text_.size() && text_[i] == '\n') ++line_;
    }
    if (in_comment) error("a comment '(*' does not end");
    finish();
    return diag_.ok() ? std::optional(graph_) : std::nullopt;
  }

 private:
  void error(std::string message, std::string help = {}) {
    diag_.error({file_, std::min(line_, last_line()), 1}, std::move(message), std::move(help));
  }
  uint32_t last_line() const { return uint32_t(std::count(text_.begin(), text_.end(), '\n') + 1); }

  void settings(const std::string& comment) {
    std::map<std::string, double*> numbers = {
        {"wdeltat", &graph_.wdeltat}, {"wlength", &graph_.wlength}, {"wadapter", &graph_.wadapter}};
    double width = 0, height = 0, memlimit = 0;
    numbers["width"] = &width;
    numbers["height"] = &height;
    numbers["memlimit"] = &memlimit;
    size_t from = 0;
    while (from < comment.size()) {
      const size_t to = std::min(comment.find('\n', from), comment.size());
      const std::string row = trimmed(std::string_view(comment).substr(from, to - from));
      from = to + 1;
      const size_t equal = row.find('=');
      if (equal == std::string::npos) continue;
      const std::string key = trimmed(row.substr(0, equal)), value = trimmed(row.substr(equal + 1));
      if (key == "test") graph_.name = value;
      if (const auto it = numbers.find(key); it != numbers.end()) {
        const auto v = number(value);
        if (!v) error("setting '" + key + "' is '" + value + "', not a number");
        *it->second = v.value_or(0);
      }
    }
    if (width < 1 || height < 1 || width > 20000 || height > 20000 || memlimit < 1)
      error("the first comment must set width and height (1 to 20000) and memlimit");
    graph_.width = int(width);
    graph_.height = int(height);
    graph_.memlimit = int64_t(memlimit);
  }

  // "conv[ 3]" -> kind and id; false if it has another form.
  static bool reference(const std::string& text, std::string& kind, int& id) {
    const size_t open = text.find('['), close = text.find(']', open);
    if (open == std::string::npos || close == std::string::npos) return false;
    kind = trimmed(text.substr(0, open));
    const auto v = number(trimmed(text.substr(open + 1, close - open - 1)));
    id = v && *v >= 0 && *v < 1e9 ? int(*v) : -1;
    return !kind.empty() && id >= 0;
  }

  void statement(const std::string& line) {
    if (line.empty() || diag_.full()) return;
    std::string kind;
    int id = 0;
    if (const size_t arrow = line.find("->"); arrow != std::string::npos) {
      std::string other;
      int to = 0;
      if (!reference(line.substr(0, arrow), kind, id) || !reference(line.substr(arrow + 2), other, to))
        return error("an edge has the form KIND[ID]:port -> KIND[ID]:port, shape:[...]");
      edges_.push_back({{kind, id}, {other, to}, line_});
      return;
    }
    if (!reference(line, kind, id)) return error("a node has the form KIND[ID] key=value ...");
    const size_t after = line.find(']') + 1;
    if (kind == "input" || kind == "output") {
      outside_.insert({kind, id});
    } else if (kind == "conv" || kind == "dblock" || kind == "cblock") {
      add_kernel(kind, id, arguments(line.substr(after)));
    } else {
      error("unknown kind of kernel '" + kind + "'", "there are conv, dblock, cblock, input and output");
    }
  }

  static Arguments arguments(const std::string& text) {
    Arguments out;
    for (size_t i = 0; i < text.size();) {
      const size_t equal = text.find('=', i);
      if (equal == std::string::npos) break;
      std::string key = trimmed(text.substr(i, equal - i));
      for (char& c : key) c = char(std::tolower(static_cast<unsigned char>(c)));
      size_t from = equal + 1, to = 0;
      while (from < text.size() && text[from] == ' ') ++from;
      const char quote = from < text.size() ? text[from] : ' ';
      if (quote == '\'' || quote == '[') {
        to = std::min(text.find(quote == '[' ? ']' : '\'', from + 1), text.size());
        out[key] = text.substr(from + 1, to - from - 1);
        i = to + 1;
      } else {
        to = std::min(text.find_first_of(" \t", from), text.size());
        out[key] = trimmed(text.substr(from, to - from));
        i = to;
      }
    }
    return out;
  }

  void add_kernel(const std::string& kind, int id, const Arguments& args) {
    Kernel k{kind, {}, {}, {}};
    if (const auto it = args.find("name"); it != args.end()) k.name = it->second;
    const auto take = [&](const char* key) -> int64_t {
      const auto it = args.find(key);
      const auto v = it == args.end() ? std::nullopt : number(it->second);
      if (v && *v >= 1 && *v <= 1e6 && *v == double(int64_t(*v))) return int64_t(*v);
      error(fmt::format("{}[{}]: '{}' must be a whole number from 1 to a million", kind, id, key));
      return 1;
    };
    const int64_t h = take("h"), w = take("w");
    if (kind == "conv") {
      const int64_t r = take("r"), s = take("s"), c = take("c"), f = take("k"), t = take("t"), u = take("u");
      if (t != u)
        error(fmt::format("conv[{}]: strides T={} and U={} differ, which has no formula", id, t, u));
      k.formal = {h, w, c, f, r, s, t, u};
      k.convs = {{4 * h, 4 * w, 4 * c, 4 * f, r, s, t}};
    } else {
      const int64_t f = take("f");
      k.formal = {h, w, f};
      if (kind == "dblock")
        k.convs = {{4 * h, 4 * w, 4 * f, f, 1, 1, 1},
                   {4 * h, 4 * w, f, f, 3, 3, 1},
                   {4 * h, 4 * w, f, 4 * f, 1, 1, 1}};
      else
        k.convs = {{4 * h, 4 * w, 2 * f, f, 1, 1, 1},
                   {4 * h, 4 * w, f, f, 3, 3, 2},
                   {2 * h, 2 * w, f, 4 * f, 1, 1, 1},
                   {4 * h, 4 * w, 2 * f, 4 * f, 1, 1, 2}};
    }
    if (!ids_.emplace(std::pair{kind, id}, int(graph_.kernels.size())).second)
      error(fmt::format("{}[{}] is there twice", kind, id));
    graph_.kernels.push_back(std::move(k));
  }

  void finish() {
    std::set<std::string> names;
    for (const Kernel& k : graph_.kernels)
      if (k.name.empty() || !names.insert(k.name).second)
        error("kernels need names of their own: '" + k.name + "'");
    if (graph_.kernels.empty()) error("the graph has no kernels");
    for (const Edge& e : edges_) {
      line_ = e.line;
      int ends[2] = {-1, -1};
      for (int i = 0; i < 2; ++i) {
        const auto& end = i == 0 ? e.from : e.to;
        if (const auto it = ids_.find(end); it != ids_.end())
          ends[i] = it->second;
        else if (!outside_.contains(end))
          error(fmt::format("there is no node {}[{}]", end.first, end.second));
      }
      if (ends[0] >= 0 && ends[1] >= 0) graph_.wires.emplace_back(ends[0], ends[1]);
    }
  }

  using Key = std::pair<std::string, int>;
  struct Edge {
    Key from, to;
    uint32_t line = 0;
  };
  const std::string& text_;
  uint32_t file_, line_ = 1;
  Diag& diag_;
  Graph graph_;
  std::map<Key, int> ids_;
  std::set<Key> outside_;
  std::vector<Edge> edges_;
};

}  // namespace

std::optional<Graph> read_graph(const std::string& text, const std::string& path, Diag& diag) {
  return Reader(text, path, diag).run();
}

std::string paint_text(const Graph& g, const Solution& solution) {
  std::string out;
  for (size_t i = 0; i < g.kernels.size(); ++i) {
    const Kernel& k = g.kernels[i];
    const Placed& p = solution[i];
    out += fmt::format("{} = {}( {} {} )\n{} : place({} {} {})\n", k.name, k.kind, fmt::join(k.formal, " "),
                       fmt::join(p.execution, " "), k.name, p.x, p.y, p.turned ? "R90" : "R0");
  }
  return out;
}

}  // namespace cs::mapping::kgraph
