// out.json and bin/out_rpc.json.
#include "tools/api/vendor_files.h"

#include <nlohmann/json.hpp>

namespace cs::api {

namespace {

using Json = nlohmann::ordered_json;

Json pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  Json out = Json::object();
  for (const auto& [name, value] : list) out[name] = value;
  return out;
}

Json inputs_of(const Program& p, const std::string& function) {
  Json inputs = Json::array();
  for (const TileProgram& t : p.tiles) {
    const Function* f = t.function(function);
    if (f == nullptr) continue;
    for (size_t i = 0; i < f->parameters.size(); ++i)
      inputs.push_back({{"name", "arg" + std::to_string(i)},
                        {"type", std::string(data_type_name(f->parameters[i].type))}});
    break;
  }
  return inputs;
}

std::string text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string out_json(const Compiled& c) {
  const Program& p = *c.program;
  Json out;
  out["params"] = pairs(c.layout_params);
  out["colors"] = pairs(c.layout_colors);
  out["target"] = p.arch == Arch::wse3 ? "wse3" : "wse2";
  out["fabric_dims"] = {p.fabric_width, p.fabric_height};
  out["fabric_offsets"] = {p.user.x, p.user.y};
  out["rectangle"] = {p.user.w, p.user.h};
  out["memcpy"] = p.memcpy;
  return text(out);
}

std::string out_rpc_json(const Program& p) {
  Json symbols = Json::array();
  for (size_t i = 0; i < p.exports.size(); ++i) {
    const ExportedName& e = p.exports[i];
    Json s;
    s["id"] = i;
    if (e.is_function) {
      if (Json inputs = inputs_of(p, e.name); !inputs.empty()) s["inputs"] = std::move(inputs);
      s["kind"] = "Func";
    } else {
      s["immutable"] = e.is_mutable ? 0 : 1;
      s["kind"] = "Var";
    }
    s["name"] = e.name;
    s["sym_name"] = e.name;
    s["type"] = e.is_function ? "void" : "[*]" + std::string(data_type_name(e.type));
    symbols.push_back(std::move(s));
  }
  return text({{"rpc_symbols", std::move(symbols)}});
}

}  // namespace cs::api
