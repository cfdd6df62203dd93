// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/files_watch.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace allot::sqlite {

Result<void> FilesWatch::Begin(std::vector<std::string> names) {
  files_.clear();
  for (std::string& name : names) {
    struct stat info {};
    if (stat(name.c_str(), &info) != 0) {
      return Error{Code::kStoreFailed, "cannot read " + name + ": " + std::strerror(errno), ""};
    }
    files_.push_back({std::move(name), info.st_dev, info.st_ino});
  }
  return {};
}

Result<void> FilesWatch::Check() const {
  for (const Watched& file : files_) {
    struct stat info {};
    const bool there = stat(file.name.c_str(), &info) == 0;
    if (there && info.st_dev == file.device && info.st_ino == file.inode) continue;
    // A system that cannot tell just now (no memory) has not lost the file.
    if (!there && errno != ENOENT && errno != ENOTDIR && errno != ESTALE) continue;
    return Error{Code::kStoreFailed, file.name + (there ? " was replaced" : " was removed") + " while it was in use",
                 "what is written from now on would be lost: put the files back, or restore a backup"};
  }
  return {};
}

}  // namespace allot::sqlite
