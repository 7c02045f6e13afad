// Read: lines of a text file, a picture, or a notebook.
#include <algorithm>
#include <cerrno>
#include <unistd.h>

#include <fmt/format.h>

#include "base/units.h"
#include "tools/file_target.h"
#include "tools/line_ends.h"
#include "tools/line_picker.h"
#include "tools/media_type.h"
#include "tools/notebook.h"
#include "tools/tool.h"
#include "workspace/system_text.h"

namespace polybox::tools {
namespace {

constexpr std::int64_t kDefaultLines = 2000;
/// All of a file is read, because its hash is needed. This much takes less than a second.
constexpr Bytes kLargestText = Bytes::MiB(256);
/// What the interfaces of models accept for one picture.
constexpr Bytes kLargestImage = Bytes::MiB(5);
/// A notebook is held in memory several times.
constexpr Bytes kLargestNotebook = Bytes::MiB(16);
constexpr std::size_t kPart = 65536;

enum class View { kAuto, kText };

std::vector<std::pair<View, std::string_view>> NamesOf(View /*type*/) {
  return {{View::kAuto, "auto"}, {View::kText, "text"}};
}

struct ReadArguments {
  std::string file_path;
  std::int64_t offset = 1;
  std::int64_t limit = kDefaultLines;
  View view = View::kAuto;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("file_path", &ReadArguments::file_path, "Absolute, or from the workspace"),
        json::Optional("offset", &ReadArguments::offset, "First line, from 1"),
        json::Optional("limit", &ReadArguments::limit, "Number of lines"),
        json::Optional("view", &ReadArguments::view, "text: JSON of a notebook, not its cells"));
  }
};

enum class Kind { kText, kImage, kNotebook };

std::vector<std::pair<Kind, std::string_view>> NamesOf(Kind /*type*/) {
  return {{Kind::kText, "text"}, {Kind::kImage, "image"}, {Kind::kNotebook, "notebook"}};
}

struct ReadResult {
  std::string path = {};
  Kind kind = Kind::kText;
  std::int64_t bytes = 0;
  std::string content = {};
  std::int64_t first_line = 1;
  std::int64_t lines = 0;
  std::int64_t total_lines = 0;
  /// Bytes of the last line that are left out.
  std::int64_t cut_bytes = 0;
  std::optional<std::int64_t> next_offset = {};
  /// Sentences for the end of the text.
  std::vector<std::string> notes = {};
  /// Not part of the data: a protocol sends pictures as such.
  std::vector<ImageBlock> images = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &ReadResult::path, "From the workspace"),
                      json::Required("kind", &ReadResult::kind),
                      json::Required("bytes", &ReadResult::bytes, "Size of the file"),
                      json::Required("content", &ReadResult::content),
                      json::Required("first_line", &ReadResult::first_line),
                      json::Required("lines", &ReadResult::lines),
                      json::Required("total_lines", &ReadResult::total_lines),
                      json::Optional("next_offset", &ReadResult::next_offset),
                      json::Optional("cut_bytes", &ReadResult::cut_bytes),
                      json::Optional("notes", &ReadResult::notes));
  }
};

std::string Numbered(const ReadResult& result) {
  std::string text;
  std::string_view rest = result.content;
  for (std::int64_t line = result.first_line; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n') + 1;
    fmt::format_to(std::back_inserter(text), "{}\t{}", line, rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return text;
}

std::vector<Block> Blocks(const ReadResult& result) {
  std::vector<Block> blocks(result.images.begin(), result.images.end());
  if (result.kind == Kind::kImage) return blocks;
  std::string text = result.kind == Kind::kText ? Numbered(result) : result.content;
  for (const std::string& note : result.notes) text += "(" + note + ")\n";
  blocks.insert(blocks.begin(), TextBlock{std::move(text)});
  return blocks;
}

/// Reads the file from its start, passes each part to `take`, and returns the hash of all.
template <typename Take>
Result<workspace::ContentHash> ReadParts(const OpenFile& file, std::string_view shown, Take take) {
  workspace::ContentHasher hasher;
  std::string buffer(kPart, '\0');
  std::uint64_t size = 0;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.fd.get(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return workspace::CallError("read", shown, errno).In("read");
    if (got == 0) return hasher.Finish();
    const std::string_view part(buffer.data(), static_cast<std::size_t>(got));
    at += got;
    size += part.size();
    // The file may grow while it is read.
    if (size > kLargestText.count()) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("read: {} is larger than {}", shown, FormatBytes(kLargestText)));
    }
    hasher.Add(part);
    take(part);
  }
}

Status RequireSize(const OpenFile& file, const ReadArguments& arguments, Bytes largest) {
  const auto size = static_cast<std::uint64_t>(file.info.st_size);
  if (size <= largest.count()) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("read: {} has {} bytes; at most {} of such a file can be read",
                           arguments.file_path, size, FormatBytes(largest)))
      .WithFix("search in the file with Grep, or look at a part of it with a command");
}

