// ONNX import.
//
//   1. parse; damaged or truncated bytes end here
//   2. list every operator without a row at once, with the names of its nodes
//   3. shapes of the inputs: the sample dimension (a symbol that every input has) gets extent 1, other
//      symbols need --dim
//   4. initializers become constants; nodes are added in order, each typed at once by its row
//   5. an input that must be constant (the shape of Reshape) becomes an attribute, folding what leads to it
//   6. outputs; samples are followed through the graph
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/onnx_importer.h"
#include "compiler/frontend/onnx_samples.h"
#include "compiler/graph/sample.h"

namespace cs::frontend {

using graph::ValueId;

namespace {

constexpr int64_t kNewestOperators = 25;

// A model may leave open for how many samples it is, and yet be for one number alone: its shapes are written
// out, or constants have them. Of the numbers that batches usually have the first two with which its types
// agree.
std::vector<int64_t> numbers_of_samples(const onnx::ModelProto& model, const std::string& file,
                                        const LoadOptions& options) {
  std::vector<int64_t> list;
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100, 128, 256}) {
    Diag quiet;
    if (Importer(model, file, options, quiet, n).agrees()) list.push_back(n);
    if (list.size() == 2) break;
  }
  return list;
}

void add_all(const Diag& from, Diag& to) {
  for (const Diagnostic& d : from.all()) {
    if (d.severity == Severity::error) {
      to.error_at(d.where, d.message, d.help);
    } else {
      to.warning(d.loc, d.message, d.help);
    }
  }
}

}  // namespace

std::optional<graph::Graph> Importer::import() {
  size_t before = diag_.errors();
  size_t slash = file_.find_last_of('/');
  std::string base = slash == std::string::npos ? file_ : file_.substr(slash + 1);
  g_.name = proto_.name().empty() ? base.substr(0, base.find('.')) : proto_.name();
  opset_ = opset_of(model_);
  const bool optimizers_alone =
      proto_.node_size() > 0 && std::all_of(proto_.node().begin(), proto_.node().end(), is_training_op);
  if (opset_ < 1 && !optimizers_alone) fail("the model does not say which operator set it uses", "");
  if (opset_ > kNewestOperators)
    diag_.warning({},
                  fmt::format("{}: operator set {} is newer than {}, the newest that is known; operators are "
                              "read as there",
                              file_, opset_, kNewestOperators));
  name_nodes();
  note_uses(proto_);
  check_support();
  sample_ = sample_symbol(proto_, options_.dims);
  add_inputs();
  add_initializers();
  if (diag_.errors() != before) return std::nullopt;
  for (int i = 0; i < proto_.node_size() && !diag_.full(); ++i) add_node(i);
  if (diag_.errors() == before) add_outputs();
  if (diag_.errors() != before) return std::nullopt;
  g_.remove_dead();
  return std::move(g_);
}

std::optional<graph::Graph> Importer::run() {
  std::optional<graph::Graph> g = import();
  if (!g) return std::nullopt;
  g_ = std::move(*g);
  if (!(sample_ ? settle() : graph::propagate_samples(g_, diag_)) || !graph::verify(g_, diag_))
    return std::nullopt;
  return std::move(g_);
}

bool Importer::settle() {
  std::optional<graph::Graph> one = std::move(g_), two, three;
  if (!import_more(two, three)) return false;
  Diag mixed;
  if (settle_samples(*one, *two, *three, mixed)) {
    g_ = std::move(*one);
    return true;
  }
  // Once more, with what mixes samples computed over all of them.
  Diag quiet;
  one = Importer(model_, file_, options_, quiet, 1).import();
  if (!one || !import_more(two, three)) return false;
  if (!settle_over_batch(*one, *two, *three, quiet)) {
    for (const Diagnostic& d : mixed.all()) diag_.error_at(d.where, d.message, d.help);
    return false;
  }
  g_ = std::move(*one);
  return true;
}

bool Importer::import_more(std::optional<graph::Graph>& two, std::optional<graph::Graph>& three) {
  Diag quiet;
  two = Importer(model_, file_, options_, quiet, 2).import();
  three = two ? Importer(model_, file_, options_, quiet, 3).import() : std::nullopt;
  if (two && three) return true;
  const std::string why = quiet.all().empty() ? "" : ": " + quiet.all()[0].message;
  diag_.error_at(
      quiet.all().empty() ? file_ : quiet.all()[0].where,
      fmt::format("the model is not for any number of samples: with {} it fails{}", two ? 3 : 2, why),
      fmt::format("compile it for one number: --dim {}=N", *sample_));
  return false;
}

