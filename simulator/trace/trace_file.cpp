// zlib writes both forms: mode "T" is transparent (no compression). Text is gathered into pieces of 64 KB.
#include "simulator/trace/trace_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "runtime/support/temporaries.h"

namespace cs::sim {

struct TraceFile::Impl {
  explicit Impl(const std::string& path) : temporary(path) {}
  Temporary temporary;
  gzFile file = nullptr;
  std::string buffer;
  bool failed = false;

  void flush() {
    if (file != nullptr && !buffer.empty() && gzwrite(file, buffer.data(), unsigned(buffer.size())) <= 0)
      failed = true;
    buffer.clear();
  }
};

TraceFile::TraceFile(std::string path, Diag& diag)
    : path_(std::move(path)), diag_(diag), impl_(std::make_unique<Impl>(path_)) {
  const bool compress = path_.ends_with(".gz");
  errno = 0;
  impl_->file = gzopen(impl_->temporary.path().c_str(), compress ? "wb6" : "wbT");
  if (impl_->file == nullptr) fail("cannot be written");
}

TraceFile::~TraceFile() {
  if (impl_->file != nullptr) gzclose(impl_->file);
}

bool TraceFile::ok() const { return impl_->file != nullptr && !impl_->failed; }

void TraceFile::fail(const std::string& what) {
  impl_->failed = true;
  diag_.error_at(path_, what + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

void TraceFile::write(std::string_view text) {
  impl_->buffer += text;
  if (impl_->buffer.size() >= 65536) impl_->flush();
}

bool TraceFile::commit() {
  if (impl_->file == nullptr) return false;
  impl_->flush();
  const bool closed = gzclose(impl_->file) == Z_OK;
  impl_->file = nullptr;
  if (impl_->failed || !closed) {
    fail("could not be written completely");
    return false;
  }
  std::string why;
  if (impl_->temporary.put_in_place(why)) return true;
  diag_.error_at(path_, "cannot be given its final name: " + why);
  return false;
}

}  // namespace cs::sim
