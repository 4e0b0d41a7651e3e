// Checks of the host part: names, steps in an order that satisfies their dependences, constants inside
// symbols, rows of the kernel table inside the fabric.
#include <algorithm>
#include <bitset>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/program/names.h"
#include "runtime/program/verify_parts.h"

namespace cs {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 31;

class HostVerifier {
 public:
  explicit HostVerifier(const Verifier& v) : v_(v), p_(v.program), h_(*v.program.host) {
    for (const HostPort& port : p_.ports) ports_.emplace(port.name, &port);
    for (const HostTensor& t : h_.inputs)
      for (const Piece& p : t.pieces) cut_.emplace(p.tensor, &t);
    for (const HostTensor& t : h_.outputs)
      for (const Piece& p : t.pieces) joined_.emplace(p.tensor, &t), wholes_.emplace(t.name, &t);
  }

  void run() {
    if (h_.dtype != "fp32" && h_.dtype != "fp16" && h_.dtype != "bf16") {
      v_.error("host part", fmt::format("dtype '{}' is none of fp32, fp16, bf16", h_.dtype));
    }
    for (const HostTensor& t : h_.inputs) tensor(t);
    for (const HostTensor& t : h_.outputs) tensor(t);
    for (const HostTensor& t : h_.values) tensor(t);
    for (const HostConstant& c : h_.host_constants) host_constant(c);
    for (const Constant& c : h_.constants) constant(c);
    for (const HostState& s : h_.states) state(s);
    for (const HostScalar& s : h_.scalars) scalar(s);
    verify_pieces(v_);
    verify_promises(v_);
    steps();
    rows();
  }

 private:
  // -1: the shape is not usable.
  static int64_t elements(const HostTensor& t) {
    int64_t n = 1;
    for (const int64_t d : t.shape) {
      if (d < 0 || d > kMaxElements || (d > 0 && n > kMaxElements / d)) return -1;
      n *= d;
    }
    return n;
  }

  void tensor(const HostTensor& t) {
    const std::string where = fmt::format("tensor '{}'", t.name);
    if (t.name.empty() || !tensors_.insert(t.name).second)
      v_.error(where, "tensor names must be unique and not empty");
    by_name_.emplace(t.name, &t);
    if (elements(t) < 0)
      v_.error(where, fmt::format("its shape has a negative dimension or over {} elements", kMaxElements));
    if (t.sample_dim < kStackedSamples || t.sample_dim >= int(t.shape.size())) {
      v_.error(where, fmt::format("the sample dimension is {}, the rank {}", t.sample_dim, t.shape.size()));
    }
  }

  void host_constant(const HostConstant& c) {
    tensor(c.tensor);
    const int64_t n = elements(c.tensor);
    const uint64_t need = n < 0 ? 0 : uint64_t(n) * uint64_t(data_type_bytes(c.tensor.type));
    if (n >= 0 && need != c.bytes) {
      v_.error(fmt::format("constant '{}'", c.tensor.name),
               fmt::format("needs {} bytes, has {}", need, c.bytes));
    }
  }

  // A value of the host side, or null (reported).
  const HostTensor* value(const std::string& where, const std::string& name) {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) v_.error(where, fmt::format("there is no tensor '{}'", name));
    return it == by_name_.end() ? nullptr : it->second;
  }

  void state(const HostState& s) {
    const std::string where = fmt::format("state '{}'", s.name);
    if (s.name.empty() || !states_.insert(s.name).second)
      v_.error(where, "names of states must be unique and not empty");
    const HostTensor own{s.name, s.type, s.shape};
    const int64_t n = elements(own);
    if (n < 0 || n * data_type_bytes(s.type) >= kMaxElements)
      return v_.error(where, "its shape has a negative dimension or too many elements");
    s.on_host() ? host_state(where, s, n) : wafer_state(where, s, n);
    if (h_.copies > 1)
      v_.error(where, "a network of several copies, which take samples in turn, has no state");
  }

