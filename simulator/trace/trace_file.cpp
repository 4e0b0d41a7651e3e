// zlib writes both forms: mode "T" is transparent (no compression). Text is gathered into pieces of 64 KB.
#include "simulator/trace/trace_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace cs::sim {

struct TraceFile::Impl {
  gzFile file = nullptr;
  std::string buffer;
  bool failed = false, committed = false;

  void flush() {
    if (file != nullptr && !buffer.empty() && gzwrite(file, buffer.data(), unsigned(buffer.size())) <= 0)
      failed = true;
    buffer.clear();
  }
};

TraceFile::TraceFile(std::string path, Diag& diag)
    : path_(std::move(path)), diag_(diag), impl_(std::make_unique<Impl>()) {
  const bool compress = path_.ends_with(".gz");
  errno = 0;
  impl_->file = gzopen((path_ + ".part").c_str(), compress ? "wb6" : "wbT");
  if (impl_->file == nullptr) fail("cannot be written");
}

TraceFile::~TraceFile() {
  if (impl_->file != nullptr) gzclose(impl_->file);
  if (!impl_->committed) std::remove((path_ + ".part").c_str());
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
  if (std::rename((path_ + ".part").c_str(), path_.c_str()) != 0) {
    fail("cannot be given its final name");
    return false;
  }
  impl_->committed = true;
  return true;
}

}  // namespace cs::sim
