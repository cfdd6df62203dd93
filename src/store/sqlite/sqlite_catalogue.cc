#include "store/sqlite/sqlite_catalogue.h"

#include <filesystem>

namespace allot {

Result<void> SqliteCatalogue::Prepare() {
  std::error_code ec;
  std::filesystem::create_directories(files_.folder(), ec);
  if (!ec) return {};
  return Error{Code::kStoreFailed, "cannot make the directory " + files_.folder() + ": " + ec.message(),
               "choose another one with --data"};
}

Result<std::vector<std::string>> SqliteCatalogue::List() {
  Result<std::vector<std::string>> listed = files_.List();
  if (listed.ok()) return listed;
  return Error{Code::kStoreFailed, "cannot read the directory " + files_.folder() + ": " + listed.error().message, ""};
}

Result<std::unique_ptr<Store>> SqliteCatalogue::Open(const std::string& queue) {
  SqliteOptions options = options_;
  options.file = files_.FileOf(queue);
  return SqliteStore::Open(options);
}

}  // namespace allot
