// Compiling through a cache, as a user does it: the same bytes, a key that knows everything that matters,
// many processes, killed ones, damaged entries, a second tier.
#include <gmock/gmock.h>

#include <fcntl.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "runtime/support/rng.h"
#include "tests/e2e/cache_folder.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CacheFolder, ASecondCompileGivesTheSameBytes) {
  const std::string model = graph("net");
  ASSERT_EQ(run("cs-compile", {model, "-o", path("plain.csp")}).exit_code, 0);
  const Compiled first = compile(model, {"--cache-dir", path("cache")});
  const Compiled second = compile(model, {"--cache-dir", path("cache"), "-j", "2"});
  EXPECT_EQ(first.files, contents(path("plain.csp")));
  EXPECT_EQ(second.files, first.files);
  EXPECT_GT(second.files.size(), 4u) << "with baselines, so that the folder has folders below it";
  EXPECT_EQ(first.cache["result"], "miss");
  EXPECT_EQ(second.cache["result"], "hit");
  EXPECT_EQ(second.cache["key"], first.cache["key"]);
  EXPECT_EQ(first.cache["programs"],
            json({{"local_hits", 0}, {"remote_hits", 0}, {"misses", 1}, {"puts", 1}}));
  EXPECT_EQ(second.cache["programs"],
            json({{"local_hits", 1}, {"remote_hits", 0}, {"misses", 0}, {"puts", 0}}));
  // Nothing was compiled or measured: the one pass is looking into the cache.
  ASSERT_EQ(second.report["passes"].size(), 1u);
  EXPECT_EQ(second.report["passes"][0]["name"], "cache");
  EXPECT_EQ(second.report["kernels"], first.report["kernels"]);
  EXPECT_EQ(second.report["cache"], second.cache) << "compile_report.json says what --json says";
}

TEST_F(CacheFolder, WhatACompilationSaysIsSaidAgain) {
  const std::string model = write("host.yaml",
                                  "inputs:\n  - {name: x, type: \"f64[8]\"}\noutputs: [y]\nnodes:\n"
                                  "  - {name: y, op: neg, inputs: [x]}\n");
  const auto compile_it = [&](const std::string& input) {
    return run("cs-compile", {input, "-o", path("out.csp"), "--no-advice", "--cache-dir", path("cache")});
  };
  const ChildResult first = compile_it(model), second = compile_it(model);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("warning"));
  EXPECT_EQ(second.err, first.err);
  EXPECT_THAT(first.out, HasSubstr("\nnot in the cache until now\n"));
  EXPECT_THAT(second.out, HasSubstr("\nfrom the cache\n"));
}

TEST_F(CacheFolder, EverythingThatMattersIsInTheKey) {
  const std::string model = graph("net", "0.5");
  std::map<std::string, std::string> keys;  // and what has them
  const auto add = [&](const std::string& what, const std::string& input,
                       const std::vector<std::string>& options,
                       const std::string& tool = kBin + "cs-compile") {
    std::vector<std::string> args{"--no-advice", "--cache-dir", path("cache")};
    args.insert(args.end(), options.begin(), options.end());
    const Compiled c = compile(input, args, "out.csp", tool);
    const auto [at, fresh] = keys.try_emplace(c.cache["key"].get<std::string>(), what);
    EXPECT_TRUE(fresh) << what << " has the key of " << at->second;
    EXPECT_EQ(c.cache["result"], "miss") << what;
  };
  add("the model", model, {});
  add("another weight", graph("net2", "0.25"), {});
  add("another machine", model, {"-m", "wse3"});
  add("a value of the machine", model, {"--set", "machine.clock_mhz=900"});
  add("a policy", model, {"--autogen-policy", "aggressive"});
  add("no baselines", model, {"--no-baselines"});
  add("a fabric", model, {"--fabric", "40x40"});
  add("a rectangle", model, {"--rect", "2x1"});
  add("copies", model, {"--copies", "2"});
  add("a pace", model, {"--pace", "0.5"});
  add("a pass less", model, {"--without", "fuse"});
  add("another optimisation", model, {"--opt-level", "1"});
  add("a rule for the host", model, {"--host-ops", "allow"});
  // Another build: the same tool with a byte behind its end.
  const std::string other = path("cs-compile");
  fs::copy_file(kBin + "cs-compile", other);
  std::ofstream(other, std::ios::app | std::ios::binary) << '\0';
  add("another build", model, {}, other);
  // What does not matter.
  for (const std::vector<std::string>& same :
       {std::vector<std::string>{"-j", "2"}, std::vector<std::string>{"--seed", "3"},
        std::vector<std::string>{"--cache-size", "1G"}}) {
    std::vector<std::string> args{"--no-advice", "--cache-dir", path("cache")};
    args.insert(args.end(), same.begin(), same.end());
    EXPECT_EQ(compile(model, args, "other.csp").cache["result"], "hit") << same[0];
  }
}