  void host_state(const std::string& where, const HostState& s, int64_t n) {
    const HostTensor *input = value(where, s.input), *output = value(where, s.output);
    if (input == nullptr || output == nullptr) return;
    begins(where, s.input);
    for (const HostTensor* t : {input, output})
      if (t->type != s.type || t->shape != s.shape)
        v_.error(where, fmt::format("tensor '{}' is of another type", t->name));
    if (s.bytes != uint64_t(n) * uint64_t(data_type_bytes(s.type)))
      v_.error(where, fmt::format("needs {} bytes, has {}", n * data_type_bytes(s.type), s.bytes));
  }

  // What its elements are, verify_weights() cannot say: whoever reads them looks whether they are in the
  // tensor.
  void wafer_state(const std::string& where, const HostState& s, int64_t n) {
    if (s.type != DataType::f32 && s.type != DataType::i32)
      v_.error(where, fmt::format("is {}, PEs keep words of f32 and i32", data_type_name(s.type)));
    if (n > 0 && s.parts.empty()) v_.error(where, "is on no PE");
    for (const StatePart& p : s.parts) constant({p.symbol, p.rect, p.bytes_per_pe, 0});
  }

  void scalar(const HostScalar& s) {
    const std::string where = fmt::format("scalar '{}'", s.input);
    const HostTensor* input = value(where, s.input);
    if (input == nullptr) return;
    begins(where, s.input);
    if (elements(*input) != 1 || !data_type_is_float(input->type))
      v_.error(where, "a number of each sample is one element in floating point");
  }

  // What a sample begins with is there before any step.
  void begins(const std::string& where, const std::string& name) {
    if (!ready_.emplace(name, all_copies()).second)
      v_.error(where, fmt::format("'{}' is there already", name));
  }

  void constant(const Constant& c) {
    const std::string where = fmt::format("constant of symbol '{}'", c.symbol);
    if (!inside(c.rect, p_.fabric_width, p_.fabric_height))
      return v_.error(where, "is not inside the fabric");
    int64_t covered = 0;
    std::set<uint32_t> reported;
    for (const TileRect& r : p_.rects) {
      if (!r.rect.intersects(c.rect) || r.tile >= p_.tiles.size()) continue;
      const int64_t w = std::min(r.rect.right(), c.rect.right()) - std::max(r.rect.x, c.rect.x);
      const int64_t h = std::min(r.rect.bottom(), c.rect.bottom()) - std::max(r.rect.y, c.rect.y);
      covered += int64_t(w) * h;
      const TileProgram& t = p_.tiles[r.tile];
      const Symbol* s = t.symbol(c.symbol);
      const uint64_t have = s == nullptr ? 0 : uint64_t(s->elements) * uint64_t(data_type_bytes(s->type));
      if (have < c.bytes_per_pe && reported.insert(r.tile).second) {
        v_.error(where, fmt::format("needs {} bytes per PE, tile program '{}' has {}", c.bytes_per_pe, t.name,
                                    have));
      }
    }
    if (covered != c.rect.area()) {
      v_.error(where, fmt::format("covers {} PEs, of which {} have a tile program", c.rect.area(), covered));
    }
  }

  // Copies of the network as bits.
  using Copies = std::bitset<kMostCopies>;
  Copies all_copies() const { return Copies().set() >> size_t(kMostCopies - std::clamp(h_.copies, 1, kMostCopies)); }
  Copies copies_of(const HostStep& s) const {
    return s.whole_batch ? all_copies() : Copies().set(size_t(s.copy));
  }

  // Where the tensor is there; of one that is put together, where all of its pieces are.
  Copies ready_in(const std::string& name) const {
    const auto whole = wholes_.find(name);
    const auto ready = ready_.find(name);
    if (whole == wholes_.end()) return ready == ready_.end() ? Copies() : ready->second;
    Copies all = all_copies();
    for (const Piece& p : whole->second->pieces)
      if (!wholes_.contains(p.tensor)) all &= ready_in(p.tensor);
    return all;
  }

