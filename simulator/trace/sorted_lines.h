// SortedLines: a text file whose lines come in any order and leave sorted, in bounded memory.
//
// A piece of lines is sorted when it is full and goes to an unnamed temporary beside the file; finish()
// merges the pieces. A run of any length needs the memory of one piece, and twice the disk of its log.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/device.h"
#include "simulator/trace/trace_file.h"

namespace cs::sim {

class SortedLines {
 public:
  struct Key {
    Cycle cycle = 0;
    uint32_t pe = 0;     // row by row
    uint32_t order = 0;  // among those of one cycle and PE
    auto operator<=>(const Key&) const = default;
  };
  // `piece`: bytes of text that are sorted at once.
  SortedLines(const std::string& path, Diag&, size_t piece = size_t(32) << 20);
  ~SortedLines();

  bool ok() const { return file_.ok() && !failed_; }
  void head(std::string_view text) { file_.write(text); }
  void add(Key, std::string_view line);  // with its end of line
  uint64_t bytes() const { return bytes_; }
  size_t pieces() const { return spilled_.size(); }
  // Sorted lines, then `tail`; the file has its name only now.
  bool finish(std::string_view tail);

 private:
  struct Line {
    Key key;
    uint32_t at = 0, length = 0;
  };
  struct Piece;  // lines on disk, read in order
  void sort();
  void spill();
  bool fail(int why);

  TraceFile file_;
  Diag& diag_;
  size_t piece_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<std::unique_ptr<Piece>> spilled_;
  uint64_t bytes_ = 0;
  bool failed_ = false;
};

}  // namespace cs::sim
