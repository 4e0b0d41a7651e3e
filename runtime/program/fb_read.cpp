// program.fb -> Program, from bytes that nobody vouches for.
//
// 1. FlatBuffers' own verifier proves that every offset stays inside the buffer; the number of tables it may visit is
//    bounded by the size, so that shared offsets cannot make it run for ever.
// 2. The version is checked, then everything is copied out; a budget bounds the copy, for the same reason.
// 3. Enumerations and mnemonics are checked here; every other relation is verify()'s business.
#include <fmt/format.h>

#include "program_generated.h"

#include "runtime/program/names.h"
#include "runtime/program/program.h"

namespace cs {
namespace {

Rect unpack(const fb::Rect& r) { return {r.x(), r.y(), r.w(), r.h()}; }

class Unpacker {
 public:
  Unpacker(uint64_t budget, const std::string& name, Diag& diag) : budget_(budget), name_(name), diag_(diag) {}

  bool program(const fb::Program& in, Program& out);

 private:
  void fail(const std::string& why) {
    if (ok_) diag_.error_at(name_, why, "the file is damaged or was not written by these tools; compile again");
    ok_ = false;
  }
  void spend(uint64_t bytes) {
    if (bytes > budget_) return fail("the parts of the file overlap");
    budget_ -= bytes;
  }
  std::string text(const flatbuffers::String* s) {
    if (s == nullptr) return {};
    spend(s->size());
    return ok_ ? s->str() : std::string();
  }
  template <typename E, size_t N>
  E word(const names::Table<N>& table, uint8_t value, const char* what) {
    if (value >= table.size()) fail(fmt::format("{} is {}, must be below {}", what, value, table.size()));
    return E(value);
  }
  // Copies a vector item by item.
  template <typename Item, typename Vector, typename Make>
  void items(const Vector* in, std::vector<Item>& out, Make make) {
    if (in == nullptr || !ok_) return;
    spend(uint64_t(in->size()) * sizeof(Item));
    if (!ok_) return;
    out.reserve(in->size());
    for (uint32_t i = 0; i < in->size() && ok_; ++i) out.push_back(make(*in->Get(i)));
  }
  void bytes(const flatbuffers::Vector<uint8_t>* in, std::vector<uint8_t>& out) {
    if (in == nullptr) return;
    spend(in->size());
    if (ok_) out.assign(in->begin(), in->end());
  }

  SwitchPosition position(const fb::Position& p) { return {p.valid(), p.rx(), p.tx()}; }
  FilterConfig filter(const fb::Filter& f) {
    return {word<FilterKind>(names::kFilterKinds, f.kind(), "a filter"), f.count_data(), f.count_control(),
            f.filter_control(), f.init_counter(), f.max_counter(), f.limit1(), f.limit2(), f.min_index(),
            f.max_index()};
  }
  RouteRun route(const fb::RouteRun& r) {
    const fb::RouteConfig& c = r.config();
    RouteRun out{unpack(r.rect()), r.color(), {}};
    out.config.positions = {position(c.p0()), position(c.p1()), position(c.p2()), position(c.p3())};
    out.config.current = c.current();
    out.config.ring_mode = c.ring_mode();
    out.config.pop_mode = word<PopMode>(names::kPopModes, c.pop_mode(), "a pop mode");
    out.config.teardown = c.teardown();
    out.config.swap_x = c.swap_x();
    out.config.swap_y = c.swap_y();
    out.config.filter = filter(c.filter());
    return out;
  }
  isa::Operand operand(const fb::Operand& a) {
    if (a.kind() > uint8_t(isa::OperandKind::label)) fail(fmt::format("an operand has the kind {}", a.kind()));
    return {isa::OperandKind(a.kind()), a.value(), 0};
  }
  isa::Inst inst(const fb::Inst& i) {
    if (i.mnemonic() >= ops_.size()) {
      fail(fmt::format("mnemonic {} of {}", i.mnemonic(), ops_.size()));
      return {};
    }
    return {ops_[i.mnemonic()], {operand(i.a0()), operand(i.a1()), operand(i.a2()), operand(i.a3())}};
  }
  TileProgram tile(const fb::Tile& t);
  void tile_names(const fb::Tile& t, TileProgram& out);
  void tile_registers(const fb::Tile& t, TileProgram& out);
  void mnemonics(const fb::Program& in);