// Wherever the model lies.
TEST_F(CacheFolder, AModelThatWasMovedIsTheSame) {
  const std::string from = kSource + "/models/mnist_mlp/model.onnx", to = path("elsewhere/model.onnx");
  fs::create_directories(path("elsewhere"));
  fs::copy_file(from, to);
  const std::vector<std::string> args{"--no-advice", "--no-baselines", "--cache-dir", path("cache")};
  EXPECT_EQ(compile(from, args).cache["result"], "miss");
  EXPECT_EQ(compile(to, args).cache["result"], "hit");
}

// A program for 4 steps is never given to who asks for 5, and one for a batch of 4 not to who asks for any
// number.
TEST_F(CacheFolder, BoundsAreInTheKey) {
  const std::string steps =
      write("steps.yaml",
            "values: {n: 2}\ninputs:\n  - {name: x, type: \"f32[16]\"}\noutputs: [r]\nnodes:\n"
            "  - repeat: n\n    next: {x: r}\n    nodes: [{name: r, op: neg, inputs: [x]}]\n");
  const std::string batch = kSource + "/tests/networks/mlp_bn_batch/model.onnx";
  std::map<std::string, std::string> keys;
  const auto key_of = [&](const std::string& model, const std::string& dim) {
    std::vector<std::string> args{"--no-advice", "--no-baselines", "--cache-dir", path("cache")};
    if (!dim.empty()) args.insert(args.end(), {"--dim", dim});
    return compile(model, args).cache["key"].get<std::string>();
  };
  const std::set<std::string> all{key_of(steps, "n=4"), key_of(steps, "n=5"), key_of(batch, ""),
                                  key_of(batch, "batch=4"), key_of(batch, "batch=5")};
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(key_of(steps, "n=4"), key_of(steps, "n=4"));
}

TEST_F(CacheFolder, MeasurementsOutliveTheProgramsTheyBelongTo) {
  const std::string model = kSource + "/tests/networks/transformer_encoder_norm_first/model.onnx";
  const Compiled first = compile(model, {"--no-advice", "--no-baselines", "--cache-dir", path("cache")});
  const json& measured = first.cache["measurements"];
  ASSERT_GT(measured["puts"], 0) << "a network whose forms are tried out";
  EXPECT_EQ(measured["misses"], measured["puts"]);
  // Another program of the same forms: with baselines.
  const Compiled second = compile(model, {"--no-advice", "--cache-dir", path("cache")});
  EXPECT_EQ(second.cache["result"], "miss");
  EXPECT_EQ(second.cache["measurements"]["local_hits"], measured["puts"]);
  EXPECT_EQ(second.cache["measurements"]["misses"], 0);
  EXPECT_EQ(second.files.at("program.fb"), first.files.at("program.fb"));
  const Compiled third = compile(model, {"--no-advice", "--cache-dir", path("cache")});
  EXPECT_EQ(third.cache["result"], "hit");
  EXPECT_EQ(third.files, second.files);
}

TEST_F(CacheFolder, FourCompileAtOnceAndNothingIsLost) {
  std::vector<std::thread> threads;
  std::vector<ChildResult> results(8);
  for (size_t i = 0; i < results.size(); ++i)
    graph(fmt::format("net{}", i % 4), fmt::format("0.{}", i % 4 + 1));
  for (size_t t = 0; t < 4; ++t)  // each two models: its own, and one that another compiles at the same time
    threads.emplace_back([&, t] {
      for (size_t i : {t, t + 4})
        results[i] =
            run("cs-compile", {path(fmt::format("net{}.yaml", i < 4 ? i : (t + 1) % 4)), "--no-advice", "-q",
                               "-o", path(fmt::format("out{}.csp", i)), "--cache-dir", path("cache")});
    });
  for (std::thread& t : threads) t.join();
  for (const ChildResult& r : results) ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(run("cs-cache", {"verify", "--cache-dir", path("cache")}).exit_code, 0);
  for (int i = 0; i < 4; ++i) {
    const Compiled again = compile(path(fmt::format("net{}.yaml", i)),
                                   {"--no-advice", "--cache-dir", path("cache")}, "again.csp");
    EXPECT_EQ(again.cache["result"], "hit") << i;
    EXPECT_EQ(again.files, contents(path(fmt::format("out{}.csp", i)))) << i;
  }
}

