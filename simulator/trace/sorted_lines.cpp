// An external merge sort. Pieces are unlinked as soon as they are open: whatever ends the process frees them.
#include "simulator/trace/sorted_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <queue>

namespace cs::sim {

struct SortedLines::Piece {
  FILE* file = nullptr;
  Key key;
  std::string line;

  ~Piece() {
    if (file != nullptr) fclose(file);
  }
  bool put(const Key& k, std::string_view text) {
    const uint32_t length = uint32_t(text.size());
    return fwrite(&k, sizeof k, 1, file) == 1 && fwrite(&length, sizeof length, 1, file) == 1 &&
           fwrite(text.data(), 1, length, file) == length;
  }
  bool next() {
    uint32_t length = 0;
    if (fread(&key, sizeof key, 1, file) != 1 || fread(&length, sizeof length, 1, file) != 1) return false;
    line.resize(length);
    return fread(line.data(), 1, length, file) == length;
  }
};

SortedLines::SortedLines(const std::string& path, Diag& diag, size_t piece)
    : file_(path, diag), diag_(diag), piece_(piece) {}

SortedLines::~SortedLines() = default;

void SortedLines::add(Key key, std::string_view line) {
  if (failed_) return;
  lines_.push_back({key, uint32_t(text_.size()), uint32_t(line.size())});
  text_ += line;
  bytes_ += line.size();
  if (text_.size() >= piece_) spill();
}

void SortedLines::sort() {
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.key < b.key; });
}

bool SortedLines::fail(int why) {
  failed_ = true;
  diag_.error_at(file_.path(), std::string("could not be written completely: ") + std::strerror(why));
  return false;
}

void SortedLines::spill() {
  sort();
  auto piece = std::make_unique<Piece>();
  std::string name = file_.path() + ".XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd >= 0) unlink(name.c_str());
  piece->file = fd < 0 ? nullptr : fdopen(fd, "w+b");
  bool good = piece->file != nullptr;
  for (const Line& l : lines_)
    good = good && piece->put(l.key, std::string_view(text_).substr(l.at, l.length));
  good = good && fflush(piece->file) == 0;
  if (!good) {
    fail(errno);
  } else {
    rewind(piece->file);
    spilled_.push_back(std::move(piece));
  }
  lines_.clear();
  text_.clear();
}

bool SortedLines::finish(std::string_view tail) {
  if (failed_) return false;
  sort();
  const auto later = [](const Piece* a, const Piece* b) { return a->key > b->key; };
  std::priority_queue<Piece*, std::vector<Piece*>, decltype(later)> open(later);
  for (const auto& piece : spilled_)
    if (piece->next()) open.push(piece.get());
  size_t at = 0;  // of the lines in memory
  while (!open.empty() || at < lines_.size()) {
    if (open.empty() || (at < lines_.size() && lines_[at].key < open.top()->key)) {
      const Line& l = lines_[at++];
      file_.write(std::string_view(text_).substr(l.at, l.length));
      continue;
    }
    Piece* piece = open.top();
    open.pop();
    file_.write(piece->line);
    if (piece->next())
      open.push(piece);
    else if (ferror(piece->file) != 0)
      return fail(errno);
  }
  file_.write(tail);
  return file_.commit();
}

}  // namespace cs::sim
