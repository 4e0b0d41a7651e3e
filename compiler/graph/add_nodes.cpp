// Types and names of what is added.
#include "compiler/graph/add_nodes.h"

#include <utility>

namespace cs::graph {

ValueId add_typed(Graph& g, Node n, Diag& diag) {
  const std::string result = g.fresh_name(n.name + "_y");
  const NodeId id = g.add_node(std::move(n));
  const ValueId v = g.add_result(id, result);
  return infer_node(g, id, diag) ? v : ValueId{};
}

ValueId add_share(Graph& g, ValueId v, int dim, int64_t begin, int64_t end, const std::string& name,
                  const std::string& where, Diag& diag) {
  Node n;
  n.name = g.fresh_name(name);
  n.op = "slice";
  n.where = where;
  n.inputs = {v};
  ops::set_attr(n.attrs, "starts", std::vector<int64_t>{begin});
  ops::set_attr(n.attrs, "ends", std::vector<int64_t>{end});
  ops::set_attr(n.attrs, "axes", std::vector<int64_t>{dim});
  return add_typed(g, std::move(n), diag);
}

ValueId add_concat(Graph& g, std::vector<ValueId> values, int dim, const std::string& name, const std::string& where,
                   Diag& diag) {
  Node n;
  n.name = g.fresh_name(name);
  n.op = "concat";
  n.where = where;
  n.inputs = std::move(values);
  ops::set_attr(n.attrs, "axis", int64_t(dim));
  return add_typed(g, std::move(n), diag);
}

void pass_name_on(Graph& g, ValueId v, ValueId to, const std::string& behind) {
  const std::string name = g.value(v).name;
  g.rename(v, g.fresh_name(name + behind));
  g.rename(to, name);
}

}  // namespace cs::graph