// WAFERSMITH_KILLS=200 for more.
TEST_F(CacheFolder, KilledCompilesLeaveWholeEntriesAlone) {
  const char* given = std::getenv("WAFERSMITH_KILLS");
  const int kills = given != nullptr ? std::atoi(given) : 20;
  for (int i = 0; i < kills; ++i) graph(fmt::format("net{}", i), fmt::format("{}.5", i));
  const ChildResult timed = run("cs-compile", {path("net0.yaml"), "--no-advice", "-q", "-o", path("o.csp"),
                                               "--cache-dir", path("timed")});
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  Rng random(11);
  int killed = 0;
  fs::create_directories(path("cache"));  // the first one may be killed before it makes it
  for (int i = 0; i < kills; ++i) {
    const double delay = timed.seconds * (0.3 + random.uniform());
    const ChildResult r = run_child(
        {"/bin/sh", "-c",
         fmt::format("\"{}cs-compile\" \"$1\" --no-advice -q -o \"$2\" --cache-dir \"$3\" & sleep {:.4f}; "
                     "kill -9 $! 2>/dev/null; wait $!",
                     kBin, delay),
         "sh", path(fmt::format("net{}.yaml", i)), path("o.csp"), path("cache")},
        kPatience);
    killed += r.exit_code == 137;
    const ChildResult verified = run("cs-cache", {"verify", "--cache-dir", path("cache")});
    ASSERT_EQ(verified.exit_code, 0) << "after kill " << i << "\n" << verified.out;
  }
  EXPECT_GT(killed, 0);
  ASSERT_EQ(run("cs-cache", {"prune", "--max-size", "1G", "--cache-dir", path("cache")}).exit_code, 0);
  EXPECT_TRUE(!fs::exists(path("cache/tmp")) || fs::is_empty(path("cache/tmp")));
  const Compiled whole =
      compile(path("net0.yaml"), {"--no-advice", "--cache-dir", path("cache")}, "whole.csp");
  ASSERT_EQ(run("cs-compile", {path("net0.yaml"), "--no-advice", "-o", path("plain.csp")}).exit_code, 0);
  EXPECT_EQ(whole.files, contents(path("plain.csp")));
}

TEST_F(CacheFolder, ADamagedEntryIsMadeAnewWithOneWarning) {
  const std::string model = graph("net");
  const std::vector<std::string> args{"--no-advice", "--cache-dir", path("cache")};
  const Compiled first = compile(model, args);
  const std::string entry = entry_file("programs");
  for (const double share : {0.0, 0.001, 0.5, 1.0}) {  // its length changes with the times that it holds
    const auto at = uintmax_t(share * double(fs::file_size(entry) - 1));
    flip(entry, at);
    const ChildResult verified = run("cs-cache", {"verify", "--cache-dir", path("cache")});
    EXPECT_EQ(verified.exit_code, 1) << at;
    EXPECT_THAT(verified.out, HasSubstr("1 entries, 1 damaged"));
    const Compiled again = compile(model, args);
    EXPECT_EQ(again.cache["result"], "miss") << at;
    EXPECT_EQ(again.cache["damaged"], 1) << at;
    EXPECT_EQ(again.files, first.files) << at;
    const std::string warned = "is damaged: ";
    EXPECT_THAT(again.err, HasSubstr(warned));
    EXPECT_EQ(again.err.find(warned, again.err.find(warned) + 1), std::string::npos) << "one warning";
    const Compiled third = compile(model, args);
    EXPECT_EQ(third.cache["result"], "hit");
    EXPECT_THAT(third.err, Not(HasSubstr("damaged")));
  }
}

TEST_F(CacheFolder, ASharedFolderIsASecondTier) {
  const std::string model = graph("net"), shared = "dir:" + path("shared");
  const auto of = [&](const char* own) {
    return compile(model, {"--no-advice", "--cache-dir", path(own), "--remote-cache", shared});
  };
  const Compiled a = of("a"), b = of("b"), again = of("b");
  EXPECT_EQ(a.cache["programs"]["puts"], 1);
  EXPECT_EQ(b.cache["programs"]["remote_hits"], 1);
  EXPECT_EQ(again.cache["programs"]["local_hits"], 1);
  EXPECT_EQ(b.files, a.files);
  EXPECT_EQ(again.files, a.files);
  // The shared one alone is a cache too.
  EXPECT_EQ(compile(model, {"--no-advice", "--remote-cache", shared}).cache["programs"]["remote_hits"], 1);
}

