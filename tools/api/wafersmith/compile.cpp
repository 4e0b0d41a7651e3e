// Options of the library become those of tools/api.
#include "wafersmith/compile.h"

#include "compiler/frontend/model_config.h"
#include "runtime/machine/machine.h"
#include "runtime/support/cancel.h"
#include "tools/api/api.h"
#include "tools/api/vendor_files.h"
#include "wafersmith/internal.h"

namespace wafersmith {
namespace {

std::optional<cs::api::Compiled> compiled_of(const cs::api::CompileOptions& options,
                                             const std::atomic<bool>* interrupted, cs::Diag& diag) {
  const cs::cancel::Scope scope(interrupted);
  try {
    return cs::api::compile(options, diag);
  } catch (const cs::cancel::Cancelled&) {
    throw Interrupted(options.input + ": interrupted while compiling");
  }
}

Program compile(const cs::api::CompileOptions& options, const std::atomic<bool>* interrupted,
                std::vector<Message>* warnings) {
  cs::Diag diag;
  auto compiled = compiled_of(options, interrupted, diag);
  if (!compiled || !compiled->program) refuse(diag);
  if (warnings != nullptr) *warnings = messages_of(diag);
  auto data = std::make_shared<Program::Data>();
  data->compile_report = cs::api::compile_report(*compiled);
  if (!compiled->program->host)
    data->more_files = {{"out.json", cs::api::out_json(*compiled)},
                        {"bin/out_rpc.json", cs::api::out_rpc_json(*compiled->program)}};
  data->program = std::move(*compiled->program);
  data->weights = compiled->weights.bytes();
  data->manifest = std::move(compiled->manifest);
  return Program(std::move(data));
}

[[noreturn]] void refuse_option(const std::string& option, const std::string& why) {
  cs::Diag diag;
  diag.error_at(option, why);
  refuse(diag);
}
[[noreturn]] void refuse_option(const std::string& option, const std::string& word,
                                const std::string& words) {
  refuse_option(option, "'" + word + "' is none of " + words);
}

}  // namespace

Program compile_model(const std::string& path, const ModelOptions& given, std::vector<Message>* warnings) {
  cs::api::CompileOptions o;
  o.input = path;
  o.machine = given.machine;
  o.machine_given = true;
  for (const std::string& set : given.set)
    (set.rfind("machine.", 0) == 0 ? o.set : o.set_config).push_back(set);
  o.fabric_width = given.fabric_width;
  o.fabric_height = given.fabric_height;
  for (const std::string& rewrite : cs::frontend::compile_keys(path, o.set_config).rewrite)
    if (std::string why; !cs::passes::read_rewrite(rewrite, o.rewrites, why)) refuse_option("runconfig.rewrite", why);
  const auto policy = cs::passes::policy_from_name(given.autogen_policy);
  if (!policy) refuse_option("autogen_policy", given.autogen_policy, "disabled, default, medium, aggressive");
  o.policy = *policy;
  o.policy_name = cs::passes::policy_name(*policy);
  const auto host_ops = cs::passes::host_ops_from_name(given.host_ops);
  if (!host_ops) refuse_option("host_ops", given.host_ops, "allow, warn, forbid");
  o.host_ops = *host_ops;
  o.resident = given.resident;
  if (given.copies != 1) o.copies = given.copies;
  o.dims = given.dims;
  o.threads = given.threads;
  o.baselines = false;
  return compile(o, given.interrupted, warnings);
}

Program compile_layout(const std::string& path, const LayoutOptions& given, std::vector<Message>* warnings) {
  cs::api::CompileOptions o;
  o.input = path;
  o.machine = given.machine;
  o.machine_given = true;
  o.set = given.set;
  o.csl.params = given.params;
  o.csl.import_paths = given.import_paths;
  o.csl.fabric_width = given.fabric_width;
  o.csl.fabric_height = given.fabric_height;
  o.csl.offset_x = given.offset_x;
  o.csl.offset_y = given.offset_y;
  o.host_file = given.host_file;
  o.threads = given.threads;
  o.baselines = false;
  return compile(o, given.interrupted, warnings);
}

std::vector<std::string> machines() { return cs::machine_names(); }

}  // namespace wafersmith
