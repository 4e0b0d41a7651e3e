// cs-regress: runs suites of programs in parallel and compares values, cycles and origins with what was
// expected.
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "runtime/support/progress.h"
#include "tools/cli/tool.h"
#include "tools/cli/child_process.h"
#include "tools/cli/counts.h"
#include "tools/cs-regress/classes.h"
#include "tools/cs-regress/corpus.h"
#include "tools/cs-regress/golden.h"
#include "tools/cs-regress/html.h"
#include "tools/cs-regress/job.h"
#include "tools/cs-regress/kernel_table.h"
#include "tools/cs-regress/kgraph.h"
#include "tools/cs-regress/loss_table.h"
#include "tools/cs-regress/model_dir.h"
#include "tools/cs-regress/names.h"
#include "tools/cs-regress/network_table.h"
#include "tools/cs-regress/onnx_table.h"
#include "tools/cs-regress/policy_table.h"
#include "tools/cs-regress/result_table.h"
#include "tools/cs-regress/suite.h"
#include "tools/cs-regress/table.h"

namespace cs {
namespace {

struct Options {
  std::string suite, onnx, golden, kgraph, corpus, group, sources,
      machine = "wse2", policy = "medium", copies, work, dtype = "all", use_autogen = "off", paint, table, html;
  int64_t moves = 0;
  bool update = false, json = false, policies = false;
  int threads = 0;
  uint64_t seed = 0;
  double timeout = 600;
};

// Runs the jobs on `threads` workers; results come back in job order.
std::vector<Result> run_all(const std::vector<Job>& jobs, const RunOptions& run, int threads) {
  std::vector<Result> results(jobs.size());
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0, failed = 0;
  progress::stage("", 0, 1);
  const auto worker = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      results[i] = run_job(jobs[i], run);
      failed += results[i].ok ? 0 : 1;
      progress::part("", ++done, jobs.size());
      progress::note(
          fmt::format("{} of {}, {} failed  {}", done.load(), jobs.size(), failed.load(), jobs[i].name));
    }
  };
  std::vector<std::jthread> pool;
  for (int t = 1; t < threads; ++t) pool.emplace_back(worker);
  worker();
  pool.clear();
  return results;
}

// Compares with the committed table; a difference fails the job unless --update.
void judge_against_table(const Options& o, std::vector<Result>& results, const Table& table) {
  for (Result& r : results) {
    const auto it = table.find(r.name);
    if (o.update || !r.ok || !r.figures) continue;
    if (it == table.end()) {
      r.ok = false;
      r.message = "not in the committed table; accept with --update";
    } else if (const std::string difference = compare_figures(it->second, *r.figures); !difference.empty()) {
      r.ok = false;
      r.message = "differs from the committed table: " + difference + "; accept with --update";
    }
  }
}

std::optional<std::vector<Job>> collect_jobs(const Options& o, Diag& diag) {
  if (!o.golden.empty()) {
    const golden::Selection selection{split_names(o.group), o.dtype != "fp16", o.dtype != "fp32",
                                      o.use_autogen == "on"};
    return golden::find_jobs(o.golden, selection, o.machine, o.policy, diag);
  }
  if (!o.onnx.empty()) {
    auto jobs = find_model_jobs(o.onnx, o.machine, o.policy);
    if (jobs.empty()) {
      diag.error_at(o.onnx,
                    "no model with inputs_N.npz and expected_N.npz or test_data_set_N below this folder");
      return std::nullopt;
    }
    return jobs;
  }
  auto jobs = read_suite(o.suite, o.sources, diag);
  if (!jobs) return jobs;
  if (!o.group.empty()) std::erase_if(*jobs, [&](const Job& j) { return !split_names(j.group).contains(o.group); });
  if (jobs->empty()) {
    diag.error_at(o.suite,
                  o.group.empty() ? "the suite has no rows" : "no row has the group '" + o.group + "'");
    return std::nullopt;
  }
  return jobs;
}

// The table of --onnx against the committed one; false, with what to do, if they differ.
bool judge_onnx_table(const Options& o, const std::vector<Result>& results, Diag& diag) {
  const std::string text = onnx_table(results, "cs-regress --onnx DIR --table FILE --update");
  if (o.update) return write_file_atomic(o.table, text, diag);
  const auto committed = read_file(o.table, diag, uint64_t(1) << 24);
  if (committed && *committed == text) return true;
  if (committed) {
    diag.error_at(o.table, "this run gives another table",
                  "look at the failures above; accept with --update");
  }
  return false;
}

int threads_of(const Options& o) {
  return o.threads > 0 ? o.threads : std::max(1, int(std::thread::hardware_concurrency()));
}

// Rows of a suite or of a folder of models, or nothing with what is wrong; the committed table of a suite.
struct Work {
  std::vector<Job> jobs, left_out;
  Table table;
  std::string table_file;  // empty: there is none
};