TEST_F(CacheFolder, TheEnvironmentSaysWhatFlagsSay) {
  const std::string model = graph("net");
  const auto of = [&](std::vector<std::string> words, const std::vector<std::string>& flags) {
    words.insert(words.begin(), "/usr/bin/env");
    for (const std::string& word :
         std::vector<std::string>{kBin + "cs-compile", model, "--no-advice", "--json", "-o", path("out.csp")})
      words.push_back(word);
    words.insert(words.end(), flags.begin(), flags.end());
    const ChildResult r = run_child(words, kPatience);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return json::parse(r.out).value("cache", json());
  };
  const std::string dir = "WAFERSMITH_CACHE_DIR=" + path("cache"),
                    remote = "WAFERSMITH_REMOTE_CACHE=" + path("far");
  EXPECT_TRUE(of({}, {}).is_null()) << "off without a word";
  EXPECT_FALSE(fs::exists(path("cache")));
  EXPECT_EQ(of({dir, remote}, {})["result"], "miss");
  EXPECT_EQ(of({dir}, {})["programs"]["local_hits"], 1);
  EXPECT_EQ(of({remote}, {})["programs"]["remote_hits"], 1);
  EXPECT_EQ(of({dir}, {"--cache-dir", path("other")})["result"], "miss") << "a flag counts more";
  EXPECT_TRUE(of({dir, remote}, {"--no-cache"}).is_null());
}

TEST_F(CacheFolder, StaysBelowItsSize) {
  const Compiled first = compile(graph("net0", "1.5"), {"--no-advice", "--cache-dir", path("cache")});
  const auto bytes = fs::file_size(entry_file("programs"));
  const std::vector<std::string> args{"--no-advice", "--cache-dir", path("cache"), "--cache-size",
                                      fmt::format("{}", bytes * 5 / 2)};
  EXPECT_EQ(compile(graph("net1", "2.5"), args).cache["evictions"], 0);
  EXPECT_EQ(compile(path("net0.yaml"), args).cache["result"], "hit");
  EXPECT_EQ(compile(graph("net2", "3.5"), args).cache["evictions"], 1);
  EXPECT_EQ(compile(path("net0.yaml"), args).cache["result"], "hit") << "it was used after the one that went";
  EXPECT_EQ(compile(path("net1.yaml"), args).cache["result"], "miss");
}

TEST_F(CacheFolder, AFolderThatCannotBeUsedIsAWarning) {
  const std::string model = graph("net");
  const Compiled c = compile(model, {"--no-advice", "--cache-dir", write("file", "no folder")});
  EXPECT_EQ(c.cache["result"], "miss");
  EXPECT_EQ(c.cache["programs"]["puts"], 0);
  EXPECT_GE(c.cache["errors"], 1);
  EXPECT_THAT(c.err, HasSubstr("the cache cannot be used"));
  const ChildResult wrong = run("cs-compile", {model, "--remote-cache", "http://host/"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("redis://HOST:PORT/DB"));
}

TEST_F(CacheFolder, WhatOnlyACompilationKnowsIsCompiled) {
  const std::string model = graph("net");
  compile(model, {"--no-advice", "--cache-dir", path("cache")});
  const Compiled c = compile(model, {"--no-advice", "--cache-dir", path("cache"), "--explain", "origins"});
  EXPECT_EQ(c.cache["result"], "not used");
  EXPECT_EQ(c.cache["programs"]["local_hits"], 0);
  EXPECT_EQ(c.report["cache"], c.cache);
}

TEST_F(CacheFolder, TheToolListsVerifiesAndPrunes) {
  compile(graph("one", "1.5"), {"--no-advice", "--cache-dir", path("cache")});
  compile(graph("two", "2.5"), {"--no-advice", "--cache-dir", path("cache")});
  const auto tool = [&](std::vector<std::string> args, int code) {
    args.insert(args.end(), {"--json", "--cache-dir", path("cache")});
    const ChildResult r = run("cs-cache", args);
    EXPECT_EQ(r.exit_code, code) << r.err;
    return json::parse(r.out);
  };
  const json listed = tool({"list"}, 0);
  ASSERT_EQ(listed["entries"].size(), 2u);
  EXPECT_EQ(listed["entries"][0]["label"], "two.yaml for wse2") << "the last that was used";
  EXPECT_EQ(listed["entries"][0]["space"], "programs");
  flip(entry_file("programs"), 100);
  EXPECT_EQ(tool({"verify"}, 1)["damaged"], 1);
  EXPECT_EQ(tool({"verify", "--drop"}, 0)["dropped"], 1);
  EXPECT_EQ(tool({"verify"}, 0)["entries"], 1);
  EXPECT_EQ(tool({"prune", "--max-size", "0"}, 0)["entries"], 0);
  EXPECT_EQ(run("cs-cache", {"list"}).exit_code, 2);
  const ChildResult none = run("cs-cache", {"list", "--json", "--cache-dir", path("none")});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(json::parse(none.out)["errors"][0]["message"], "no such folder");
  EXPECT_FALSE(fs::exists(path("none")));
  EXPECT_EQ(run("cs-cache", {"--cache-dir", path("cache")}).exit_code, 2);
  EXPECT_EQ(run("cs-cache", {"prune", "--cache-dir", path("cache")}).exit_code, 2);
}

}  // namespace
}  // namespace cs::e2e
