// Write: a new file, or new content for one that the caller has read.
#include <mutex>

#include <fmt/format.h>

#include "tools/file_target.h"
#include "tools/line_ends.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

namespace polybox::tools {
namespace {

/// What happens to the line ends and the byte-order mark of the file that is replaced.
enum class Form { kKeep, kAsGiven };

std::vector<std::pair<Form, std::string_view>> NamesOf(Form /*type*/) {
  return {{Form::kKeep, "keep"}, {Form::kAsGiven, "as_given"}};
}

struct WriteArguments {
  std::string file_path;
  std::string content;
  Form line_ends = Form::kKeep;

  static constexpr auto Members() {
    return std::tuple(
        json::Required("file_path", &WriteArguments::file_path, "Absolute, or from the workspace"),
        json::Required("content", &WriteArguments::content, "All of the new content"),
        json::Optional("line_ends", &WriteArguments::line_ends,
                       "keep: CRLF and byte-order mark of the old file stay"));
  }
};

struct WriteResult {
  std::string file_path = {};
  std::string path = {};
  std::int64_t bytes = 0;
  bool created = false;
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &WriteResult::path, "From the workspace"),
                      json::Required("bytes", &WriteResult::bytes),
                      json::Required("created", &WriteResult::created),
                      json::Optional("notes", &WriteResult::notes));
  }
};

std::string Text(const WriteResult& result) {
  std::string text = fmt::format("wrote {} bytes to {}", result.bytes, result.file_path);
  for (const std::string& note : result.notes) text += "\n(" + note + ")";
  return text;
}

/// Gives new content the line ends and the byte-order mark of the old content.
std::string InFormOf(std::string_view old_content, const std::string& content,
                     WriteResult& result) {
  std::string shaped = content;
  if (LineEndsOf(old_content) == LineEnds::kCrLf && LineEndsOf(content) == LineEnds::kLf) {
    shaped = ToCrLf(content);
    result.notes.emplace_back("the line ends of the file stay CRLF");
  }
  if (old_content.starts_with(kByteOrderMark) && !shaped.starts_with(kByteOrderMark)) {
    shaped.insert(0, kByteOrderMark);
    result.notes.emplace_back("the byte-order mark of the file stays");
  }
  return shaped;
}

Result<WriteResult> Write(const Context& context, const WriteArguments& arguments) {
  if (arguments.file_path.empty()) return Error(ErrorKind::kInvalid, "file_path is required");
  if (arguments.content.size() > kLargestEdited.count()) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("write: the content has {} bytes; at most {}",
                             arguments.content.size(), FormatBytes(kLargestEdited)));
  }
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call,
                           WorkspaceCall::Begin(context, Purpose::kWrite));
  const std::lock_guard lock(call.workspace().writes());
  WriteResult result{.file_path = arguments.file_path};
  const auto content = [&](const std::string* old_content) {
    const bool keep = old_content != nullptr && arguments.line_ends == Form::kKeep;
    return keep ? InFormOf(*old_content, arguments.content, result) : arguments.content;
  };
  POLYBOX_ASSIGN_OR_RETURN(const WrittenFile written,
                           WriteWholeFile(context, call, arguments.file_path, content));
  result.path = written.path;
  result.bytes = written.bytes;
  result.created = written.created;
  return result;
}

}  // namespace

Tool WriteTool() {
  return MakeTool<WriteArguments, WriteResult>(
      {.name = "Write",
       .title = "Write a file",
       .description = "Makes a file with its directories, or replaces all of a file that was Read "
                      "before.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      Write);
}

}  // namespace polybox::tools
