// Constants as PEs hold them. A contraction's rectangle falls into at most four parts with equal extents
// (ragged last row and column); the bias lives in the first column, constants of an epilogue in the last.
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

void put(std::vector<uint8_t>& weights, float value) {
  size_t at = weights.size();
  weights.resize(at + 4);
  std::memcpy(weights.data() + at, &value, 4);
}

struct Part {  // rows and columns of the rectangle with equal extents
  int row = 0, rows = 1, column = 0, columns = 1, m = 1, n = 1;
};

std::vector<Part> parts_of(const kernels::Cut& cut) {
  std::vector<Part> list;
  for (int south = 0; south < 2; ++south) {
    for (int east = 0; east < 2; ++east) {
      Part p;
      p.row = south != 0 ? cut.h - 1 : 0;
      p.rows = south != 0 ? 1 : cut.h - 1;
      p.column = east != 0 ? cut.w - 1 : 0;
      p.columns = east != 0 ? 1 : cut.w - 1;
      p.m = south != 0 ? cut.m_last : cut.m_slice;
      p.n = east != 0 ? cut.n_last : cut.n_slice;
      if (p.rows > 0 && p.columns > 0) list.push_back(p);
    }
  }
  return list;
}

class Packer {
 public:
  Packer(const Instance& inst, std::vector<uint8_t>& weights, std::vector<Constant>& rows)
      : inst_(inst), cut_(inst.plan.cut), weights_(weights), rows_(rows) {}

  void matrix(const PackedConstant& c) {
    for (const Part& p : parts_of(cut_)) {
      int padded = p.m + p.m % 2;
      begin(c, p, 4 * (padded * p.n + 1));
      for (int r = p.row; r < p.row + p.rows; ++r) {
        for (int q = p.column; q < p.column + p.columns; ++q) tile(c, p, r, q, padded);
      }
    }
  }

  // One value per output in the given column.
  void per_output(const PackedConstant& c, int column, bool pad) {
    for (Part p : parts_of(cut_)) {
      if (column < p.column || column >= p.column + p.columns) continue;
      p.column = column;
      p.columns = 1;
      int padded = pad ? p.m + p.m % 2 : p.m;
      begin(c, p, 4 * padded);
      for (int r = p.row; r < p.row + p.rows; ++r) {
        for (int i = 0; i < padded; ++i)
          put(weights_, i < p.m ? (*c.values)[size_t(r) * size_t(cut_.m_slice) + size_t(i)] : 0.0F);
      }
    }
  }

  // One value per element of a row of PEs.
  void per_element(const PackedConstant& c) {
    for (const Part& p : parts_of(cut_)) {
      if (p.row + p.rows != cut_.h) continue;
      begin(c, p, 4 * p.n);
      for (int q = p.column; q < p.column + p.columns; ++q) {
        for (int i = 0; i < p.n; ++i)
          put(weights_, (*c.values)[size_t(q) * size_t(cut_.n_slice) + size_t(i)]);
      }
    }
  }

  // The same values on every PE.
  void on_all(const PackedConstant& c) {
    Constant row;
    row.symbol = fmt::format("{}_{}", inst_.name, c.name);
    row.rect = inst_.rect;
    row.bytes_per_pe = uint32_t(4 * (*c.values).size());
    row.offset = weights_.size();
    rows_.push_back(row);
    for (int pe = 0; pe < inst_.rect.w * inst_.rect.h; ++pe) {
      for (float value : *c.values) put(weights_, value);
    }
  }

 private:
  void begin(const PackedConstant& c, const Part& p, int bytes) {
    Constant row;
    row.symbol = fmt::format("{}_{}", inst_.name, c.name);
    row.rect = {inst_.rect.x + p.column, inst_.rect.y + p.row, p.columns, p.rows};
    row.bytes_per_pe = uint32_t(bytes);
    row.offset = weights_.size();
    rows_.push_back(row);
  }

  void tile(const PackedConstant& c, const Part& p, int r, int q, int padded) {
    put(weights_, 0.0F);
    for (int j = 0; j < p.n; ++j) {
      for (int i = 0; i < padded; ++i) {
        const size_t row = size_t(r) * size_t(cut_.m_slice) + size_t(i);
        const size_t at = row * size_t(inst_.work.n) + size_t(q) * size_t(cut_.n_slice) + size_t(j);
        put(weights_, i < p.m ? (*c.values)[at] : 0.0F);
      }
    }
  }

  const Instance& inst_;
  const kernels::Cut& cut_;
  std::vector<uint8_t>& weights_;
  std::vector<Constant>& rows_;
};

}  // namespace

void pack_constants(const Instance& inst, std::vector<uint8_t>& weights, std::vector<Constant>& rows) {
  if (inst.region) return pack_region(inst, weights, rows);
  Packer packer(inst, weights, rows);
  bool contraction = inst.work.pattern == kernels::Pattern::contraction;
  for (const PackedConstant& c : inst.constants) {
    if (inst.work.pattern == kernels::Pattern::rows) {
      packer.on_all(c);
    } else if (c.name == "w") {
      packer.matrix(c);
    } else if (c.name == "b") {
      packer.per_output(c, 0, true);
    } else if (contraction) {
      packer.per_output(c, inst.plan.cut.w - 1, false);
    } else {
      packer.per_element(c);
    }
  }
}

}  // namespace cs::mapping