  void uses(const std::string& where, const std::string& name, const HostStep& s) {
    if (!tensors_.contains(name)) return v_.error(where, fmt::format("there is no tensor '{}'", name));
    if ((copies_of(s) & ~ready_in(name)).any())
      v_.error(where, fmt::format("uses tensor '{}' before any step gives it{}", name, in_copy(s)));
    const auto cut = cut_.find(name);
    if (cut != cut_.end() && s.kind != HostStep::Kind::send)
      v_.error(where, fmt::format("uses '{}', a piece of '{}' that only streams take", name, cut->second->name));
  }
  void gives(const std::string& where, const std::string& name, const HostStep& s) {
    if (!tensors_.contains(name)) return v_.error(where, fmt::format("there is no tensor '{}'", name));
    if (wholes_.contains(name))
      return v_.error(where, fmt::format("gives tensor '{}', which is put together from its pieces", name));
    const auto joined = joined_.find(name);
    if (joined != joined_.end() && s.kind != HostStep::Kind::receive)
      v_.error(where, fmt::format("gives '{}', a piece of '{}' that only a stream brings", name, joined->second->name));
    Copies& ready = ready_[name];
    if ((ready & copies_of(s)).any())
      v_.error(where, fmt::format("gives tensor '{}', which is there already{}", name, in_copy(s)));
    ready |= copies_of(s);
  }
  std::string in_copy(const HostStep& s) const {
    return h_.copies > 1 && !s.whole_batch ? fmt::format(" in copy {} of the network", s.copy) : "";
  }
  void port(const std::string& where, const HostStep& s, bool input) {
    const auto it = ports_.find(s.port);
    if (it == ports_.end()) return v_.error(where, fmt::format("there is no port '{}'", s.port));
    if (it->second->input != input) {
      v_.error(where, fmt::format("port '{}' is an {} port", s.port, input ? "output" : "input"));
    }
    // A port carries one tensor: the host counts its wavelets to tell the samples apart.
    if (!used_ports_.insert(s.port).second)
      v_.error(where, fmt::format("port '{}' is used by two steps", s.port));
  }

  // What lies on the PEs: the symbol is there and has room, and the tiles cover the tensor.
  void copy(const std::string& where, const HostStep& s) {
    const auto it = by_name_.find(s.tensor);
    if (it == by_name_.end()) return;  // reported by uses() or gives()
    const Tiling& t = s.tiling;
    const DataType type = it->second->type;
    // Integers of 64 bits, if their values fit one, and truth values are words.
    const bool word =
        !data_type_is_float(type) && (data_type_bytes(type) > 4 || type == DataType::boolean);
    const int64_t element = word ? 4 : data_type_bytes(type);
    if (element != 2 && element != 4)
      v_.error(where,
               fmt::format(
                   "tensor '{}' is {}; only types of 16 and 32 bits, integers of 64 and truth values lie on PEs",
                   s.tensor, data_type_name(type)));
    if (t.windows.planes > 0) return windows(where, s, *it->second, element);
    const int64_t rows = (elements(*it->second) + t.columns - 1) / t.columns;
    if (t.columns > int64_t(t.tile_columns) * t.rect.w || rows > int64_t(t.tile_rows) * t.rect.h)
      v_.error(where, fmt::format("a matrix of {} x {} does not lie in {} x {} tiles of {} x {}", rows, t.columns,
                                  t.rect.h, t.rect.w, t.tile_rows, t.tile_columns));
    const int64_t bytes = element * int64_t(t.tile_rows) * int64_t(t.tile_columns);
    constant({s.symbol, t.rect, uint32_t(std::min<int64_t>(bytes, UINT32_MAX)), 0});
  }

