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
  int why = 0;  // errno of the first failure

  // After a failure nothing more is tried: a disk that is full does not slow the run down.
  void flush() {
    if (file != nullptr && !buffer.empty() && !failed &&
        gzwrite(file, buffer.data(), unsigned(buffer.size())) <= 0) {
      failed = true;
      why = errno;
    }
    buffer.clear();
  }
};

TraceFile::TraceFile(std::string path, Diag& diag)
    : path_(std::move(path)), diag_(diag), impl_(std::make_unique<Impl>(path_)) {
  const bool compress = path_.ends_with(".gz");
  errno = 0;
  impl_->file = gzopen(impl_->temporary.path().c_str(), compress ? "wb1" : "wbT");
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
  bytes_ += text.size();
  impl_->buffer += text;
  if (impl_->buffer.size() >= 65536) impl_->flush();
}

bool TraceFile::commit() {
  if (impl_->file == nullptr) return false;
  impl_->flush();
  errno = 0;
  const bool closed = gzclose(impl_->file) == Z_OK;
  impl_->file = nullptr;
  if (impl_->failed || !closed) {
    if (impl_->why != 0) errno = impl_->why;
    fail("could not be written completely");
    return false;
  }
  std::string why;
  if (impl_->temporary.put_in_place(why)) return true;
  diag_.error_at(path_, "cannot be given its final name: " + why);
  return false;
}

}  // namespace cs::sim
