// Copies and launches of a host part, in the order of its steps.
#include "runtime/host/copy_run.h"

#include <algorithm>
#include <map>

#include "runtime/host/aligned_inputs.h"
#include "runtime/host/copy_costs.h"
#include "runtime/host/samples.h"
#include "runtime/host/session.h"
#include "runtime/host/wavelets.h"

namespace cs {
namespace {

using Kind = HostStep::Kind;
using Tensors = std::map<std::string, ops::Tensor>;

// f(index in the tensor, index in the tiles), for every element of the tensor.
template <class F>
void for_elements(const Tiling& t, size_t elements, F&& f) {
  const size_t columns = size_t(t.columns), height = t.tile_rows, width = t.tile_columns,
               w = size_t(t.rect.w);
  std::vector<size_t> pes(size_t(t.rect.area()));  // that have the tiles, row by row
  for (size_t pe = 0; pe < pes.size(); ++pe) {
    const Coord tile = t.tile_of({int(pe % w), int(pe / w)});
    pes[size_t(tile.y) * w + size_t(tile.x)] = pe;
  }
  for (size_t i = 0; i < elements; ++i) {
    const size_t row = i / columns, column = i % columns;
    const size_t pe = pes[row / height * w + column / width];
    f(i, (pe * height + row % height) * width + column % width);
  }
}

// Two elements of 16 bits to a word, the first one below.
std::vector<uint32_t> in_words(const std::vector<uint32_t>& elements) {
  std::vector<uint32_t> words(elements.size() / 2);
  for (size_t i = 0; i < words.size(); ++i) words[i] = elements[2 * i] | elements[2 * i + 1] << 16;
  return words;
}

size_t words_of(const Tiling& t) { return size_t(t.rect.area()) * t.tile_rows * t.tile_columns; }

class CopyRun {
 public:
  CopyRun(Device& device, const ModelRunOptions& options, Diag& diag)
      : device_(device), host_(*device.program().host), session_(device), diag_(diag) {
    session_.set_max_cycles(options.max_cycles);
    for (const auto* list : {&host_.outputs, &host_.values})
      for (const HostTensor& t : *list) types_[t.name] = &t;
  }

  // The host makes the clones before it copies anything to the PEs. False: see the session's status.
  bool clone(const AlignedInputs& inputs, ModelRunResult& result) {
    for (const uint64_t bytes : inputs.clone_bytes) {
      const Cycle cycles = clone_cycles(device_.machine(), bytes);
      ++result.aligned_clones;
      result.clone_cycles += cycles;
      if (!session_.work(cycles)) return false;
    }
    return true;
  }

  // Every step for one sample. False: see the diagnostics, or the session's status.
  bool sample(Tensors& tensors) {
    for (const HostStep& step : host_.steps) {
      const Tiling& t = step.tiling;
      const uint32_t per_pe = t.tile_rows * t.tile_columns * std::max(1U, t.windows.planes);
      const Rect& user = device_.program().user;
      const Rect pes{t.rect.x - user.x, t.rect.y - user.y, t.rect.w, t.rect.h};
      std::vector<uint32_t> words;
      switch (step.kind) {
        case Kind::copy_in:
          if (!to_wavelets(step.tensor, tensors.at(step.tensor), words, diag_) ||
              !copy_in(step, pes, per_pe, words))
            return false;
          break;
        case Kind::launch:
          if (!launch(step.symbol)) return false;
          break;
        case Kind::copy_out: {
          std::vector<uint32_t> tiles;
          if (!session_.copy_from(step.symbol, pes, per_pe, tiles, HostOrder::row_major, diag_)) return false;
          ops::Tensor& out = tensors.emplace(step.tensor, tensor_type(*types_.at(step.tensor))).first->second;
          words.resize(size_t(out.elements()));
          join_tiles(t, tiles, words);
          for (size_t i = 0; i < words.size(); ++i) from_wavelet(words[i], out, i);
          break;
        }
        default:
          CS_CHECK(false, "streams beside copies, which verify() should have refused");
      }
    }
    return true;
  }

  const RunStatus& status() const { return session_.status(); }
  Cycle first_launch() const { return first_launch_; }
  std::vector<LaunchSpan> launches() const { return session_.launches(); }
  double host_seconds() const { return session_.host_seconds(); }

 private:
  bool launch(const std::string& function) {
    if (first_launch_ == kNever) first_launch_ = device_.now();
    return session_.launch(function, {}, diag_) && session_.wait(diag_);
  }