std::optional<Work> collect(const Options& o, Diag& diag) {
  Work work;
  auto jobs = collect_jobs(o, diag);
  if (!jobs) return std::nullopt;
  const auto left = std::stable_partition(jobs->begin(), jobs->end(), [](const Job& j) { return !j.left_out; });
  work.left_out.assign(left, jobs->end());
  jobs->erase(left, jobs->end());
  work.jobs = std::move(*jobs);
  if (work.jobs.empty()) {
    diag.error_at(o.suite, "all rows need checkouts", "give their folder by --sources");
    return std::nullopt;
  }
  for (Job& j : work.jobs)
    if (!j.is_layout() && !j.kernel_case) j.copies = o.copies;
  if (o.suite.empty() || !o.copies.empty()) return work;
  work.table_file = table_path(o.suite);
  auto table = read_table(work.table_file, diag);
  if (!table) return std::nullopt;
  work.table = std::move(*table);
  return work;
}

// The errors of classes over all rows of the suite; they are written anew only from a run of all rows.
void judge_classes(const Options& o, const Work& work, const std::vector<Result>& results, Diag& diag) {
  const std::vector<Result> all = with_left_out(results, work.left_out, work.table);
  if (!o.group.empty() || class_errors(all).empty()) return;
  const std::string path = classes_path(o.suite);
  if (o.update && work.left_out.empty()) {
    write_classes(path, all, diag);
  } else if (const std::string difference = compare_classes(path, all, diag); !difference.empty()) {
    diag.error_at(path, "the errors of classes are other ones: " + difference, "accept with --sources DIR --update");
  }
}

std::vector<Result> run_jobs(const Options& o, const std::vector<Job>& jobs) {
  const Temporary folder((std::filesystem::temp_directory_path() / "cs-regress").string());
  std::filesystem::create_directories(folder.path());
  return run_all(jobs, {executable_folder(), folder.path(), o.timeout}, threads_of(o));
}

std::vector<Result> run_work(const Options& o, Work& work, Diag& diag) {
  auto results = run_jobs(o, work.jobs);
  judge_kernels(results);
  judge_losses(results);
  if (work.table_file.empty()) return results;
  judge_against_table(o, results, work.table);
  judge_classes(o, work, results, diag);
  if (!o.update) return results;
  for (const Result& r : results)
    if (r.ok) work.table[r.name] = *r.figures;
  write_table(work.table_file, work.table, diag);
  return results;
}

// --policies: the rows under every policy.
int compare_policies(const Options& o, const Work& work, cli::Reply& reply) {
  Diag diag;
  const auto jobs = jobs_of_policies(work.jobs, diag);
  reply.show(diag);
  if (!jobs) return kInputError;
  const auto results = run_policies(*jobs, [&](const std::vector<Job>& some) { return run_jobs(o, some); });
  const auto rows = judge_policies(*jobs, results);
  const auto failed = std::ranges::count_if(rows, [](const PolicyRow& r) { return !r.wrong.empty(); });
  if (o.json)
    reply.object(policy_json(rows).dump(1));
  else
    reply.text(policy_text(rows) + fmt::format("{} passed, {} failed\n", rows.size() - size_t(failed), failed));
  return failed > 0 ? kDiffers : kOk;
}

