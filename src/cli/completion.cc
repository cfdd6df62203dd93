// SPDX-License-Identifier: Apache-2.0
// allot completion bash|zsh|fish: scripts made from the tree of commands itself.
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/context.h"
#include "strategy/strategy.h"

namespace allot::cli {
namespace {

// One command of the tree: its words, and what may follow.
struct Node {
  std::string path;                                           // ` job set`; empty for the program itself
  std::vector<std::pair<std::string, std::string>> commands;  // name, help
  struct Flag {
    std::vector<std::string> names;  // with their dashes
    std::string help;
    bool value = false;
    std::vector<std::string> words;  // that the value can be, as far as they are known
  };
  std::vector<Flag> flags;
  std::vector<std::string> words;  // that an argument can be
};

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\'' || c == '"' || c == '`' || c == '$' || c == '\\' || c == ':' || c == '[' || c == ']')
      c = ' ';
  }
  return text;
}

// Strategies of one word.
std::vector<std::string> StrategyWords() {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::size(kStrategyWords); ++i) {
    if (kStrategyShapes[i] == Strategy::Shape::kOrder) words.emplace_back(kStrategyWords[i]);
  }
  words.emplace_back("fair");
  return words;
}

// What an option can be, where it is one of some words: its check says `{table,json}`.
std::vector<std::string> WordsOf(const CLI::Option& option) {
  // The rest is checked by what reads it.
  static const std::pair<std::string_view, std::vector<std::string>> kElsewhere[] = {
      {"strategy", StrategyWords()},
      {"policy", {"worker", "fair"}},
      {"dispatch", {"fanout", "balanced"}},
      {"balance", {"least_queue", "round_robin", "random"}},
      {"log-level", {"trace", "debug", "info", "warning", "error", "off"}},
      {"log-format", {"auto", "text", "json"}},
  };
  for (const auto& [name, words] : kElsewhere) {
    if (option.check_lname(std::string(name)) && option.get_items_expected_max() > 0) return words;
  }
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.find('}', open);
  std::vector<std::string> words;
  if (open == std::string::npos || close == std::string::npos) return words;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(list, word, ',');) {
    if (word.empty() || word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-0123456789") != std::string::npos)
      return {};
    words.push_back(std::move(word));
  }
  return words;
}

void Collect(const CLI::App& app, const std::string& path, std::vector<Node>& out) {
  Node node;
  node.path = path;
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : subcommands)
    node.commands.emplace_back(command->get_name(), OneLine(command->get_description()));
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    Node::Flag flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    if (flag.names.empty()) {  // positional
      for (std::string& word : WordsOf(*option)) node.words.push_back(std::move(word));
      continue;
    }
    flag.help = OneLine(option->get_description());
    flag.value = option->get_items_expected_max() > 0 && option->get_type_size() > 0;
    if (flag.value) flag.words = WordsOf(*option);
    node.flags.push_back(std::move(flag));
  }
  out.push_back(std::move(node));
  for (const CLI::App* command : subcommands) Collect(*command, path + " " + command->get_name(), out);
}