void Importer::name_nodes() {
  std::set<std::string> taken;
  for (int i = 0; i < proto_.node_size(); ++i) {
    std::string name = proto_.node(i).name();
    if (name.empty()) name = fmt::format("{}_{}", proto_.node(i).op_type(), i);
    while (!taken.insert(name).second) name += "_" + std::to_string(i);
    names_.push_back(std::move(name));
  }
}

bool Importer::is_known(const onnx::NodeProto& n) const {
  const std::string& op = n.op_type();
  return default_domain(n.domain()) && (has_body(op) || is_sequence_op(op) || row_of(op, opset_) != nullptr);
}

void Importer::check_support() {
  std::map<std::string, std::vector<std::string>> missing;
  for (int i = 0; i < proto_.node_size(); ++i) {
    const onnx::NodeProto& n = proto_.node(i);
    if (is_training_op(n)) continue;
    if (is_known(n)) continue;
    std::string op = default_domain(n.domain()) ? n.op_type() : n.domain() + "." + n.op_type();
    missing[op].push_back(names_[size_t(i)]);
  }
  if (missing.empty()) return;
  size_t nodes = 0;
  std::string list;
  for (const auto& [op, names] : missing) {
    nodes += names.size();
    list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", op, fmt::join(names, ", "));
  }
  fail(fmt::format("{} node{} of operators that are not supported: {}", nodes, nodes == 1 ? "" : "s", list),
       "cs-compile --list-ops lists the operators");
}

void Importer::add_inputs() {
  std::map<std::string, bool> used;
  for (const auto& [name, value] : options_.dims) used[name] = false;
  for (const onnx::ValueInfoProto* input : runtime_inputs(proto_)) {
    const onnx::ValueInfoProto& v = *input;
    const auto& tensor = v.type().tensor_type();
    std::optional<DataType> dtype = onnx_dtype(tensor.elem_type());
    if (v.type().has_sequence_type() || v.type().has_optional_type()) {
      fail(fmt::format("input '{}' is {}", v.name(),
                       v.type().has_sequence_type() ? "a sequence: how many tensors it has is not said"
                                                    : "an optional: whether it holds something is not said"),
           "make its tensors inputs, and the sequence or optional of them by an operator");
      continue;
    }
    if (!v.type().has_tensor_type() || !tensor.has_shape() || !dtype) {
      fail(fmt::format("input '{}' is not a tensor with a shape and a type we have ({})", v.name(),
                       onnx_dtype_name(tensor.elem_type())));
      continue;
    }
    ops::TensorType type{*dtype, {}};
    int sample_dim = -1;
    for (int d = 0; d < tensor.shape().dim_size(); ++d) {
      const auto& dim = tensor.shape().dim(d);
      int64_t extent = is_symbolic(dim) ? -1 : dim.dim_value();
      if (dim.has_dim_value() && dim.dim_value() < 0) {
        fail(fmt::format("dimension {} of input '{}' is {}", d, v.name(), dim.dim_value()),
             "an extent is not negative; a symbolic dimension has a name (dim_param)");
        extent = 1;
      } else if (extent < 0) {
        std::string s = symbol_of(dim);
        if (std::optional<int64_t> value = value_of(options_.dims, s)) {
          extent = *value;
          used[s] = true;
        } else if (sample_dim < 0 && sample_ == s) {
          extent = samples_;
          sample_dim = d;
        } else {
          fail(fmt::format("dimension {} of input '{}' is the symbol '{}'", d, v.name(), s),
               fmt::format("give its value: --dim {}=N", s));
          extent = 1;
        }
      }
      type.shape.push_back(extent);
    }
    if (!ops::checked_elements(type.shape) || type.rank() > 16)
      fail(fmt::format("the shape of input '{}' is not valid", v.name()));
    if (new_value(v.name())) g_.add_input(v.name(), type, sample_dim);
  }
  for (const auto& [name, was_used] : used) {
    if (!was_used) fail(fmt::format("--dim {}: no input has this symbol", name));
  }
}

bool Importer::new_value(const std::string& name) {
  if (!name.empty() && !exists(name)) return true;
  fail(name.empty() ? "a tensor has no name" : fmt::format("two tensors are called '{}'", name));
  return false;
}

void Importer::add_initializers() {
  for (const onnx::TensorProto& p : proto_.initializer()) {
    std::string error;
    std::optional<ops::Tensor> t = onnx_tensor(p, error);
    if (!t) {
      fail(fmt::format("weights '{}': {}", p.name(), error));
    } else if (new_value(p.name())) {
      g_.add_constant(p.name(), std::move(*t));
    }
  }
  if (proto_.sparse_initializer_size() > 0) fail("sparse weights are not supported");
}