  bool copy_in(const HostStep& step, const Rect& pes, uint32_t per_pe, const std::vector<uint32_t>& words) {
    const Tiling& t = step.tiling;
    if (t.windows.planes > 0 && t.windows.by_rows)
      return session_.copy_to_rows(step.symbol, pes, per_pe, cut_into_windows(t, words), HostOrder::row_major,
                                   diag_);
    if (t.windows.planes > 0)
      return session_.copy_to_columns(step.symbol, pes, per_pe, cut_into_windows(t, words),
                                      HostOrder::row_major, diag_);
    const std::vector<uint32_t> tiles = cut_into_tiles(t, words);
    if (step.words)
      return session_.copy_to(step.symbol, pes, per_pe / 2, in_words(tiles), HostOrder::row_major, diag_);
    return session_.copy_to(step.symbol, pes, per_pe, tiles, HostOrder::row_major, diag_);
  }

  Device& device_;
  const HostPart& host_;
  Session session_;
  Diag& diag_;
  Cycle first_launch_ = kNever;
  std::map<std::string, const HostTensor*> types_;
};

}  // namespace

bool has_copies(const HostPart& host) {
  return std::any_of(host.steps.begin(), host.steps.end(), [](const HostStep& s) {
    return s.kind == Kind::copy_in || s.kind == Kind::launch || s.kind == Kind::copy_out;
  });
}

std::vector<uint32_t> cut_into_tiles(const Tiling& t, const std::vector<uint32_t>& words) {
  std::vector<uint32_t> tiles(words_of(t), 0);
  for_elements(t, words.size(), [&](size_t i, size_t at) { tiles[at] = words[i]; });
  return tiles;
}

std::vector<uint32_t> cut_into_windows(const Tiling& t, const std::vector<uint32_t>& words) {
  const Windows& in = t.windows;
  std::vector<uint32_t> list;
  for (int at = 0; at < (in.by_rows ? t.rect.h : t.rect.w); ++at) {
    for (uint32_t plane = 0; plane < in.planes; ++plane) {
      for (uint32_t i = 0; i < t.tile_rows * t.tile_columns; ++i) {
        const int64_t row = in.first_row + at * in.row_step + i / t.tile_columns;
        const int64_t column = in.first_column + i % t.tile_columns;
        const bool inside = row >= 0 && row < in.plane_rows && column >= 0 && column < t.columns;
        list.push_back(inside ? words[size_t((plane * in.plane_rows + row) * t.columns + column)] : 0);
      }
    }
  }
  return list;
}

void join_tiles(const Tiling& t, const std::vector<uint32_t>& tiles, std::vector<uint32_t>& words) {
  for_elements(t, words.size(), [&](size_t i, size_t at) { words[i] = tiles[at]; });
}

std::optional<ModelRunResult> run_copies(Device& device, std::span<const ArrayView> inputs, int samples,
                                         int given, const ModelRunOptions& options, Diag& diag) {
  const HostPart& host = *device.program().host;
  CopyRun run(device, options, diag);
  ModelRunResult result;
  AlignedInputs aligned;
  if (!align_inputs(host, inputs, aligned, diag)) return std::nullopt;
  inputs = aligned.views;
  std::vector<Tensors> done;
  const bool begun = run.clone(aligned, result);
  if (!begun) result.status = run.status();
  for (int s = 0; begun && s < samples; ++s) {
    Tensors tensors;
    for (const HostTensor& t : host.inputs)
      tensors.emplace(t.name, sample_of(t, find_view(inputs, t.name)->bytes, s, given));
    const bool ended = run.sample(tensors);
    if (!diag.ok()) return std::nullopt;
    result.status = run.status();
    if (!ended) break;
    result.samples = s + 1;
    result.sample_end.push_back(device.now());
    for (const HostTensor& t : host.inputs) tensors.erase(t.name);
    done.push_back(std::move(tensors));
    if (options.progress && !options.progress(device.now(), result.samples)) {
      result.status = {StopReason::interrupted, device.now(), "", "interrupted"};
      break;
    }
  }
  if (result.samples == samples) result.status = {StopReason::condition, device.now(), "", ""};
  result.cycles = device.now();
  result.launches = run.launches();
  result.host_seconds = run.host_seconds();
  if (result.samples > 0) result.latency_cycles = result.sample_end[0] - run.first_launch();
  for (const HostTensor& t : host.outputs)
    result.outputs.push_back(
        gather_samples(t, result.samples, [&](int s) { return &done[size_t(s)].at(t.name); }));
  return result;
}

}  // namespace cs
