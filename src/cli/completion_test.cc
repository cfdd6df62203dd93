// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <gtest/gtest.h>

namespace allot::cli {
namespace {

TEST(Completion, KnowsEveryCommandAndFlagOfTheTree) {
  CLI::App app("test", "allot");
  std::string text;
  CLI::App& job = *app.add_subcommand("job", "It's a \"job\": $x [y]");
  CLI::App& set = *job.add_subcommand("set", "Change");
  set.add_option("-p,--priority", text, "N");
  set.add_flag("--no-tags");
  set.add_option("JOB", text, "positional");
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(app, shell);
    for (const char* word : {"job", "set", "priority", "no-tags"})
      EXPECT_NE(script.find(word), std::string::npos) << shell << ' ' << word;
    EXPECT_EQ(script.find("$x"), std::string::npos) << shell;
    EXPECT_EQ(script.find("JOB"), std::string::npos) << shell;
  }
}

TEST(Completion, OffersTheWordsThatAValueCanBe) {
  CLI::App app("test", "allot");
  std::string text;
  CLI::App& jobs = *app.add_subcommand("jobs", "List");
  jobs.add_option("-s,--state", text)->type_name("STATE")->check(CLI::IsMember({"active", "done"}));
  jobs.add_option("--strategy", text)->type_name("TEXT");
  jobs.add_option("--file", text)->check(CLI::ExistingFile);
  jobs.add_option("SHELL", text)->check(CLI::IsMember({"bash", "zsh"}));
  const std::string bash = CompletionScript(app, "bash");
  EXPECT_NE(bash.find("' jobs -s' | ' jobs --state') COMPREPLY=($(compgen -W 'active done' "), std::string::npos)
      << bash;
  EXPECT_NE(bash.find("least_recent"), std::string::npos) << bash;
  EXPECT_NE(bash.find("words='bash zsh'"), std::string::npos) << bash;
  EXPECT_NE(CompletionScript(app, "zsh").find("' jobs -s'|' jobs --state') compadd -- active done;"),
            std::string::npos);
  EXPECT_NE(CompletionScript(app, "fish").find(" -s s -l state -x -a 'active done'"), std::string::npos);
}

TEST(Completion, BashTellsFlagsWithAValueFromThoseWithout) {
  CLI::App app("test", "allot");
  std::string text;
  CLI::App& jobs = *app.add_subcommand("jobs", "List");
  jobs.add_option("-t,--tag", text);
  jobs.add_flag("--all");
  const std::string script = CompletionScript(app, "bash");
  EXPECT_NE(script.find("values='-t --tag'"), std::string::npos) << script;
}

}  // namespace
}  // namespace allot::cli
