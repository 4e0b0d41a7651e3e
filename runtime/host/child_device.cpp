// Requests and their replies, and what becomes of a device whose process is gone.
#include "runtime/host/child_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/host/device_server.h"

extern char** environ;

namespace cs {

using wire::Frame;
using wire::Op;
using wire::Reader;
using wire::Writer;

namespace {

constexpr const char* kWhere = "simulator";

// -1 if the process cannot be started. Its stdin and stdout become the pipes, stderr stays ours.
pid_t start(const std::vector<std::string>& argv, int requests, int replies, bool own_group) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, requests, 0);
  posix_spawn_file_actions_adddup2(&actions, replies, 1);
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  // It shall end by signals even where this process has blocked them for itself.
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int group = own_group ? POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF : 0;
  posix_spawnattr_setflags(&attributes, short(group));
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : -1;
}

void put_pieces(Writer& w, std::span<const MemoryPiece> pieces) {
  w.put(uint32_t(pieces.size()));
  for (const MemoryPiece& p : pieces) {
    w.put(int32_t(p.pe.x));
    w.put(int32_t(p.pe.y));
    w.put(p.address);
    w.put(p.bytes);
  }
}

// A write to a pipe that nobody reads must be an error, not the end of this process.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() { old_ = signal(SIGPIPE, SIG_IGN); }
  ~IgnoreBrokenPipe() { signal(SIGPIPE, old_); }

 private:
  void (*old_)(int);
};

}  // namespace

std::unique_ptr<ChildDevice> ChildDevice::open(const ChildOptions& options, Diag& diag) {
  int requests[2], replies[2];
  if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0) {
    diag.error_at(kWhere, fmt::format("no pipe for it: {}", std::strerror(errno)));
    return nullptr;
  }
  std::vector<std::string> argv{options.program, options.folder, "--serve"};
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  const pid_t pid = start(argv, requests[0], replies[1], options.own_group);
  ::close(requests[0]);
  ::close(replies[1]);
  std::unique_ptr<ChildDevice> device(new ChildDevice(requests[1], replies[0], pid));
  if (pid < 0) {
    diag.error_at(kWhere, fmt::format("'{}' cannot be started", options.program));
    return nullptr;
  }
  if (options.started) options.started(pid);
  return device->greet(diag) ? std::move(device) : nullptr;
}

std::unique_ptr<ChildDevice> ChildDevice::connect(int to_child, int from_child, Diag& diag) {
  std::unique_ptr<ChildDevice> device(new ChildDevice(to_child, from_child, -1));
  return device->greet(diag) ? std::move(device) : nullptr;
}

ChildDevice::~ChildDevice() { close(); }

