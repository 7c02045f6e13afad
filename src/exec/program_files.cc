#include "exec/program_files.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/printable.h"
#include "exec/choose_entry.h"
#include "sys/guest_tree.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;
using jail::InputFile;

constexpr std::string_view kStandardInput = "-";
/// The directory of a repository's history: it is large and useless to a program.
constexpr std::string_view kRepository = ".git";
constexpr std::size_t kMostNamed = 20;

Error Invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

std::uint32_t ModeOf(mode_t mode) {
  return (mode & 0111U) == 0 ? 0644 : 0755;
}

const char* KindName(mode_t mode) {
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// Reads the files that the query names, within its limits.
class Gatherer {
 public:
  explicit Gatherer(const ProgramFilesLimits& limits) : limits_(limits) {}

  Status TakeFile(const std::string& path, const std::string& name) {
    const bool is_input = path == kStandardInput;
    UniqueFd opened;
    std::uint32_t mode = 0644;
    if (!is_input) {
      POLYBOX_ASSIGN_OR_RETURN(opened, OpenFile(path, O_RDONLY));
    }
    POLYBOX_ASSIGN_OR_RETURN(std::string content,
                             ReadAll(is_input ? STDIN_FILENO : opened.get(), limits_.file)
                                 .In(is_input ? "standard input" : path));
    return Add({name, std::move(content), mode});
  }

  /// `prefix` is "" or ends with a slash.
  Status TakeDirectory(const std::string& path, const std::string& prefix) {
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd top, OpenFile(path, O_RDONLY | O_DIRECTORY));
    const sys::TreeVisitor visitor = {
        .entry = [&](const sys::TreeEntry& entry) { return TakeEntry(entry, path, prefix); },
        .skipped = [&](const std::string& inner, std::string_view why) -> Status {
          // A program without some of its files would fail in a way that nobody understands.
          return Invalid(fmt::format("{}/{}: {}", path, inner, why));
        },
        .enters = [](const sys::TreeEntry& entry) { return entry.name != kRepository; }};
    return sys::WalkGuestTree(top.get(), {.depth = limits_.depth}, visitor);
  }

  std::vector<InputFile> TakeFiles() { return std::move(files_); }
  std::vector<std::string> TakeSkipped() {
    if (unnamed_ > 0) skipped_.push_back(fmt::format("and {} more", unnamed_));
    return std::move(skipped_);
  }

 private:
  Status TakeEntry(const sys::TreeEntry& entry, const std::string& top, const std::string& prefix) {
    const mode_t mode = entry.info.st_mode;
    const std::string shown = fmt::format("{}/{}", top, entry.path);
    if (S_ISDIR(mode)) {
      if (entry.name == kRepository) Skip(shown, "a repository's history");
      return {};
    }
    if (!S_ISREG(mode)) {
      Skip(shown, KindName(mode));
      return {};
    }
    POLYBOX_ASSIGN_OR_RETURN(
        const UniqueFd file,
        sys::OpenBeneath(entry.directory, entry.name, O_RDONLY).In("read " + top));
    POLYBOX_ASSIGN_OR_RETURN(std::string content, ReadAll(file.get(), limits_.file).In(shown));
    return Add({prefix + entry.path, std::move(content), ModeOf(mode)});
  }

  void Skip(const std::string& path, std::string_view why) {
    if (skipped_.size() == kMostNamed) {
      ++unnamed_;
    } else {
      skipped_.push_back(fmt::format("{} ({})", Printable(path, 300), why));
    }
  }

  Status Add(InputFile file) {
    if (files_.size() == limits_.files) {
      return Invalid(fmt::format("more than {} files", limits_.files));
    }
    // The limit is checked after the file was read; ReadAll() has limited its size.
    total_ += file.content.size();
    if (Bytes(total_) > limits_.total) {
      return Invalid(fmt::format("more than {} in all", FormatBytes(limits_.total)));
    }
    for (const InputFile& other : files_) {
      if (other.name == file.name) {
        return Invalid(fmt::format("two files would be \"{}\" in the working directory",
                                   Printable(file.name, 300)));
      }
    }
    files_.push_back(std::move(file));
    return {};
  }

  const ProgramFilesLimits& limits_;
  std::vector<InputFile> files_;
  std::vector<std::string> skipped_;
  std::size_t unnamed_ = 0;
  std::uint64_t total_ = 0;
};

