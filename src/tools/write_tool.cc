// Write: a new file, or new content for one that the caller has read.
#include <mutex>

#include <fmt/format.h>

#include "tools/file_target.h"
#include "tools/line_ends.h"
#include "tools/tool.h"
#include "workspace/put_file.h"

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

std::string RefusalOf(const WriteArguments& arguments) {
  return "refusing to overwrite " + arguments.file_path;
}

Result<WriteResult> Create(const Context& context, const WriteArguments& arguments,
                           const WorkspaceCall& call, const workspace::Place& place) {
  const Status made = workspace::CreateFile(place, call.Absolute(place), arguments.content);
  if (!made.ok() && made.error().system_errno() == EEXIST) {
    return Error(ErrorKind::kInvalid, RefusalOf(arguments) + ": Read it first");
  }
  POLYBOX_RETURN_IF_ERROR(made);
  MarkSeen(context, call, place.path, workspace::HashOf(arguments.content));
  return WriteResult{.file_path = arguments.file_path,
                     .path = place.path,
                     .bytes = static_cast<std::int64_t>(arguments.content.size()),
                     .created = true};
}

Result<WriteResult> Overwrite(const Context& context, const WriteArguments& arguments,
                              const WorkspaceCall& call, const OpenFile& file) {
  const std::string& path = file.place.path;
  POLYBOX_ASSIGN_OR_RETURN(const std::string old_content, ReadWhole(file, arguments.file_path));
  POLYBOX_RETURN_IF_ERROR(
      RequireSeen(context, call, path, workspace::HashOf(old_content), RefusalOf(arguments)));
  WriteResult result{.file_path = arguments.file_path, .path = path};
  const std::string content = arguments.line_ends == Form::kKeep
                                  ? InFormOf(old_content, arguments.content, result)
                                  : arguments.content;
  POLYBOX_RETURN_IF_ERROR(
      workspace::ReplaceContent(file.place, call.Absolute(file.place), file.fd.get(), content));
  MarkSeen(context, call, path, workspace::HashOf(content));
  result.bytes = static_cast<std::int64_t>(content.size());
  return result;
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
  POLYBOX_ASSIGN_OR_RETURN(const workspace::Place place, call.Locate(arguments.file_path));
  POLYBOX_RETURN_IF_ERROR(RefuseProtected(call, place.path, "write", arguments.file_path));
  const Result<struct stat> state = workspace::StateOf(place);
  if (!state.ok() && state.error().system_errno() == ENOENT) {
    return Create(context, arguments, call, place);
  }
  POLYBOX_ASSIGN_OR_RETURN(const OpenFile file, OpenPlainFile(call, arguments.file_path));
  // Another process may have put a link there since the first look.
  POLYBOX_RETURN_IF_ERROR(RefuseProtected(call, file.place.path, "write", arguments.file_path));
  return Overwrite(context, arguments, call, file);
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