void Importer::add_outputs() {
  if (proto_.output_size() == 0) fail("the model has no outputs");
  for (const onnx::ValueInfoProto& v : proto_.output()) {
    std::optional<ValueId> id = g_.find_value(v.name());
    if (!id && is_list(v.name())) {
      add_output_list(v.name());
    } else if (!id) {
      fail(fmt::format("output '{}' is produced by nothing", v.name()));
    } else if (g_.value(*id).is_output) {
      fail(fmt::format("output '{}' is listed twice", v.name()));
    } else {
      g_.set_output(g_.value(*id).producer.valid() ? *id : copied_output(*id));
    }
  }
}

// A sequence NAME becomes the outputs NAME_0, NAME_1 ...
void Importer::add_output_list(const std::string& name) {
  auto it = sequences_.find(name);
  if (it == sequences_.end() || it->second.empty())
    return fail(
        fmt::format("output '{}' is {}", name,
                    it == sequences_.end() ? "an optional without a value" : "a sequence without elements"));
  for (size_t k = 0; k < it->second.size(); ++k) {
    const std::string element = fmt::format("{}_{}", name, k);
    const ValueId original = *g_.find_value(it->second[k]);
    if (g_.value(original).name == element && g_.value(original).producer.valid()) {
      g_.set_output(original);
    } else if (new_value(element)) {
      g_.set_output(output_copy(original, element));
    }
  }
}

// An input or a constant that is an output too: a copy takes its name, the original another one.
ValueId Importer::copied_output(ValueId original) {
  std::string name = g_.value(original).name;
  if (!g_.value(original).is_input) g_.rename(original, g_.fresh_name(name + "_constant"));
  return output_copy(original, g_.fresh_name(name));
}

ValueId Importer::output_copy(ValueId original, const std::string& name) {
  graph::Node n;
  n.name = g_.fresh_name(name + "_copy");
  n.op = "identity";
  n.inputs = {original};
  n.where = fmt::format("{}: output {}", std::filesystem::path(file_).filename().string(), name);
  graph::NodeId id = g_.add_node(std::move(n));
  ValueId copy = g_.add_result(id, name);
  graph::infer_node(g_, id, diag_);
  return copy;
}

std::optional<graph::Graph> import_onnx(std::string_view bytes, const std::string& name,
                                        const LoadOptions& options, Diag& diag) {
  onnx::ModelProto model;
  if (bytes.empty() || !parse_message(bytes, model)) {
    diag.error_at(
        name, fmt::format("not an ONNX model: the file is truncated or damaged ({} bytes)", bytes.size()));
    return std::nullopt;
  }
  if (!model.has_graph()) {
    diag.error_at(name, "the file has no graph: it is not an ONNX model, or a truncated one");
    return std::nullopt;
  }
  const std::optional<std::string> samples = sample_symbol(model.graph(), options.dims);
  if (!samples) return Importer(model, name, options, diag).run();
  Diag open;
  std::optional<graph::Graph> g = Importer(model, name, options, open).run();
  const std::vector<int64_t> numbers = g ? std::vector<int64_t>() : numbers_of_samples(model, name, options);
  if (numbers.size() != 1) {
    add_all(open, diag);
    if (!numbers.empty() && numbers[0] > 1)
      diag.error_at(name, fmt::format("its shapes agree for {} samples, not for one", numbers[0]),
                    fmt::format("compile it for so many: --dim {}={}", *samples, numbers[0]));
    return g;
  }
  const int64_t n = numbers[0];
  diag.warning({}, fmt::format("{}: '{}' is open, but the model is for {} sample{} only; compiled for {}",
                               name, *samples, n, n == 1 ? "" : "s", n == 1 ? "it" : "these"));
  LoadOptions fixed = options;
  fixed.dims.emplace_back(*samples, n);
  return Importer(model, name, fixed, diag).run();
}

std::optional<std::pair<std::string, ops::Tensor>> read_onnx_tensor(std::string_view bytes,
                                                                    const std::string& name, Diag& diag) {
  onnx::TensorProto proto;
  std::string error = "the file is truncated or damaged";
  std::optional<ops::Tensor> t;
  if (parse_message(bytes, proto)) t = onnx_tensor(proto, error);
  if (!t) {
    diag.error_at(name, error);
    return std::nullopt;
  }
  return std::pair{proto.name(), std::move(*t)};
}

}  // namespace cs::frontend