std::string Words(const std::vector<std::pair<std::string, std::string>>& commands) {
  std::string out;
  for (const auto& [name, help] : commands) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string Spaced(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string FlagWords(const Node& node, bool only_with_value) {
  std::string out;
  for (const Node::Flag& flag : node.flags) {
    if (only_with_value && !flag.value) continue;
    for (const std::string& name : flag.names) out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

std::string Bash(const std::vector<Node>& nodes) {
  std::string out =
      "# bash completion of allot. Use: source <(allot completion bash)\n_allot() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word i commands= flags= values= "
      "words=\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n    word=${COMP_WORDS[i]}\n"
      "    [[ $word == -- ]] && { compopt -o default; COMPREPLY=(); return; }\n    case \"$path $word\" in\n      ";
  std::string paths;
  for (const Node& node : nodes) {
    if (!node.path.empty()) paths += (paths.empty() ? "'" : " | '") + node.path + "'";
  }
  out += paths + ") path=\"$path $word\" ;;\n    esac\n  done\n  case $path in\n";
  for (const Node& node : nodes) {
    out += "    '" + node.path + "') commands='" + Words(node.commands) + "' flags='" + FlagWords(node, false) +
           "' values='" + FlagWords(node, true) + "' words='" + Spaced(node.words) + "' ;;\n";
  }
  out += "  esac\n  case \"$path $prev\" in\n";
  for (const Node& node : nodes) {
    for (const Node::Flag& flag : node.flags) {
      if (flag.words.empty()) continue;
      std::string places;
      for (const std::string& name : flag.names)
        places += (places.empty() ? "'" : " | '") + node.path + " " + name + "'";
      out += "    " + places + ") COMPREPLY=($(compgen -W '" + Spaced(flag.words) + "' -- \"$cur\")); return ;;\n";
    }
  }
  out +=
      "  esac\n  if [[ \" $values \" == *\" $prev \"* ]]; then compopt -o default; COMPREPLY=(); return; fi\n"
      "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
      "  elif [[ -n $commands$words ]]; then COMPREPLY=($(compgen -W \"$commands $words\" -- \"$cur\"))\n"
      "  else compopt -o default; COMPREPLY=(); fi\n}\ncomplete -F _allot allot\n";
  return out;
}

std::string Zsh(const std::vector<Node>& nodes) {
  std::string out =
      "#compdef allot\n# zsh completion of allot. Use: source <(allot completion zsh), or save as _allot in "
      "$fpath\n_allot() {\n"
      "  local path_= word\n  local -a commands flags values words_\n  for word in ${words[2,CURRENT-1]}; do\n"
      "    [[ $word == -- ]] && { _files; return }\n    case \"$path_ $word\" in\n      ";
  std::string paths;
  for (const Node& node : nodes) {
    if (!node.path.empty()) paths += (paths.empty() ? "'" : "|'") + node.path + "'";
  }
  out += paths + ") path_=\"$path_ $word\" ;;\n    esac\n  done\n  case $path_ in\n";
  for (const Node& node : nodes) {
    out += "    '" + node.path + "')\n      commands=(";
    for (const auto& [name, help] : node.commands) out += fmt::format("'{}:{}' ", name, help);
    out += ")\n      flags=(";
    for (const Node::Flag& flag : node.flags) {
      for (const std::string& name : flag.names) out += fmt::format("'{}:{}' ", name, flag.help);
    }
    out += ")\n      values=(" + FlagWords(node, true) + ") words_=(" + Spaced(node.words) + ") ;;\n";
  }
  out += "  esac\n  case \"$path_ ${words[CURRENT-1]}\" in\n";
  for (const Node& node : nodes) {
    for (const Node::Flag& flag : node.flags) {
      if (flag.words.empty()) continue;
      std::string places;
      for (const std::string& name : flag.names) places += (places.empty() ? "'" : "|'") + node.path + " " + name + "'";
      out += "    " + places + ") compadd -- " + Spaced(flag.words) + "; return ;;\n";
    }
  }
  out +=
      "  esac\n  if (( ${values[(Ie)${words[CURRENT-1]}]} )); then _files\n"
      "  elif [[ ${words[CURRENT]} == -* ]]; then _describe option flags\n"
      "  elif (( ${#commands} )); then _describe command commands\n"
      "  elif (( ${#words_} )); then compadd -- $words_\n  else _files; fi\n}\n"
      "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _allot \"$@\"; else compdef _allot allot; fi\n";
  return out;
}

std::string Fish(const std::vector<Node>& nodes) {
  std::string out =
      "# fish completion of allot. Use: allot completion fish | source\nfunction __allot_path\n  set -l path ''\n"
      "  for word in (commandline -opc)[2..-1]\n    switch \"$path $word\"\n      case ";
  for (const Node& node : nodes) {
    if (!node.path.empty()) out += "'" + node.path + "' ";
  }
  out +=
      "\n        set path \"$path $word\"\n    end\n  end\n  echo $path\nend\n"
      "function __allot_at\n  test (__allot_path) = \"$argv[1]\"\nend\n";
  for (const Node& node : nodes) {
    const std::string condition = " -n '__allot_at \"" + node.path + "\"'";
    for (const auto& [name, help] : node.commands)
      out += fmt::format("complete -c allot -f{} -a {} -d '{}'\n", condition, name, help);
    if (!node.words.empty()) out += "complete -c allot -f" + condition + " -a '" + Spaced(node.words) + "'\n";
    for (const Node::Flag& flag : node.flags) {
      out += "complete -c allot" + condition;
      for (const std::string& name : flag.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (flag.value) out += flag.words.empty() ? " -r" : " -x -a '" + Spaced(flag.words) + "'";
      out += " -d '" + flag.help + "'\n";
    }
  }
  return out;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, std::string_view shell) {
  std::vector<Node> nodes;
  Collect(app, "", nodes);
  if (shell == "zsh") return Zsh(nodes);
  if (shell == "fish") return Fish(nodes);
  return Bash(nodes);
}

void AddCompletionCommand(CLI::App& app, Context&) {
  CLI::App& command = *app.add_subcommand("completion", "Print a completion script: source <(allot completion bash)");
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.callback([&app, shell] { std::cout << CompletionScript(app, *shell); });
}

}  // namespace allot::cli