int run(const Options& o, cli::Reply& reply) {
  const bool suite = !o.suite.empty() && o.corpus.empty();  // --corpus: another list of programs
  if (suite + !o.onnx.empty() + !o.golden.empty() + !o.kgraph.empty() + !o.corpus.empty() != 1)
    throw cli::Usage{"give one of SUITE, --onnx DIR, --golden DIR, --kgraph DIR and --corpus DIR"};
  if (!o.copies.empty() && (!suite || o.update || o.policies))
    throw cli::Usage{"--copies takes a SUITE, and has no table to compare with or to update"};
  if (o.policies && (!suite || o.update)) throw cli::Usage{"--policies takes a SUITE, and has no table to update"};
  reply.show_progress();
  Diag diag;
  if (!o.corpus.empty()) {
    std::string out;
    const int code = corpus::run({o.corpus, o.suite, o.group, o.timeout, threads_of(o), o.json}, out, diag);
    reply.show(diag);
    if (!out.empty()) o.json ? reply.object(out) : reply.text(out);
    return code;
  }
  if (!o.kgraph.empty()) {
    std::string out;
    const int code = run_kgraphs({o.kgraph, o.paint, o.moves, o.seed, threads_of(o), o.json}, out, diag);
    reply.show(diag);
    o.json ? reply.object(out) : reply.text(out);
    return code;
  }
  auto work = collect(o, diag);
  if (!work) {
    reply.show(diag);
    return kInputError;
  }
  if (o.policies) return compare_policies(o, *work, reply);
  const auto results = run_work(o, *work, diag);
  const size_t failed =
      size_t(std::count_if(results.begin(), results.end(), [](const Result& r) { return !r.ok; }));
  const nlohmann::json json = o.golden.empty() ? to_json(results) : golden::to_json(results);
  if (!o.html.empty()) write_file_atomic(o.html, html_summary(o.suite + o.onnx + o.golden, json), diag);
  // What fails is in the table; only a difference from it counts.
  const bool same = o.table.empty() || judge_onnx_table(o, results, diag);
  reply.show(diag);
  if (o.json)
    reply.object(json.dump(1));
  else
    reply.text((o.golden.empty() ? figures_text(results) + network_text(results) + fidelity_text(results) +
                                       class_text(results) + kernel_text(results) + loss_text(results)
                                 : golden::table_text(results)) +
               fmt::format("{} passed, {} failed\n", results.size() - failed, failed));
  if (!o.table.empty()) return same ? kOk : kDiffers;
  return !diag.ok() ? kInputError : failed > 0 ? kDiffers : kOk;
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) {
  cs::Options o;
  CLI::App app{
      "cs-regress: run a suite of programs and compare values, cycles and origins\n\n"
      "Examples:\n"
      "  cs-regress configs/suites/smoke.yaml\n"
      "  cs-regress configs/suites/smoke.yaml --update      accept the figures of this run\n"
      "  cs-regress configs/suites/fidelity.yaml --sources ~/checkouts\n"
      "  cs-regress configs/suites/networks.yaml --policies --group quick\n"
      "  cs-regress --onnx models -m wse3 --policy aggressive\n"
      "  cs-regress --onnx /usr/share/libonnx-testdata/data --table docs/onnx.md\n"
      "  cs-regress --golden tests/golden/ops --group softmax,layer_norm\n"
      "  cs-regress --kgraph ispd2020 --paint placements\n"
      "  cs-regress --corpus ~/checkouts --group unit -j 4\n\n"
      "Exit codes: 0 all passed, 1 input error, 2 usage, 4 a row failed, 70 internal error, 130 interrupted"};
  app.add_option("SUITE", o.suite, "suite file (configs/suites/*.yaml)");
  app.add_option("--onnx", o.onnx, "run every model below this folder with its input and expected sets");
  app.add_option("--table", o.table,
                 "--onnx: hold the outcome against this Markdown table (--update writes it)")
      ->needs("--onnx");
  app.add_option("--golden", o.golden, "run a golden-v1 collection: manifest.json and its files");
  app.add_option("--kgraph", o.kgraph,
                 "place every .kgraph (ISPD 2020) of this folder: legality, score, gap to the bound");
  app.add_option("--corpus", o.corpus,
                 "run public CSL programs in checkouts below this folder (owner+name or owner/name) against the "
                 "built-in list, or against SUITE");
  app.add_option("--paint", o.paint, "--kgraph: write the placements into this folder");
  app.add_option("--moves", o.moves, "--kgraph: moves per start of the placer; 0: by the number of kernels");
  app.add_option("--group", o.group,
                 "only rows of this group; --golden: only these groups or operations, with commas; --corpus: groups or "
                 "repositories");
  app.add_option("--dtype", o.dtype, "--golden: fp32, fp16 (cases on that grid) or all")
      ->check(cs::cli::one_of({"fp32", "fp16", "all"}))
      ->capture_default_str();
  app.add_option("--use-autogen", o.use_autogen,
                 "--golden: losses as one generated kernel per direction (on) or as primitives (off)")
      ->check(cs::cli::one_of({"on", "off"}))
      ->capture_default_str();
  app.add_option("--sources", o.sources, "folder of public checkouts: also run the rows that need one");
  app.add_option("-m,--machine", o.machine, "machine for --onnx and --golden")->capture_default_str();
  app.add_option("-p,--policy,--autogen-policy", o.policy, "AutoGen policy for --onnx and --golden")
      ->check(cs::cli::one_of({"disabled", "default", "medium", "aggressive"}))
      ->capture_default_str();
  app.add_option("-j,--threads", o.threads, "jobs at a time; 0: one per core")->capture_default_str();
  app.add_option("--timeout", o.timeout, "seconds per tool run")->capture_default_str();
  app.add_option("--seed", o.seed, "--kgraph: of the placer; rows of suites fix their own inputs");
  app.add_option("--copies", o.copies,
                 "SUITE: its models in so many copies beside each other, or auto: as many as host and fabric have room "
                 "for; at least four samples for each")
      ->check([](const std::string& text) { return cs::cli::copies_of_text(text), std::string(); });
  app.add_flag("--policies", o.policies,
               "SUITE: its models under every policy, at the host's costs and at ten times them; a row fails where "
               "medium is not the fastest, within 2 %");
  app.add_flag("--update", o.update, "write the committed table from this run");
  app.add_flag("--json", o.json, "one JSON object on stdout");
  app.add_option("--html", o.html, "write the summary as a page, failures first");
  app.set_version_flag("--version", cs::version_string("cs-regress"));
  cs::cli::Reply reply("cs-regress");
  return cs::cli::run_tool(reply, app, argc, argv, cs::cli::Interrupt::ends,
                           [&] { return cs::run(o, reply); });
}
