// See contraction_roles.h.
#include "compiler/kernels/contraction_roles.h"

#include <optional>

#include <fmt/format.h>

#include "compiler/autogen/contraction.h"
#include "compiler/autogen/elementwise.h"
#include "compiler/kernels/byte_weights.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

// Words of a tile of so many rows and columns in bytes.
int64_t byte_words(int rows, int columns) { return (int64_t(rows) * columns + 3) / 4; }

class Maker {
 public:
  Maker(const Choice& choice, const Setting& at, InstanceRoles& out)
      : choice_(choice), at_(at), cut_(at.cut), out_(out) {}

  void run() {
    for (const Span& s : columns(cut_)) {
      Place p = column_place(s, cut_);
      if (p.last) {
        for (int t : {0, 1, 2}) last_column(p, s, t);
      } else {
        bool ragged = cut_.m_last != cut_.m_slice;
        int upper = ragged ? cut_.h - 1 : cut_.h;
        p.last_row = false;
        if (upper > 0) role(p, s, 0, upper, column_name(p));
        p.last_row = true;
        if (ragged) role(p, s, upper, 1, column_name(p) + "_south");
      }
    }
  }

 private:
  // The last column sends in turns: 0 the northernmost PE, 1 those between, 2 the southernmost, which is the
  // exit.
  void last_column(Place p, const Span& s, int turn) {
    int row = turn == 0 ? 0 : turn == 1 ? 1 : cut_.h - 1;
    int rows = turn == 1 ? cut_.h - 2 : 1;
    if (rows < 1 || (turn == 0 && cut_.h == 1)) return;
    p.turns = cut_.h;
    p.turn = row;
    p.last_row = turn == 2;
    std::string name = column_name(p);
    if (cut_.h > 1) name += turn == 0 ? "_north" : turn == 1 ? "_middle" : "_exit";
    role(p, s, row, rows, name);
  }

  std::string weights() const { return choice_.work.native ? "@ptrcast([*]f16, &w)" : "&w"; }
  std::string sharding() const { return choice_.work.kind->sharding(choice_.work, cut_); }

  void role(const Place& p, const Span& s, int row, int rows, const std::string& suffix) {
    int n = n_here(p, cut_), m = p.last_row ? cut_.m_last : cut_.m_slice, padded = column_rows(choice_.work, m);
    Role role;
    role.name = at_.name + suffix;
    role.what = fmt::format("{}: {}; here {} outputs from {} inputs", choice_.title, sharding(), m, n);
    role.runs = {{at_.rect.x + s.first, at_.rect.y + row, s.count, s.step, rows}};
    if (choice_.work.bytes) {
      bytes(role, padded, n);
    } else if (choice_.work.native) {
      role.buffers.push_back({"w", padded / 2 * n + 1, true, at_.name + "_w",
                              "weights of 16 bits, column by column, behind two unused ones", "i32"});
    } else {
      role.buffers.push_back({"w", padded * n + 1, true, at_.name + "_w",
                              "weights, column by column, behind one unused element"});
    }
    if (p.first) role.buffers.push_back({"b", padded, false, at_.name + "_b", "bias"});
    if (choice_.row != nullptr) {
      library(p, role, m, padded, n);
    } else {
      generated(p, role, m, padded, n);
    }
    out_.roles.push_back(role);
  }

  // What multiplies by weights in bytes, on a y that it shares with the kernel.
  void bytes(Role& role, int padded, int n) {
    role.buffers.push_back({"w", int(byte_words(padded, n)), false, at_.name + "_w",
                            "weights as bytes, column by column, 128 added", "i32"});
    role.buffers.push_back({"s", padded, false, at_.name + "_s", "their scales"});
    role.buffers.push_back({"y", padded, true, "", "output"});
    role.modules.push_back({"byte_columns.csl",
                            "bytes",
                            {{"m", number(padded)},
                             {"n", number(n)},
                             {"q", "@ptrcast([*]u16, &w)"},
                             {"s", "&s"},
                             {"y", "&y"}},
                            {}});
  }