  void windows(const std::string& where, const HostStep& s, const HostTensor& tensor, int64_t element) {
    const Tiling& t = s.tiling;
    if (s.kind != HostStep::Kind::copy_in)
      v_.error(where, "brings windows back; only tiles can be put together again");
    if (t.order != TileOrder::straight) v_.error(where, "has windows in an order that only tiles have");
    const double have = double(t.windows.planes) * double(t.windows.plane_rows) * double(t.columns);
    if (have != double(elements(tensor)))
      v_.error(where,
               fmt::format("{} planes of {} x {} are not the {} elements of tensor '{}'", t.windows.planes,
                           t.windows.plane_rows, t.columns, elements(tensor), s.tensor));
    const double bytes =
        double(element) * double(t.windows.planes) * double(t.tile_rows) * double(t.tile_columns);
    constant({s.symbol, t.rect, uint32_t(std::min(bytes, double(UINT32_MAX))), 0});
  }

  void launch(const std::string& where, const HostStep& s) {
    for (const ExportedName& e : p_.exports)
      if (e.is_function && e.name == s.symbol) return;
    v_.error(where, fmt::format("the program exports no function '{}'", s.symbol));
  }

  // Streams run beside each other, copies and launches one after the other: a program has one or the other.
  void kinds() {
    using Kind = HostStep::Kind;
    bool streams = false, copies = false;
    for (const HostStep& s : h_.steps) {
      const bool copy = s.kind == Kind::copy_in || s.kind == Kind::launch || s.kind == Kind::copy_out;
      (copy ? copies : streams) = true;
    }
    if (streams && copies) v_.error("host part", "has copies and launches beside streams and operators");
  }

  bool copy_exists(const std::string& where, int copy) {
    if (copy >= 0 && copy < std::min(h_.copies, kMostCopies)) return true;
    v_.error(where, fmt::format("belongs to copy {} of the network, of {}", copy, h_.copies));
    return false;
  }

  void copies() {
    if (h_.copies < 1 || h_.copies > kMostCopies)
      v_.error("host part", fmt::format("has {} copies of the network, 1 to {} are possible", h_.copies, kMostCopies));
    const auto launches = [](const HostStep& s) { return s.kind == HostStep::Kind::launch; };
    if (h_.copies > 1 && std::any_of(h_.steps.begin(), h_.steps.end(), launches))
      v_.error("host part",
               fmt::format("has {} copies of a network that is launched; only streams take turns", h_.copies));
  }

  void steps() {
    kinds();
    copies();
    for (const HostTensor& t : h_.inputs) begins("host part", t.name);
    for (const HostTensor& t : h_.inputs)
      for (const Piece& p : t.pieces) begins(fmt::format("tensor '{}'", t.name), p.tensor);
    for (const HostConstant& c : h_.host_constants) ready_[c.tensor.name] = all_copies();
    for (const auto& [name, whole] : joined_)
      if (ready_.contains(name))
        v_.error(fmt::format("tensor '{}'", whole->name), fmt::format("no stream brings its piece '{}'", name));
    for (size_t i = 0; i < h_.steps.size() && !v_.diag.full(); ++i) {
      const HostStep& s = h_.steps[i];
      const std::string where = fmt::format("host step {}", i);
      if (!copy_exists(where, s.copy)) continue;
      if (s.whole_batch && s.copy != 0)
        v_.error(where, fmt::format("takes the samples of all copies of the network, and names copy {}", s.copy));
      switch (s.kind) {
        case HostStep::Kind::send:
          port(where, s, true);
          uses(where, s.tensor, s);
          break;
        case HostStep::Kind::receive:
          port(where, s, false);
          gives(where, s.tensor, s);
          break;
        case HostStep::Kind::op:
          if (s.op.empty()) v_.error(where, "names no operator");
          for (const std::string& t : s.inputs) {
            if (!t.empty()) uses(where, t, s);  // "": an optional operand that is absent
          }
          for (const std::string& t : s.outputs) gives(where, t, s);
          break;
        case HostStep::Kind::copy_in:
          uses(where, s.tensor, s);
          copy(where, s);
          break;
        case HostStep::Kind::copy_out:
          gives(where, s.tensor, s);
          copy(where, s);
          break;
        case HostStep::Kind::launch:
          launch(where, s);
          break;
      }
    }
    for (const HostTensor& t : h_.outputs) {
      const Copies ready = ready_in(t.name);
      if (ready != all_copies())
        v_.error("host part", fmt::format("no step gives the output '{}'{}{}", t.name,
                                          t.pieces.empty() ? "" : ", all of its pieces",
                                          ready.any() ? " in every copy of the network" : ""));
    }
    for (const HostState& s : h_.states)
      if (s.on_host() && !ready_.contains(s.output))
        v_.error("host part", fmt::format("no step gives the state '{}'", s.output));
  }

