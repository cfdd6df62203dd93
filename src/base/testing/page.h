// SPDX-License-Identifier: Apache-2.0
// For tests: a page of the documents, taken apart into its fenced blocks and what stands between them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace allot::testing {

struct Block {
  std::vector<std::string> marks;  // the words after the fence
  std::vector<std::string> lines;
};
struct Page {
  std::vector<Block> blocks;
  std::vector<std::string> prose;  // all other lines
};

inline std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The path is that in the project.
inline Page ReadPage(const std::string& path) {
  std::ifstream in(path);
  Page page;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) page.blocks.push_back({Words(line.substr(3)), {}});
    } else if (inside) {
      page.blocks.back().lines.push_back(line);
    } else {
      page.prose.push_back(line);
    }
  }
  EXPECT_FALSE(inside);
  EXPECT_FALSE(page.prose.empty()) << path;
  return page;
}

// All pages of a folder of the project, one after the other, in order of their names.
inline std::string ReadFolder(const std::string& path) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::ostringstream text;
  for (const auto& file : files) text << std::ifstream(file).rdbuf() << '\n';
  EXPECT_FALSE(files.empty()) << path;
  return text.str();
}

}  // namespace allot::testing