  void library(const Place& p, Role& role, int m, int padded, int n) {
    const std::string x = choice_.work.native ? "f16" : "f32";
    role.buffers.push_back({"x0", n, false, "", "input, two halves", x});
    role.buffers.push_back({"x1", n, false, "", "", x});
    if (!choice_.work.bytes) role.buffers.push_back({"y", padded, true, "", "output"});
    bool control_needed = p.turn >= 0 && p.turns > 1;
    ModuleUse use{std::string(choice_.row->file), "kernel", {}, {}};
    use.parameters = {{"m", number(padded)},
                      {"m_out", number(m)},
                      {"n", number(n)},
                      {"first", flag(p.first)},
                      {"last", flag(p.last)},
                      {"half", flag(choice_.work.half)},
                      {"w", choice_.work.bytes ? "&y" : weights()},
                      {"b", p.first ? "&b" : "&y"},
                      {"x0", "&x0"},
                      {"x1", "&x1"},
                      {"y", "&y"},
                      {"send_control", flag(control_needed)},
                      {"control", control_needed ? control(p) : "0"}};
    if (choice_.work.native) use.parameters.push_back({"native", "true"});
    const bool epilogue = p.last && choice_.expr.has_value();
    role.needs_no_epilogue = !epilogue;
    if (choice_.work.bytes) {
      const std::vector<Parameter> theirs = {
          {"multiply", "bytes.multiply"}, {"prepares", "true"}, {"prepare", "bytes.prepare"}};
      use.parameters.insert(use.parameters.end(), theirs.begin(), theirs.end());
    }
    use.parameters.push_back({"epilogue", epilogue ? "epilogue.run" : "no_epilogue"});
    if (epilogue) add_epilogue(role, m);
    add_chain_queues(at_, p, true, use);
    role.modules.push_back(use);
  }

  void add_epilogue(Role& role, int m) {
    ModuleUse module{
        at_.name + (m != cut_.m_slice ? "_epilogue_last.csl" : "_epilogue.csl"), "epilogue", {}, {}};
    module.parameters.push_back({"y", "&y"});
    if (choice_.epilogue != nullptr) {
      module.file = choice_.epilogue->epilogue;
      module.parameters.push_back({"n", number(m)});
    } else {
      add_constants(choice_, at_, m, module, role);
      autogen::ElementwiseSpec spec{choice_.title, sharding(), *choice_.expr, 1, choice_.expr_constants, m};
      out_.files[module.file] = autogen::epilogue_module(spec, at_.machine);
    }
    role.modules.push_back(module);
  }

  void generated(const Place& p, Role& role, int m, int padded, int n) {
    ModuleUse use{role.name + "_kernel.csl", "kernel", {{"w", weights()}}, {}};
    if (choice_.work.bytes)
      use.parameters = {{"y", "&y"}, {"multiply", "bytes.multiply"}, {"prepare", "bytes.prepare"}};
    if (p.first) use.parameters.push_back({"b", "&b"});
    autogen::ContractionSpec spec;
    spec.title = choice_.title;
    spec.sharding = sharding();
    spec.m = m;
    spec.m_padded = padded;
    spec.n = n;
    spec.first = p.first;
    spec.last = p.last;
    spec.send_control = p.turn >= 0 && p.turns > 1;
    spec.half = choice_.work.half;
    spec.native = choice_.work.native;
    spec.bytes = choice_.work.bytes;
    spec.epilogue = choice_.expr;
    spec.constants = choice_.expr_constants;
    if (spec.send_control) use.parameters.push_back({"control", control(p)});
    if (p.last) add_constants(choice_, at_, m, use, role);
    out_.files[use.file] = autogen::contraction_module(spec, at_.machine);
    add_chain_queues(at_, p, false, use);
    role.modules.push_back(use);
  }

  const Choice& choice_;
  const Setting& at_;
  const Cut& cut_;
  InstanceRoles& out_;
};

// The words of one PE of a part. Columns and lists of outputs are filled up with zeros to an even number.
class PeWords {
 public:
  PeWords(const PackedConstant& c, const Work& work, const Cut& cut, const CutPart& p)
      : values_(c.values),
        n_(work.n),
        m_slice_(cut.m_slice),
        n_slice_(cut.n_slice),
        padded_(column_rows(work, p.m)),
        p_(p) {}

  void matrix(size_t pe, std::vector<uint32_t>& words) const {
    words.push_back(0);
    for (int j = 0; j < p_.n; ++j) {
      values_.append_floats(first_row(pe) * n_ + first_column(pe) + j, p_.m, n_, words);
      words.resize(words.size() + size_t(padded_ - p_.m));
    }
  }

  void halves(size_t pe, std::vector<uint32_t>& words) const {
    words.push_back(0);
    std::vector<uint16_t> column;
    for (int j = 0; j < p_.n; ++j) {
      column.clear();
      values_.append_halves(first_row(pe) * n_ + first_column(pe) + j, p_.m, n_, column);
      column.resize(size_t(padded_));
      for (size_t i = 0; i < column.size(); i += 2)
        words.push_back(uint32_t(column[i]) | uint32_t(column[i + 1]) << 16);
    }
  }