  void rows() {
    std::set<std::string> kernels;
    for (const KernelRow& k : h_.kernels) {
      const std::string where = fmt::format("kernel '{}'", k.name);
      if (k.name.empty() || !kernels.insert(k.name).second) v_.error(where, "kernel names must be unique");
      copy_exists(where, k.copy);
      const bool on_host = k.rect == Rect{};
      if (!on_host && !inside(k.rect, p_.fabric_width, p_.fabric_height))
        v_.error(where, "is not inside the fabric");
      for (const int color : k.colors) {
        if (color < 0 || color >= v_.machine.router.colors)
          v_.error(where, fmt::format("uses the color {}", color));
      }
    }
    for (const OpRow& o : h_.ops) {
      for (const std::string& k : o.kernels) {
        if (!kernels.contains(k))
          v_.error(fmt::format("operator '{}'", o.name), fmt::format("no kernel '{}'", k));
      }
    }
  }

  const Verifier& v_;
  const Program& p_;
  const HostPart& h_;
  std::map<std::string, const HostPort*> ports_;
  std::map<std::string, const HostTensor*> by_name_;
  std::set<std::string> tensors_, used_ports_, states_;
  std::map<std::string, const HostTensor*> cut_, joined_;  // by piece: an input, an output
  std::map<std::string, const HostTensor*> wholes_;        // outputs in pieces
  std::map<std::string, Copies> ready_;  // tensors that are there, and in which copies of the network
};

}  // namespace

void verify_host(const Verifier& v) { HostVerifier(v).run(); }

bool verify_weights(const Program& p, uint64_t weights_bytes, Diag& diag) {
  if (!p.host) return true;
  const Machine unused;
  const Verifier v{p, unused, diag, diag.errors()};
  const auto fits = [&](const std::string& what, uint64_t offset, uint64_t need) {
    if (offset > weights_bytes || need > weights_bytes - offset) {
      v.error(what, fmt::format("needs bytes {} to {} of weights.bin, which has {}", offset, offset + need,
                                weights_bytes));
    }
  };
  for (const Constant& c : p.host->constants) {
    const uint64_t pes = uint64_t(std::max(c.rect.w, 0)) * uint64_t(std::max(c.rect.h, 0));
    fits(fmt::format("constant of symbol '{}'", c.symbol), c.offset, pes * c.bytes_per_pe);
  }
  for (const HostConstant& c : p.host->host_constants)
    fits("constant '" + c.tensor.name + "'", c.offset, c.bytes);
  for (const HostState& s : p.host->states) {
    fits("state '" + s.name + "'", s.offset, s.bytes);
    for (const StatePart& part : s.parts) {
      const uint64_t pes = uint64_t(std::max(part.rect.w, 0)) * uint64_t(std::max(part.rect.h, 0));
      fits("state '" + s.name + "'", part.elements, pes * part.bytes_per_pe);
    }
  }
  return v.ok();
}

}  // namespace cs