/// Returns the first bytes of the file.
std::string Probe(const OpenFile& file) {
  std::string bytes(kProbedBytes, '\0');
  const ssize_t got = ::pread(file.fd.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

/// One call of Read.
class Reading {
 public:
  Reading(const Context& context, const ReadArguments& arguments, const WorkspaceCall& call,
          const OpenFile& file)
      : context_(context), arguments_(arguments), call_(call), file_(file) {
    result_.path = file.place.path;
    result_.bytes = file.info.st_size;
  }

  Result<ReadResult> Run() {
    const std::string first_bytes = Probe(file_);
    const std::string_view image = ImageType(first_bytes);
    const bool notebook = file_.place.name.ends_with(".ipynb") && arguments_.view == View::kAuto;
    if (!image.empty()) {
      POLYBOX_RETURN_IF_ERROR(ReadImage(image));
    } else if (IsBinary(first_bytes)) {
      return Error(ErrorKind::kInvalid, fmt::format("read: {} is a binary file of {} bytes",
                                                    arguments_.file_path, file_.info.st_size))
          .WithFix("look at it with a command, such as file, xxd or strings");
    } else if (notebook) {
      POLYBOX_RETURN_IF_ERROR(ReadCells());
    } else {
      POLYBOX_RETURN_IF_ERROR(ReadLines());
    }
    return std::move(result_);
  }

 private:
  Status ReadAllOf(Bytes largest, std::string& content) {
    POLYBOX_RETURN_IF_ERROR(RequireSize(file_, arguments_, largest));
    POLYBOX_ASSIGN_OR_RETURN(
        const workspace::ContentHash hash,
        ReadParts(file_, arguments_.file_path, [&](std::string_view part) { content += part; }));
    MarkSeen(context_, call_, file_.place.path, hash);
    return {};
  }

  Status ReadImage(std::string_view type) {
    result_.kind = Kind::kImage;
    std::string bytes;
    POLYBOX_RETURN_IF_ERROR(ReadAllOf(kLargestImage, bytes));
    result_.images.push_back({std::move(bytes), std::string(type)});
    return {};
  }

  Status ReadCells() {
    result_.kind = Kind::kNotebook;
    std::string content;
    POLYBOX_RETURN_IF_ERROR(ReadAllOf(kLargestNotebook, content));
    Result<Notebook> notebook = ReadNotebook(content);
    if (!notebook.ok()) {
      return Error(std::move(notebook).error())
          .In(fmt::format("read: {}", arguments_.file_path))
          .WithFix("view=text shows the file as it is");
    }
    result_.images = std::move(notebook->images);
    Pick(notebook->text);
    if (notebook->left_out_images > 0) {
      result_.notes.push_back(fmt::format("{} pictures left out", notebook->left_out_images));
    }
    return {};
  }

  LinePicker NewPicker() const {
    return {FirstLine(), arguments_.limit > 0 ? arguments_.limit : kDefaultLines,
            Budget(context_.budget_tokens)};
  }
  std::int64_t FirstLine() const { return std::max<std::int64_t>(arguments_.offset, 1); }

  void Pick(std::string_view text) {
    LinePicker picker = NewPicker();
    picker.Feed(text);
    Take(picker.Finish());
  }

  Status ReadLines() {
    POLYBOX_RETURN_IF_ERROR(RequireSize(file_, arguments_, kLargestText));
    LinePicker picker = NewPicker();
    bool at_start = true;
    POLYBOX_ASSIGN_OR_RETURN(const workspace::ContentHash hash,
                             ReadParts(file_, arguments_.file_path, [&](std::string_view part) {
                               if (at_start && part.starts_with(kByteOrderMark)) {
                                 part.remove_prefix(kByteOrderMark.size());
                               }
                               at_start = false;
                               picker.Feed(part);
                             }));
    PickedLines picked = picker.Finish();
    if (picked.too_long) {
      return Error(ErrorKind::kInvalid, "read: bufio.Scanner: token too long")
          .WithFix("a line has 1 MiB or more; search in the file with Grep");
    }
    if (FirstLine() > 1 && FirstLine() > picked.total) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("read: offset {} exceeds line count {}", FirstLine(), picked.total));
    }
    MarkSeen(context_, call_, file_.place.path, hash);
    Take(std::move(picked));
    return {};
  }

  /// Puts the lines into the result, with notes about what is left out against the caller's will.
  void Take(PickedLines picked) {
    result_.content = std::move(picked.text);
    result_.first_line = FirstLine();
    result_.lines = picked.count;
    result_.total_lines = picked.total;
    result_.cut_bytes = static_cast<std::int64_t>(picked.cut_bytes);
    const std::int64_t next = FirstLine() + picked.count;
    if (next <= picked.total) result_.next_offset = next;
    if (picked.cut_bytes > 0) {
      result_.notes.push_back(
          fmt::format("{} bytes of line {} left out; a larger budget_tokens "
                      "shows more",
                      picked.cut_bytes, FirstLine()));
    }
    const bool limited = arguments_.limit <= 0 || arguments_.limit == kDefaultLines;
    if (next <= picked.total && (picked.over_budget || limited)) {
      result_.notes.push_back(
          fmt::format("lines {}-{} left out; Read on with offset={}", next, picked.total, next));
    }
  }

  const Context& context_;
  const ReadArguments& arguments_;
  const WorkspaceCall& call_;
  const OpenFile& file_;
  ReadResult result_;
};

Result<ReadResult> Read(const Context& context, const ReadArguments& arguments) {
  if (arguments.file_path.empty()) return Error(ErrorKind::kInvalid, "file_path is required");
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(context, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const OpenFile file, OpenPlainFile(call, arguments.file_path));
  return Reading(context, arguments, call, file).Run();
}

}  // namespace

Tool ReadTool() {
  return MakeTool<ReadArguments, ReadResult>(
      {.name = "Read",
       .title = "Read a file",
       .description = "Shows lines of a text file with their numbers, a picture, or the cells of a "
                      "notebook. Required before Edit, and before Write replaces a file.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      Read);
}

}  // namespace polybox::tools