  // As byte_columns.csl reads them.
  void bytes(const std::vector<float>& scales, size_t pe, std::vector<uint32_t>& words) const {
    std::vector<uint8_t> bytes;
    std::vector<float> column(static_cast<size_t>(p_.m));
    for (int j = 0; j < p_.n; ++j) {
      values_.copy(first_row(pe) * n_ + first_column(pe) + j, p_.m, n_, column.data());
      for (int i = 0; i < p_.m; ++i)
        bytes.push_back(uint8_t(byte_of(column[size_t(i)], scales[size_t(first_row(pe) + i)]) + kZero));
      bytes.resize(bytes.size() + size_t(padded_ - p_.m), kZero);
    }
    bytes.resize(size_t(4 * byte_words(padded_, p_.n)));
    for (size_t i = 0; i < bytes.size(); i += 4)
      words.push_back(uint32_t(bytes[i]) | uint32_t(bytes[i + 1]) << 8 | uint32_t(bytes[i + 2]) << 16 |
                      uint32_t(bytes[i + 3]) << 24);
  }

  void per_output(size_t pe, std::vector<uint32_t>& words) const {
    values_.append_floats(first_row(pe), p_.m, 1, words);
  }

 private:
  static constexpr uint8_t kZero = 128;
  int64_t first_row(size_t pe) const { return int64_t(p_.row + int(pe) / p_.columns) * m_slice_; }
  int64_t first_column(size_t pe) const { return int64_t(p_.column + int(pe) % p_.columns) * n_slice_; }

  const ConstantView values_;
  const int64_t n_;
  const int m_slice_, n_slice_, padded_;
  const CutPart p_;
};

class Packer {
 public:
  Packer(const Work& work, const Cut& cut, std::vector<PackedPart>& out)
      : work_(work), cut_(cut), out_(out) {}

  void matrix(const PackedConstant& c) {
    for (const CutPart& p : parts_of(cut_)) {
      add(c, p, 4 * (padded(p) * p.n + 1),
          [w = PeWords(c, work_, cut_, p)](size_t pe, auto& words) { w.matrix(pe, words); });
    }
  }

  void matrix_of_halves(const PackedConstant& c) {
    for (const CutPart& p : parts_of(cut_)) {
      add(c, p, 4 * (int64_t(padded(p)) / 2 * p.n + 1),
          [w = PeWords(c, work_, cut_, p)](size_t pe, auto& words) { w.halves(pe, words); });
    }
  }

  void matrix_of_bytes(const PackedConstant& c, const std::vector<float>& scales) {
    for (const CutPart& p : parts_of(cut_)) {
      add(c, p, 4 * byte_words(padded(p), p.n),
          [w = PeWords(c, work_, cut_, p), scales](size_t pe, auto& words) { w.bytes(scales, pe, words); });
    }
  }

  // One value per output, in one column or in all of them.
  void per_output(const PackedConstant& c, std::optional<int> column) {
    for (CutPart p : parts_of(cut_)) {
      if (column && !in_column(p, *column)) continue;
      add(c, p, 4 * padded(p), [w = PeWords(c, work_, cut_, p), rest = padded(p) - p.m](size_t pe, auto& words) {
        w.per_output(pe, words);
        words.resize(words.size() + size_t(rest));
      });
    }
  }

  // In the last column, where results are complete.
  void of_epilogue(const PackedConstant& c) {
    for (CutPart p : parts_of(cut_)) {
      if (!in_column(p, cut_.w - 1)) continue;
      add(c, p, 4 * (p.m + 1), [w = PeWords(c, work_, cut_, p)](size_t pe, auto& words) {
        words.push_back(0);
        w.per_output(pe, words);
      });
    }
  }

 private:
  int padded(const CutPart& p) const { return column_rows(work_, p.m); }
  // Takes away the others.
  static bool in_column(CutPart& p, int column) {
    if (column < p.column || column >= p.column + p.columns) return false;
    p.column = column, p.columns = 1;
    return true;
  }
  void add(const PackedConstant& c, const CutPart& p, int64_t bytes,
           std::function<void(size_t, std::vector<uint32_t>&)> append) {
    out_.push_back({c.name, {p.column, p.row, p.columns, p.rows}, uint32_t(bytes), std::move(append)});
  }

  const Work& work_;
  const Cut& cut_;
  std::vector<PackedPart>& out_;
};

}  // namespace

void contraction_roles(const Choice& choice, const Setting& at, InstanceRoles& out) {
  Maker(choice, at, out).run();
}

std::vector<PackedPart> pack_contraction(const Choice& choice, const Cut& cut) {
  std::vector<PackedPart> list;
  Packer packer(choice.work, cut, list);
  const std::vector<float> scales =
      choice.work.bytes ? choice.constants.front().values.floats() : std::vector<float>{};
  for (const PackedConstant& c : choice.constants) {
    if (c.name == "w" && choice.work.bytes) {
      packer.matrix_of_bytes(c, scales);
    } else if (c.name == "w" && choice.work.native) {
      packer.matrix_of_halves(c);
    } else if (c.name == "w") {
      packer.matrix(c);
    } else if (c.name == "s") {
      packer.per_output(c, std::nullopt);
    } else if (c.name == "b") {
      packer.per_output(c, 0);
    } else {
      packer.of_epilogue(c);
    }
  }
  return list;
}

}  // namespace cs::kernels
