// A name of the catalogue is looked for without regard to case and underscores.
#include "tools/api/trace/loss.h"

#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ops/losses.h"
#include "tools/api/trace/functions.h"
#include "tools/api/trace/tracer.h"

namespace cs {

namespace {

// "CrossEntropyLoss" and "cross_entropy_loss" are one name.
std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const ops::OpDef& row : ops::op_table())
    if (row.loss && row.name != ops::kCustomLoss) names.emplace_back(row.name);
  return names;
}

Tensor loss(const std::string& name, const std::vector<TensorArg>& operands,
            const CatalogueOptions& options) {
  const std::vector<std::string> names = loss_names();
  for (const std::string& row : names) {
    if (plain(row) != plain(name)) continue;
    Attrs attrs = options.attrs;
    ops::set_attr(attrs, "reduction", options.reduction);
    if (options.use_autogen) ops::set_attr(attrs, ops::kUseAutogen, int64_t(1));
    return op(row, operands, attrs);
  }
  throw TraceError(fmt::format("there is no loss '{}'; there are {}", name, fmt::join(names, ", ")),
                   operands.empty() ? Place{} : place_of(operands.front().where));
}

Tensor loss(const Loss& own, const std::vector<TensorArg>& operands, const LossOptions& options) {
  if (tracing::Tracer* tracer = tracing::Tracer::active()) return tracer->add_loss(own, operands, options);
  throw StaticGraphError("a loss of one's own belongs into a function under cs::trace",
                         operands.empty() ? Place{} : place_of(operands.front().where));
}

}  // namespace cs
