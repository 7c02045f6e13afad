// Edit: replaces texts in a file that the caller has read.
#include <mutex>

#include <fmt/format.h>

#include "tools/file_target.h"
#include "tools/line_ends.h"
#include "tools/replace_text.h"
#include "tools/tool.h"
#include "workspace/put_file.h"

namespace polybox::tools {
namespace {

/// More edits at once are better written as a new file.
constexpr std::size_t kMostEdits = 200;

struct OneEdit {
  std::string old_string;
  std::string new_string;
  bool replace_all = false;

  static constexpr auto Members() {
    return std::tuple(json::Required("old_string", &OneEdit::old_string),
                      json::Required("new_string", &OneEdit::new_string),
                      json::Optional("replace_all", &OneEdit::replace_all));
  }
};

struct EditArguments {
  std::string file_path;
  std::optional<std::string> old_string = {};
  std::optional<std::string> new_string = {};
  bool replace_all = false;
  std::vector<OneEdit> edits = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("file_path", &EditArguments::file_path, "Absolute, or from the workspace"),
        json::Optional("old_string", &EditArguments::old_string,
                       "Exact text, without line numbers"),
        json::Optional("new_string", &EditArguments::new_string, "Text in its place"),
        json::Optional("replace_all", &EditArguments::replace_all, "Replace every occurrence"),
        json::Optional("edits", &EditArguments::edits,
                       "Several edits instead, in order; all are made or none")
            .MaxItems(kMostEdits));
  }
};

struct EditResult {
  std::string file_path = {};
  std::string path = {};
  std::int64_t replaced = 0;
  std::int64_t bytes = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &EditResult::path, "From the workspace"),
                      json::Required("replaced", &EditResult::replaced),
                      json::Required("bytes", &EditResult::bytes, "Size of the file now"));
  }
};

std::string Text(const EditResult& result) {
  return fmt::format("replaced {} occurrence(s) in {}", result.replaced, result.file_path);
}

/// Edit checks these arguments itself, because they are required in only one of its two forms.
Error Required(std::string_view name) {
  return {ErrorKind::kInvalid, fmt::format("{} is required", name)};
}

/// Returns the edits of a call in one form.
Result<std::vector<OneEdit>> EditsOf(const EditArguments& arguments) {
  const bool single = arguments.old_string || arguments.new_string;
  if (!arguments.edits.empty()) {
    if (single || arguments.replace_all) {
      return Error(ErrorKind::kInvalid, "edits goes without old_string, new_string, replace_all");
    }
    for (std::size_t i = 0; i < arguments.edits.size(); ++i) {
      if (!arguments.edits[i].old_string.empty()) continue;
      return Error(ErrorKind::kInvalid, fmt::format("edits[{}]: old_string must be non-empty", i));
    }
    return arguments.edits;
  }
  if (!arguments.old_string) return Required("old_string");
  if (arguments.old_string->empty()) {
    return Error(ErrorKind::kInvalid, "old_string must be non-empty");
  }
  if (!arguments.new_string) return Required("new_string");
  return std::vector<OneEdit>{
      {*arguments.old_string, *arguments.new_string, arguments.replace_all}};
}

/// Makes all edits in `content`, and returns the number of replacements.
Result<std::size_t> Apply(const EditArguments& arguments, const std::vector<OneEdit>& edits,
                          std::string& content) {
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const Replacement replacement{
        .old_string = edits[i].old_string,
        .new_string = edits[i].new_string,
        .occurrences = edits[i].replace_all ? Occurrences::kAll : Occurrences::kOne};
    Result<std::size_t> count = ReplaceIn(content, replacement, arguments.file_path);
    if (!count.ok() && !arguments.edits.empty()) {
      return std::move(count).error().In(fmt::format("edits[{}]", i));
    }
    POLYBOX_RETURN_IF_ERROR(count);
    replaced += *count;
    if (content.size() > kLargestEdited.count()) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("write: {} would be larger than {}", arguments.file_path,
                               FormatBytes(kLargestEdited)));
    }
  }
  return replaced;
}

/// Reads, changes and replaces the file under the lock of all writes, so that no edit of another
/// call is lost.
Result<EditResult> Edit(const Context& context, const EditArguments& arguments) {
  if (arguments.file_path.empty()) return Required("file_path");
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<OneEdit> edits, EditsOf(arguments));
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call,
                           WorkspaceCall::Begin(context, Purpose::kWrite));
  const std::lock_guard lock(call.workspace().writes());
  POLYBOX_ASSIGN_OR_RETURN(const OpenFile file, OpenPlainFile(call, arguments.file_path));
  const std::string& path = file.place.path;
  POLYBOX_RETURN_IF_ERROR(RefuseProtected(call, path, "edit", arguments.file_path));
  POLYBOX_ASSIGN_OR_RETURN(std::string content, ReadWhole(file, arguments.file_path));
  POLYBOX_RETURN_IF_ERROR(RequireSeen(context, call, path, workspace::HashOf(content),
                                      "refusing to edit " + arguments.file_path));
  // The tool Read does not show the byte-order mark, so no edit may remove it.
  const bool has_mark = content.starts_with(kByteOrderMark);
  if (has_mark) content.erase(0, kByteOrderMark.size());
  POLYBOX_ASSIGN_OR_RETURN(const std::size_t replaced, Apply(arguments, edits, content));
  if (has_mark) content.insert(0, kByteOrderMark);
  POLYBOX_RETURN_IF_ERROR(
      workspace::ReplaceContent(file.place, call.Absolute(file.place), file.fd.get(), content));
  MarkSeen(context, call, path, workspace::HashOf(content));
  return EditResult{.file_path = arguments.file_path,
                    .path = path,
                    .replaced = static_cast<std::int64_t>(replaced),
                    .bytes = static_cast<std::int64_t>(content.size())};
}

}  // namespace

Tool EditTool() {
  return MakeTool<EditArguments, EditResult>(
      {.name = "Edit",
       .title = "Edit a file",
       .description = "Replaces exact texts in a file that was Read before. old_string must occur "
                      "once unless replace_all is set.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
      Edit);
}

}  // namespace polybox::tools