bool ChildDevice::close() {
  if (to_ >= 0) {
    flush_writes();
    ::close(to_);
    ::close(from_);
  }
  to_ = from_ = -1;
  if (pid_ < 0) return failure_.empty();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return failure_.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool ChildDevice::greet(Diag& diag) {
  Frame frame;
  std::string why;
  const wire::Received got = wire::read_frame(from_, frame, why);
  if (got == wire::Received::frame && frame.op == Op::error) {
    wire::unpack(frame.payload, diag);
    return false;
  }
  Reader r(frame.payload);
  if (got != wire::Received::frame || frame.op != Op::hello || r.get<uint32_t>() != wire::kMagic) {
    diag.error_at(kWhere, "it ended before it said anything" + (why.empty() ? "" : ": " + why));
    return false;
  }
  if (const auto version = r.get<uint32_t>(); version != wire::kVersion) {
    diag.error_at(kWhere,
                  fmt::format("it speaks protocol version {}, this tool version {}", version, wire::kVersion),
                  "install the tools together");
    return false;
  }
  now_ = r.get<Cycle>();
  auto machine = parse_machine(r.text(), "machine of the simulator", diag);
  auto program = parse_program_bytes(r.text(), "program of the simulator", diag);
  if (!machine || !program || !r.done()) return false;
  machine_ = std::move(*machine);
  program_ = std::move(*program);
  received_.resize(program_.ports.size());
  entered_.resize(program_.ports.size());
  return true;
}

bool ChildDevice::load(const Program& program, std::span<const uint8_t>, Diag& diag) {
  if (program == program_) return true;
  diag.error_at(kWhere, "it has loaded another program", "the folder changed while it was read: start again");
  return false;
}

void ChildDevice::lost(const std::string& why) {
  if (failure_.empty()) failure_ = why.empty() ? "the simulator's process has ended" : why;
}

bool ChildDevice::ask(Op op, std::string_view payload, Frame& reply, Diag& diag) {
  flush_writes();
  const IgnoreBrokenPipe ignore;
  std::string why;
  if (failure_.empty() && (to_ < 0 || !wire::write_frame(to_, op, payload))) lost("");
  if (failure_.empty() && wire::read_frame(from_, reply, why) != wire::Received::frame) lost(why);
  if (failure_.empty() && reply.op != op && reply.op != Op::error)
    lost("the simulator's answer is of another kind");
  if (!failure_.empty()) {
    diag.error_at(kWhere, failure_);
    return false;
  }
  if (reply.op != Op::error) return true;
  wire::unpack(reply.payload, diag);
  return false;
}

void ChildDevice::flush_writes() {
  if (pieces_.empty()) return;
  Writer w;
  put_pieces(w, pieces_);
  w.raw(written_);
  pieces_.clear();
  written_.clear();
  const IgnoreBrokenPipe ignore;
  if (failure_.empty() && !wire::write_frame(to_, Op::write, w.bytes())) lost("");
}

void ChildDevice::write(Coord pe, uint16_t address, std::span<const uint8_t> in) {
  pieces_.push_back({pe, address, uint32_t(in.size())});
  written_.insert(written_.end(), in.begin(), in.end());
  if (written_.size() + pieces_.size() * sizeof(MemoryPiece) > wire::kChunk) flush_writes();
}

void ChildDevice::write_many(std::span<const MemoryPiece> pieces, std::span<const uint8_t> bytes) {
  for (const MemoryPiece& p : pieces) {
    write(p.pe, p.address, bytes.first(p.bytes));
    bytes = bytes.subspan(p.bytes);
  }
}

void ChildDevice::read(Coord pe, uint16_t address, std::span<uint8_t> out) {
  const MemoryPiece piece{pe, address, uint32_t(out.size())};
  read_many({&piece, 1}, out);
}

// In parts, so that no frame grows beyond a chunk.
void ChildDevice::read_many(std::span<const MemoryPiece> pieces, std::span<uint8_t> bytes) {
  while (!pieces.empty()) {
    size_t count = 0, size = 0;
    while (count < pieces.size() && (count == 0 || size + count * sizeof(MemoryPiece) < wire::kChunk))
      size += pieces[count++].bytes;
    Writer w;
    put_pieces(w, pieces.first(count));
    Frame reply;
    Diag ignored;  // run() reports that the process is gone
    if (ask(Op::read, w.bytes(), reply, ignored) && reply.payload.size() == size)
      std::memcpy(bytes.data(), reply.payload.data(), size);
    else
      std::memset(bytes.data(), 0, size);
    pieces = pieces.subspan(count);
    bytes = bytes.subspan(size);
  }
}

bool ChildDevice::launch(const std::string& function, std::span<const uint32_t> args, Rect pes,
                         Cycle not_before, Diag& diag) {
  Writer w;
  w.text(function);
  w.words(args);
  w.rect(pes);
  w.put(not_before);
  Frame reply;
  return ask(Op::launch, w.bytes(), reply, diag);
}

std::vector<LaunchSpan> ChildDevice::launches() {
  Diag ignored;  // run() reports that the process is gone
  Frame reply;
  if (!ask(Op::launches, {}, reply, ignored)) return {};
  Reader r(reply.payload);
  std::vector<LaunchSpan> spans;
  for (auto left = r.get<uint32_t>(); left > 0 && r.ok(); --left) spans.push_back(wire::unpack_launch(r));
  return spans;
}

void ChildDevice::send(int port, std::span<const uint32_t> data, Cycle not_before) {
  Diag ignored;
  Frame reply;
  do {
    const auto part = data.first(std::min<size_t>(data.size(), wire::kChunk / 4));
    Writer w;
    w.put(uint32_t(port));
    w.put(not_before);
    w.words(part);
    ask(Op::send, w.bytes(), reply, ignored);
    data = data.subspan(part.size());
  } while (!data.empty());
}

Cycle ChildDevice::entered(int port, size_t i) const {
  const auto& list = entered_[size_t(port)];
  return i < list.size() ? list[i] : kNever;
}

void ChildDevice::watch(int port, size_t count) {
  Writer w;
  w.put(uint32_t(port));
  w.put(uint64_t(count));
  Diag ignored;
  Frame reply;
  ask(Op::watch, w.bytes(), reply, ignored);
}

bool ChildDevice::stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag& diag) {
  Writer w;
  w.put(color);
  w.rect(pes);
  w.words(data);
  w.put(not_before);
  Frame reply;
  return ask(Op::stream_to, w.bytes(), reply, diag);
}

bool ChildDevice::stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag& diag) {
  Writer w;
  w.put(color);
  w.rect(pes);
  w.put(per_pe);
  w.put(not_before);
  Frame reply;
  return ask(Op::stream_from, w.bytes(), reply, diag);
}

std::vector<std::vector<uint32_t>> ChildDevice::take_streamed(uint8_t color, Rect pes) {
  std::vector<std::vector<uint32_t>> words(size_t(pes.area()));
  Writer w;
  w.put(color);
  w.rect(pes);
  Diag ignored;
  Frame reply;
  if (!ask(Op::take_streamed, w.bytes(), reply, ignored)) return words;
  Reader r(reply.payload);
  for (std::vector<uint32_t>& list : words) list = r.words();
  return words;
}

void ChildDevice::take_events(Reader& r) {
  for (size_t port = 0; port < program_.ports.size(); ++port) {
    const auto count = r.get<uint32_t>();
    for (uint32_t i = 0; i < count && r.ok(); ++i) {
      if (program_.ports[port].input) {
        entered_[port].push_back(r.get<Cycle>());
        continue;
      }
      PortEvent e;
      e.data = r.get<uint32_t>();
      e.cycle = r.get<Cycle>();
      e.control = r.get<uint8_t>() != 0;
      received_[port].push_back(e);
    }
  }
}

RunStatus ChildDevice::run(const RunUntil& until) {
  Writer w;
  wire::pack(w, until);
  Frame reply;
  Diag diag;
  if (ask(Op::run, w.bytes(), reply, diag)) {
    Reader r(reply.payload);
    RunStatus status = wire::unpack_status(r);
    take_events(r);
    if (r.done()) {
      now_ = status.now;
      return status;
    }
    lost("the simulator's answer cannot be read");
  }
  if (failure_.empty()) lost(diag.to_string());
  return {StopReason::fault, now_, "simulator-lost", failure_};
}

}  // namespace cs
