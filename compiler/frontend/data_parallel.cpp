// The keys, buckets, and three ways to add up.
#include "compiler/frontend/data_parallel.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/frontend/dropout.h"
#include "compiler/frontend/training_values.h"
#include "compiler/graph/expand.h"
#include "runtime/ops/steps.h"

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::ValueId;

constexpr int64_t kMostReplicas = 64;
constexpr std::string_view kFusions[] = {"off", "concat", "coalesced"};

int64_t bytes_of(const Graph& g, const ReplicatedGradient& r) {
  const ops::TensorType& type = g.value(r.of_replica.front()).type;
  return type.bytes();
}
DataType type_of(const Graph& g, const ReplicatedGradient& r) {
  return g.value(r.of_replica.front()).type.dtype;
}

// Neighbours first: the same tree whatever is between them.
std::string sum_of(ops::Steps& s, std::vector<std::string> terms) {
  while (terms.size() > 1) {
    std::vector<std::string> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) next.push_back(s.add("add", {terms[i], terms[i + 1]}));
    if (terms.size() % 2 != 0) next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms.front();
}

class Reduction {
 public:
  Reduction(Graph& g, const DataParallel& how, std::span<const ReplicatedGradient> gradients, Diag& diag)
      : g_(g), how_(how), gradients_(gradients), diag_(diag), reduced_(gradients.size()) {}

  bool run(std::vector<ValueId>& reduced) {
    if (how_.fusion == GradientFusion::off) {
      for (size_t k = gradients_.size(); k-- > 0;)
        if (!reduce(fmt::format("gradient_{}", gradients_[k].name), {k}, &Reduction::apart)) return false;
    } else {
      const auto way =
          how_.fusion == GradientFusion::concat ? &Reduction::as_one_vector : &Reduction::in_one_kernel;
      int number = 0;
      for (const std::vector<size_t>& bucket : gradient_buckets(g_, gradients_, how_.bucket_bytes))
        if (!reduce(fmt::format("bucket{}", number++), bucket, way)) return false;
    }
    reduced = reduced_;
    return true;
  }

 private:
  using Bucket = std::vector<size_t>;
  using Way = void (Reduction::*)(const Bucket&, std::vector<ops::DecompositionStep>&);

  static std::string operand(size_t gradient, size_t replica) {
    return fmt::format("g{}.{}", gradient, replica);
  }
  static std::string result(size_t gradient) { return fmt::format("sum{}", gradient); }
  const ops::TensorType& type(size_t k) const { return g_.value(gradients_[k].of_replica.front()).type; }

  bool reduce(const std::string& name, const Bucket& bucket, Way way) {
    std::map<std::string, ValueId> values;
    for (const size_t k : bucket)
      for (size_t r = 0; r < gradients_[k].of_replica.size(); ++r)
        values[operand(k, r)] = gradients_[k].of_replica[r];
    std::vector<ops::DecompositionStep> steps;
    (this->*way)(bucket, steps);
    graph::Node like;
    like.name = name;
    like.op = "all_reduce";
    like.where = "gradients of the replicas";
    if (!graph::add_steps(g_, like, steps, values, diag_)) return false;
    for (const size_t k : bucket) reduced_[k] = values.at(result(k));
    return true;
  }

  std::string widened(ops::Steps& s, std::string v, DataType from) const {
    if (wide(from) == from) return v;
    return s.add("cast", {v}, {{"to", std::string(data_type_name(wide(from)))}});
  }
  std::string scaled(ops::Steps& s, const std::string& v, DataType from) const {
    return how_.average ? s.add("mul", {v, s.constant(1.0 / double(how_.replicas), wide(from))}) : v;
  }
  static void name(ops::Steps& s, const std::string& v, const std::string& result) {
    s.result(result, "identity", {v});
  }

  void apart(const Bucket& bucket, std::vector<ops::DecompositionStep>& steps) {
    ops::Steps s(steps);
    for (const size_t k : bucket) {
      std::vector<std::string> terms;
      for (size_t r = 0; r < size_t(how_.replicas); ++r)
        terms.push_back(widened(s, operand(k, r), type(k).dtype));
      name(s, scaled(s, sum_of(s, terms), type(k).dtype), result(k));
    }
  }

  void as_one_vector(const Bucket& bucket, std::vector<ops::DecompositionStep>& steps) {
    if (bucket.size() == 1) return apart(bucket, steps);
    ops::Steps s(steps);
    const DataType sent = type(bucket.front()).dtype;
    std::vector<std::string> terms;
    for (size_t r = 0; r < size_t(how_.replicas); ++r) {
      std::vector<std::string> parts;
      for (const size_t k : bucket) parts.push_back(s.reshape(operand(k, r), {type(k).elements()}));
      terms.push_back(widened(s, s.add("concat", parts, {{"axis", int64_t(0)}}), sent));
    }
    const std::string all = scaled(s, sum_of(s, terms), sent);
    std::vector<int64_t> extents;
    ops::DecompositionStep split{{}, "split", {all}, {}};
    for (const size_t k : bucket) {
      extents.push_back(type(k).elements());
      split.results.push_back(fmt::format("part{}", k));
    }
    ops::set_attr(split.attrs, "split", extents);
    steps.push_back(split);
    for (const size_t k : bucket) name(s, s.reshape(fmt::format("part{}", k), type(k).shape), result(k));
  }

