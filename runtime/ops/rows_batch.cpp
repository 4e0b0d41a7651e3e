// The row whole_batch (whole_batch.h). Its types are stated: an operator over several samples does not follow from the
// operands of one.
#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/whole_batch.h"

namespace cs::ops {

namespace {

// "f32[1, 4]; i64[1]"
bool shape_whole_batch(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const std::string types = attr_text(c.op, c.attrs, "types");
  for (size_t at = 0; at <= types.size();) {
    const size_t end = std::min(types.find(';', at), types.size());
    const size_t begin = types.find_first_not_of(' ', at);
    const auto type = begin < end ? parse_type(types.substr(begin, end - begin)) : std::nullopt;
    if (!type) return fail(error, fmt::format("'types' is '{}', not types with ';' between them", types));
    outputs.push_back(*type);
    at = end + 1;
  }
  const size_t dims = attr_ints(c.op, c.attrs, "sample_dims").size();
  if (dims != outputs.size())
    return fail(error, fmt::format("{} sample_dims for {} results", dims, outputs.size()));
  return true;
}

bool reference_whole_batch(const ShapeContext&, std::span<const Tensor* const>, std::span<Tensor>,
                           std::string& error) {
  return fail(error, "it is computed for all samples of a run together");
}

}  // namespace

void add_whole_batch(Rows& t) {
  AttrDefs attrs = {text("op", ""), text("attrs", ""), text("types", ""), integers("sample_dims", true)};
  attrs[0].required = attrs[2].required = true;
  OpDef row = by_loops(OpKind::loops, kWholeBatch, {}, {"x"}, 0, attrs, shape_whole_batch, nullptr);
  row.variadic = row.variadic_results = true;
  row.reference = reference_whole_batch;
  t.push_back(noted(row, "what mixes the samples of a batch, on the host"));
}

}  // namespace cs::ops