/// Whether the path names a directory. False for a path that cannot be looked at: the function that
/// opens it says why.
bool IsDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Returns the absolute form of a path. Where the current directory is gone, this is the path.
fs::path Absolute(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  return error ? path : whole;
}

/// Returns the name in the working directory of a path that is not the first one.
std::string NameBeside(const fs::path& path, const fs::path& directory) {
  const fs::path relative =
      Absolute(path).lexically_normal().lexically_relative(directory.lexically_normal());
  const bool inside = !relative.empty() && *relative.begin() != ".." && relative != ".";
  if (inside) return relative.string();
  const fs::path whole = Absolute(path).lexically_normal();
  // A path such as "data/" has an empty last part.
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// Returns the directory to which the names of the other paths are relative.
fs::path DirectoryOf(const std::string& first) {
  if (first == kStandardInput) return Absolute(".");
  const fs::path whole = Absolute(first);
  return IsDirectory(whole) ? whole : whole.parent_path();
}

/// Returns the name of a program from standard input: the entry's name in its language.
std::string NameOfInput(const languages::Registry& registry, const std::string& language) {
  const languages::Language* named = registry.Find(language);
  return named == nullptr ? "program" : named->entry.file;
}

Status Gather(const ProgramFilesQuery& query, const languages::Registry& registry,
              Gatherer& gatherer) {
  const fs::path directory = DirectoryOf(query.paths[0]);
  for (std::size_t i = 0; i < query.paths.size(); ++i) {
    const std::string& path = query.paths[i];
    const bool first = i == 0;
    if (path == kStandardInput) {
      if (!first) return Invalid("only the first file can be - (standard input)");
      POLYBOX_RETURN_IF_ERROR(gatherer.TakeFile(path, NameOfInput(registry, query.language)));
    } else if (path.empty()) {
      return Invalid("the name of a file is empty");
    } else if (IsDirectory(path)) {
      const std::string prefix = first ? "" : NameBeside(path, directory) + "/";
      POLYBOX_RETURN_IF_ERROR(gatherer.TakeDirectory(path, prefix));
    } else {
      const std::string name =
          first ? fs::path(path).filename().string() : NameBeside(path, directory);
      POLYBOX_RETURN_IF_ERROR(gatherer.TakeFile(path, name));
    }
  }
  return {};
}

/// If the language has a fixed name for its entry, the chosen file gets that name. This function
/// returns an error if another file has it.
Status CheckFixedName(const std::vector<InputFile>& files, const ChosenEntry& chosen) {
  const languages::Entry& entry = chosen.language->entry;
  if (entry.rule != languages::EntryRule::kFixed) return {};
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i == chosen.index || files[i].name != entry.file) continue;
    return Invalid(
        fmt::format("{} calls its entry {}, and that is another file: run it, or rename "
                    "it",
                    chosen.language->name, entry.file));
  }
  return {};
}

}  // namespace

Result<ProgramFiles> ReadProgramFiles(const languages::Registry& registry,
                                      const ProgramFilesQuery& query) {
  Gatherer gatherer(query.limits);
  POLYBOX_RETURN_IF_ERROR(Gather(query, registry, gatherer));
  ProgramFiles program;
  program.files = gatherer.TakeFiles();
  program.skipped = gatherer.TakeSkipped();
  const bool is_directory = query.paths[0] != kStandardInput && IsDirectory(query.paths[0]);
  POLYBOX_ASSIGN_OR_RETURN(const ChosenEntry chosen, ChooseEntry(registry, program.files,
                                                                 {.shown = query.paths[0],
                                                                  .entry = query.entry,
                                                                  .language = query.language,
                                                                  .is_directory = is_directory}));
  program.language = chosen.language;
  POLYBOX_RETURN_IF_ERROR(CheckFixedName(program.files, chosen));
  const auto entry = program.files.begin() + static_cast<std::ptrdiff_t>(chosen.index);
  // The entry becomes the first file; the order of the others stays.
  std::rotate(program.files.begin(), entry, entry + 1);
  return program;
}

}  // namespace polybox::exec