  void in_one_kernel(const Bucket& bucket, std::vector<ops::DecompositionStep>& steps) {
    ops::DecompositionStep all{{}, "all_reduce", {}, {{"replicas", how_.replicas}}};
    for (size_t r = 0; r < size_t(how_.replicas); ++r)
      for (const size_t k : bucket) all.operands.push_back(operand(k, r));
    for (const size_t k : bucket) all.results.push_back(fmt::format("total{}", k));
    steps.push_back(all);
    ops::Steps s(steps);
    for (const size_t k : bucket) name(s, scaled(s, fmt::format("total{}", k), type(k).dtype), result(k));
  }

  Graph& g_;
  const DataParallel& how_;
  std::span<const ReplicatedGradient> gradients_;
  Diag& diag_;
  std::vector<ValueId> reduced_;
};

// On a wafer an addition joins the kernel behind it: apart is what takes the fewest cycles.
GradientFusion read_fusion(ModelConfig& c) {
  const std::string key = "runconfig.allreduce_fusion", name = c.text(key, "auto");
  if (name == "auto") return GradientFusion::off;
  const auto found = std::find(std::begin(kFusions), std::end(kFusions), name);
  if (found != std::end(kFusions)) return GradientFusion(found - std::begin(kFusions));
  c.error(key, fmt::format("unknown value '{}'; there are auto, off, concat and coalesced", name));
  return GradientFusion::off;
}

}  // namespace

DataParallel read_data_parallel(ModelConfig& c, const Graph& g, int64_t batch) {
  DataParallel p;
  const std::string key = "runconfig.replicas", bytes = "runconfig.bucket_bytes";
  p.replicas = c.extent(key, 1);
  p.fusion = read_fusion(c);
  // Whoever compiles measures what `auto` is (tools/api/buckets.h); else a bucket has room for all of a usual network.
  if (c.text(bytes, "") != "auto") p.bucket_bytes = c.integer(bytes, DataParallel::kBucketBytes);
  if (p.bucket_bytes < 1) c.error(bytes, "a bucket has room for something");
  p.average = c.text("model.loss.reduction", "mean") != "sum";
  if (p.replicas == 1) return p;
  const std::vector<graph::NodeId> nodes = g.nodes();
  const bool mixes = std::any_of(nodes.begin(), nodes.end(),
                                 [&](graph::NodeId id) { return g.node(id).op == "batch_norm"; });
  if (p.replicas > kMostReplicas || batch % p.replicas != 0)
    c.error(key, fmt::format("{} samples have no {} equal shares, or there are more than {} of them", batch,
                             p.replicas, kMostReplicas));
  else if (mixes)
    c.error(key, "batch_norm takes the statistics of the whole batch, so there is one network");
  else if (has_dropout(g))
    c.error(key, "dropout draws one mask for the whole batch, so there is one network",
            "set the rates of dropout to 0");
  else if (c.text("runconfig.mode", "") != "train")
    c.error(key, "replicas are for mode train",
            "evaluate with mode: eval and the weights of cs-sim --state-out");
  return p;
}

std::vector<std::vector<size_t>> gradient_buckets(const Graph& g,
                                                  std::span<const ReplicatedGradient> gradients,
                                                  int64_t bucket_bytes) {
  std::vector<std::vector<size_t>> buckets;
  std::map<std::pair<std::string, DataType>, size_t> open;  // by group and type
  std::vector<int64_t> filled;
  for (size_t k = gradients.size(); k-- > 0;) {
    const int64_t bytes = bytes_of(g, gradients[k]);
    const auto key = std::pair(gradients[k].group, type_of(g, gradients[k]));
    auto at = open.find(key);
    if (at == open.end() || filled[at->second] + bytes > bucket_bytes) {
      at = open.insert_or_assign(key, buckets.size()).first;
      buckets.emplace_back();
      filled.push_back(0);
    }
    buckets[at->second].push_back(k);
    filled[at->second] += bytes;
  }
  return buckets;
}

bool reduce_gradients(Graph& g, const DataParallel& how, std::span<const ReplicatedGradient> gradients,
                      std::vector<ValueId>& reduced, Diag& diag) {
  return Reduction(g, how, gradients, diag).run(reduced);
}

ValueId join_losses(Graph& g, const DataParallel& how, std::span<const ValueId> losses, Diag& diag) {
  std::map<std::string, ValueId> values;
  std::vector<std::string> terms;
  for (size_t r = 0; r < losses.size(); ++r) {
    terms.push_back(fmt::format("loss{}", r));
    values[terms.back()] = losses[r];
  }
  std::vector<ops::DecompositionStep> steps;
  ops::Steps s(steps);
  const std::string sum = sum_of(s, terms),
                    factor = s.constant(how.average ? 1.0 / double(losses.size()) : 1.0);
  s.result("all", "mul", {sum, factor});
  graph::Node like;
  like.name = "loss";
  like.op = "mul";
  like.where = "the loss of all replicas";
  return graph::add_steps(g, like, steps, values, diag) ? values.at("all") : ValueId{};
}

}  // namespace cs::frontend
