// A temporary directory for one test. The destructor removes it with its contents.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace polybox::testing {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "polybox-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  /// Writes `path()/name`, with the directories above it, and returns its full path.
  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }
  /// The same as Write(), for a file that can be executed.
  std::string WriteExecutable(const std::string& name, const std::string& content) const {
    std::string file = Write(name, content);
    std::filesystem::permissions(file, std::filesystem::perms(0755));
    return file;
  }

 private:
  std::string path_;
};

}  // namespace polybox::testing
