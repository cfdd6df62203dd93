// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/queue_files.h"

#include <algorithm>
#include <filesystem>

#include "store/journal/scan.h"
#include "store/sqlite/file_guard.h"
#include "store/sqlite/mark.h"

namespace allot::sqlite {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSuffix = ".db";
// A file that is missing is noticed by what is beside it.
constexpr std::string_view kSuffixes[] = {kSuffix, ".db.mark", ".db-wal", ".db.journal-1"};

}  // namespace

std::string QueueFiles::FileOf(std::string_view queue) const {
  return folder_ + "/" + std::string(queue) + std::string(kSuffix);
}

Result<std::vector<std::string>> QueueFiles::List() const {
  std::vector<std::string> names;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ec)) {
    const std::string file = entry.path().filename().string();
    for (const std::string_view suffix : kSuffixes) {
      if (file.size() <= suffix.size() || !std::string_view(file).ends_with(suffix)) continue;
      names.push_back(file.substr(0, file.size() - suffix.size()));
    }
  }
  if (ec) return Error{Code::kStoreFailed, ec.message(), ""};
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<void> QueueFiles::Delete(std::string_view queue) const { return DeleteFiles(FileOf(queue)); }

Result<bool> QueueFiles::FinishDeletion(std::string_view queue) const { return sqlite::FinishDeletion(FileOf(queue)); }

bool QueueFiles::IsQueueFile(const std::string& file) {
  std::error_code ec;
  return fs::exists(MarkOf(file), ec) || fs::exists(file + "-wal", ec) || fs::exists(journal::SegmentName(file, 1), ec);
}

}  // namespace allot::sqlite
