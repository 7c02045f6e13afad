// Scrubs the source files of this machine's packages. Nothing of them may change but tokens that
// somebody has published, which testdata/published-tokens.txt lists.
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "secrets/matcher.h"

namespace polybox::secrets {
namespace {

constexpr std::size_t kFiles = 10'000;
/// Each folder gives at most so many files, so that all languages are among them.
constexpr std::size_t kFilesOfAFolder = 2000;
constexpr Bytes kLargestFile = Bytes::MiB(1);

/// Every Debian machine that can build and test polybox has some of these.
constexpr const char* kFolders[] = {
    "/usr/lib/python3",      "/usr/lib/python3.11",   "/usr/share/perl",
    "/usr/share/perl5",      "/usr/lib/ruby",         "/usr/share/php",
    "/usr/lib/go-1.19",      "/usr/share/go-1.19",    "/usr/share/nodejs",
    "/usr/lib/node_modules", "/usr/share/cmake-3.25", "/usr/include/boost",
    "/usr/include",          "/usr/share/doc",        "/usr/lib/x86_64-linux-gnu/perl",
    "/usr/share/javascript", "/usr/lib/gcc",
};

bool IsSource(const std::filesystem::path& file) {
  static const std::set<std::string> kEndings = {
      ".py",  ".h",   ".hpp", ".ipp", ".c",  ".cc",   ".cpp",  ".js",  ".mjs", ".cjs", ".ts",
      ".go",  ".pl",  ".pm",  ".rb",  ".rs", ".sh",   ".java", ".php", ".lua", ".tcl", ".cmake",
      ".cfg", ".ini", ".mk",  ".css", ".md", ".json", ".yaml", ".yml", ".toml"};
  return kEndings.contains(file.extension().string());
}

/// Adds at most `most` source files of the folder.
void AddFiles(const std::string& folder, std::size_t most, std::set<std::string>& files) {
  std::error_code error;
  std::size_t added = 0;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator each(folder, options, error), end;
       !error && each != end && added < most; each.increment(error)) {
    std::error_code ignored;
    if (!IsSource(each->path()) || each->is_symlink(ignored) || !each->is_regular_file(ignored)) {
      continue;
    }
    if (each->file_size(ignored) > kLargestFile.count()) continue;
    if (files.insert(each->path().string()).second) ++added;
  }
}

std::set<std::string> PublishedTokens() {
  std::ifstream list(POLYBOX_SOURCE_DIR "/src/secrets/testdata/published-tokens.txt");
  std::set<std::string> tokens;
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && !line.starts_with('#')) tokens.insert(line);
  }
  return tokens;
}

TEST(SourceCorpus, OnlyPublishedTokensOfTenThousandSourceFilesAreRemoved) {
  std::set<std::string> files;
  for (const char* folder : kFolders) AddFiles(folder, kFilesOfAFolder, files);
  // The headers of Boost, without which polybox is not built, are more than enough for the rest.
  if (files.size() < kFiles) AddFiles("/usr/include", kFiles, files);
  ASSERT_GE(files.size(), kFiles);
  const Matcher matcher({{"known", "a-value-that-no-source-has-4711"}}, BuiltinShapes().value(),
                        {});
  const std::set<std::string> published = PublishedTokens();
  ASSERT_FALSE(published.empty());
  for (const std::string& file : files) {
    const Result<std::string> text = ReadFile(file);
    if (!text.ok()) continue;
    for (const Hit& hit : matcher.Find(*text)) {
      const std::string token = text->substr(hit.span.begin, hit.span.size());
      EXPECT_TRUE(published.contains(token))
          << file << ": " << hit.label << " takes this for a token: " << token;
    }
  }
}

}  // namespace
}  // namespace polybox::secrets