  uint64_t budget_;
  const std::string& name_;
  Diag& diag_;
  bool ok_ = true;
  std::vector<isa::Op> ops_;
};

void Unpacker::mnemonics(const fb::Program& in) {
  if (in.mnemonics() == nullptr) return;
  for (const flatbuffers::String* m : *in.mnemonics()) {
    const std::string mnemonic = text(m);
    const auto op = isa::op_from_mnemonic(mnemonic);
    if (!op) fail(fmt::format("instruction '{}' is unknown to this version", mnemonic));
    ops_.push_back(op.value_or(isa::Op{}));
    if (!ok_) return;
  }
}

void Unpacker::tile_names(const fb::Tile& t, TileProgram& out) {
  items(t.tasks(), out.tasks, [&](const fb::TaskBinding& k) {
    return TaskBinding{word<TaskKind>(names::kTaskKinds, k.kind(), "a task kind"), k.id(), k.entry(),
                       word<TaskArgs>(names::kTaskArgs, k.args(), "task arguments"), text(k.name())};
  });
  items(t.symbols(), out.symbols, [&](const fb::Symbol& s) {
    return Symbol{text(s.name()), word<DataType>(names::kSymbolTypes, s.type(), "a type"), s.address(), s.elements(),
                  s.is_mutable(), s.pointer()};
  });
  items(t.functions(), out.functions, [&](const fb::Function& f) {
    Function function{text(f.name()), f.entry(), {}};
    items(f.parameters(), function.parameters, [&](const fb::Parameter& p) {
      return Parameter{word<DataType>(names::kSymbolTypes, p.type(), "a type"), p.address()};
    });
    return function;
  });
  items(t.files(), out.files, [&](const flatbuffers::String& f) { return text(&f); });
}

void Unpacker::tile_registers(const fb::Tile& t, TileProgram& out) {
  items(t.fifos(), out.fifos, [&](const fb::Fifo& f) {
    return FifoBinding{f.address(), f.bytes(), f.push(), f.pop(),
                       word<FifoAction>(names::kFifoActions, f.full(), "a FIFO's action"),
                       word<FifoAction>(names::kFifoActions, f.empty(), "a FIFO's action"), f.priority(),
                       word<isa::SimdMode>(names::kSimdModes, f.simd(), "a SIMD mode")};
  });
  items(t.dsrs(), out.dsrs, [](const fb::Dsr& d) {
    DsrInit dsr{d.file(), d.index(), {}, d.config()};
    for (size_t i = 0; i < dsr.words.size(); ++i) dsr.words[i] = d.words()->Get(uint32_t(i));
    return dsr;
  });
  items(t.config(), out.config, [](const fb::ConfigRegister& c) { return ConfigInit{c.address(), c.value()}; });
}

TileProgram Unpacker::tile(const fb::Tile& t) {
  TileProgram out;
  out.name = text(t.name());
  out.fp16 = word<Fp16Format>(names::kFp16Formats, t.fp16(), "a 16-bit format");
  out.code_address = t.code_address();
  items(t.code(), out.code, [&](const fb::Inst& i) { return inst(i); });
  items(t.segments(), out.segments, [&](const fb::Segment& s) {
    Segment segment{s.address(), {}};
    bytes(s.bytes(), segment.bytes);
    return segment;
  });
  items(t.sections(), out.sections, [&](const fb::Section& s) {
    return Section{text(s.name()), word<SectionKind>(names::kSectionKinds, s.kind(), "a section kind"), s.address(),
                   s.bytes()};
  });
  items(t.queues(), out.queues, [](const fb::QueueBinding& q) {
    return QueueBinding{q.output(), q.queue(), q.color(), q.priority()};
  });
  tile_registers(t, out);
  bytes(t.blocked(), out.blocked);
  bytes(t.unblocked(), out.unblocked);
  bytes(t.blocked_threads(), out.blocked_threads);
  bytes(t.activated(), out.activated);
  tile_names(t, out);
  items(t.lines(), out.lines, [](const fb::LineEntry& l) {
    return LineEntry{l.first(), l.file(), l.line(), l.column()};
  });
  return out;
}

bool Unpacker::program(const fb::Program& in, Program& out) {
  out.name = text(in.name());
  out.machine = text(in.machine());
  out.machine_text = text(in.machine_text());
  out.arch = word<Arch>(names::kArchs, in.arch(), "the architecture");
  out.fabric_width = in.fabric_width();
  out.fabric_height = in.fabric_height();
  if (in.user() != nullptr) out.user = unpack(*in.user());
  out.memcpy = in.memcpy();
  mnemonics(in);
  items(in.tiles(), out.tiles, [&](const fb::Tile& t) { return tile(t); });
  items(in.rects(), out.rects, [](const fb::TileRect& r) { return TileRect{unpack(r.rect()), r.tile()}; });
  items(in.routes(), out.routes, [&](const fb::RouteRun& r) { return route(r); });
  items(in.ports(), out.ports, [&](const fb::HostPort& h) {
    return HostPort{text(h.name()), h.input(), word<Port>(names::kPorts, h.side(), "a side"), h.position(), h.color()};
  });
  items(in.streams(), out.streams, [](const fb::HostStream& s) { return HostStream{s.color(), s.input()}; });
  items(in.exports(), out.exports, [&](const fb::ExportedName& e) {
    return ExportedName{text(e.name()), e.is_function(), word<DataType>(names::kSymbolTypes, e.type(), "a type"),
                        e.is_mutable()};
  });
  if (ok_ && in.has_host()) {
    std::vector<HostPort> none;
    out.host = host_part_from_yaml(text(in.host()), name_ + " (host part)", none, diag_);
    ok_ = ok_ && out.host.has_value();
  }
  return ok_;
}

}  // namespace

std::optional<Program> parse_program_bytes(std::string_view bytes, const std::string& name, Diag& diag) {
  const std::string help = "the file is damaged or was not written by these tools; compile again";
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(aligned.data()));
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  if (bytes.size() < 16 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !fb::ProgramBufferHasIdentifier(data)) {
    diag.error_at(name, fmt::format("is not a compiled program ({} bytes)", bytes.size()), help);
    return std::nullopt;
  }
  const auto max_tables = flatbuffers::uoffset_t(bytes.size() / 8 + 16);
  flatbuffers::Verifier verifier(data, bytes.size(), 64, max_tables);
  if (!fb::VerifyProgramBuffer(verifier)) {
    diag.error_at(name, "the file is truncated or corrupt: an offset in it leads nowhere", help);
    return std::nullopt;
  }
  const fb::Program& root = *fb::GetProgram(data);
  if (root.version() != Program::kFormatVersion) {
    diag.error_at(name, fmt::format("has format version {}, these tools read version {}", root.version(),
                                    Program::kFormatVersion), "compile again with these tools");
    return std::nullopt;
  }
  Program out;
  Unpacker unpacker(bytes.size() * 32 + (uint64_t(1) << 20), name, diag);
  if (!unpacker.program(root, out)) return std::nullopt;
  return out;
}

}  // namespace cs
