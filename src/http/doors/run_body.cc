#include "http/doors/run_body.h"

#include <algorithm>

#include <fmt/format.h>

#include "http/base64.h"
#include "http/doors/go_json/reader.h"
#include "http/doors/go_json/scan.h"
#include "http/doors/unknown_members.h"

namespace polybox::http {
namespace {

constexpr std::size_t kLongestName = 255;

/// null makes a member absent again, like a Go pointer.
void ReadText(JsonReader& reader, std::optional<std::string>& text) {
  std::string value;
  if (reader.Peek() == JsonKind::kNull) {
    reader.Skip();
    text.reset();
  } else if (reader.String({"text", "string"}, value)) {
    text = std::move(value);
  }
}

/// Reads a member of a RunText. Returns false when the key is no such member.
bool ReadTextMember(JsonReader& reader, const std::string& key, RunText& text) {
  if (KeyIs(key, "content")) {
    ReadText(reader, text.content);
  } else if (KeyIs(key, "base64_encoded")) {
    reader.Bool({"base64_encoded", "bool"}, text.base64_encoded);
  } else {
    return false;
  }
  return true;
}

void ReadFiles(JsonReader& reader, const RunBodyLimits& limits,
               std::optional<std::vector<RunFile>>& files, UnknownMembers& unknown) {
  files.reset();
  std::vector<RunFile> read;
  std::size_t index = 0;
  const bool array = reader.Array({"files", "[]file"}, [&] {
    RunFile file;
    reader.Object({"files", "file"}, [&](const std::string& key) {
      if (KeyIs(key, "name")) return ReadText(reader, file.name);
      if (ReadTextMember(reader, key, file)) return;
      unknown.Add(fmt::format("files[{}]", index), key, {"name", "content", "base64_encoded"});
    });
    ++index;
    if (read.size() <= limits.max_files) read.push_back(std::move(file));
  });
  if (array) files = std::move(read);
}

void ReadStdin(JsonReader& reader, std::optional<RunText>& text, UnknownMembers& unknown) {
  RunText read = text.value_or(RunText());
  const bool object = reader.Object({"stdin", "stdin"}, [&](const std::string& key) {
    if (ReadTextMember(reader, key, read)) return;
    unknown.Add("stdin", key, {"content", "base64_encoded"});
  });
  text.reset();
  if (object) text = std::move(read);
}

using Complaint = std::optional<RunComplaint>;

RunComplaint Of(std::string field, std::string message) {
  return {{std::move(field)}, std::move(message)};
}

RunComplaint OfFile(std::size_t index, std::string member, std::string message) {
  return {{"files", index, std::move(member)}, std::move(message)};
}

Complaint CheckRuntime(const RunBody& body, const RunOptions& options) {
  if (!body.runtime) return Of("runtime", "required");
  if (body.runtime->empty()) return Of("runtime", "must not be empty");
  std::string known;
  for (const LanguageFacts& language : options.languages) {
    if (language.id == *body.runtime) return std::nullopt;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", language.id);
  }
  return Of("runtime", "must be one of " + known);
}

Complaint CheckFileCount(const RunBody& body, const RunBodyLimits& limits) {
  if (!body.files) return Of("files", "required");
  if (body.files->empty()) return Of("files", "must not be empty");
  if (body.files->size() > limits.max_files) {
    return Of("files", fmt::format("too many files (max: {})", limits.max_files));
  }
  return std::nullopt;
}

/// Checks standard input and decodes its content.
Complaint CheckStdin(RunBody& body, const RunBodyLimits& limits) {
  if (!body.stdin_text) return std::nullopt;
  RunText& text = *body.stdin_text;
  const auto complaint = [](std::string message) {
    return RunComplaint{{"stdin", "content"}, std::move(message)};
  };
  if (!text.content) return complaint("required");
  const std::string too_large =
      fmt::format("stdin too large (max: {} bytes)", limits.max_stdin_size);
  if (text.base64_encoded) {
    // The size is checked before decoding, so that a far too large text is not decoded.
    if (text.content->size() > Base64Length(limits.max_stdin_size)) return complaint(too_large);
    auto decoded = DecodeBase64(*text.content);
    if (!decoded.ok()) return complaint("invalid base64");
    text.content = std::move(decoded).value();
  }
  if (text.content->size() > limits.max_stdin_size) return complaint(too_large);
  return std::nullopt;
}

std::string WrongWithName(const std::string& name, const LanguageFacts& language) {
  if (name.empty()) return "must not be empty";
  if (name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    return "contains invalid characters";
  }
  if (name == "." || name == "..") return "not allowed";
  if (name.size() > kLongestName) {
    return fmt::format("file name too long (max: {} bytes)", kLongestName);
  }
  if (std::ranges::count(language.restricted_files, name) != 0) {
    return "not allowed for this runtime";
  }
  return "";
}

/// Checks a file and decodes its content.
Complaint CheckFile(RunFile& file, std::size_t index, const LanguageFacts& language,
                    const RunBodyLimits& limits) {
  if (!file.name) return OfFile(index, "name", "required");
  if (!file.content) return OfFile(index, "content", "required");
  if (std::string wrong = WrongWithName(*file.name, language); !wrong.empty()) {
    return OfFile(index, "name", std::move(wrong));
  }
  if (file.base64_encoded) {
    auto decoded = DecodeBase64(*file.content);
    if (!decoded.ok()) return OfFile(index, "content", "invalid base64");
    file.content = std::move(decoded).value();
  }
  if (file.content->size() > limits.max_file_size) {
    return OfFile(index, "content",
                  fmt::format("file too large (max: {} bytes)", limits.max_file_size));
  }
  return std::nullopt;
}

/// Returns the files. Of two files with the same name the content of the later one is used, at the
/// earlier one's position. If the entry has a fixed name, the file of that name comes first.
std::vector<jail::InputFile> Arrange(std::vector<RunFile> files, const LanguageFacts& language) {
  std::vector<jail::InputFile> arranged;
  for (RunFile& file : files) {
    const auto same = std::ranges::find(arranged, *file.name, &jail::InputFile::name);
    if (same != arranged.end()) {
      same->content = *std::move(file.content);
    } else {
      arranged.push_back({*std::move(file.name), *std::move(file.content), 0644});
    }
  }
  if (language.entry_is_fixed) {
    const auto entry = std::ranges::find(arranged, language.entry_file, &jail::InputFile::name);
    if (entry != arranged.end()) std::rotate(arranged.begin(), entry, entry + 1);
  }
  return arranged;
}

}  // namespace

std::optional<RunBody> ReadRunBody(std::string_view text, const RunBodyLimits& limits) {
  const auto value = FirstJsonValue(text);
  if (!std::holds_alternative<std::string_view>(value)) return std::nullopt;
  JsonReader reader(std::get<std::string_view>(value), "runRequest");
  RunBody body;
  UnknownMembers unknown;
  reader.Object({"", ""}, [&](const std::string& key) {
    if (KeyIs(key, "runtime")) return ReadText(reader, body.runtime);
    if (KeyIs(key, "files")) return ReadFiles(reader, limits, body.files, unknown);
    if (KeyIs(key, "stdin")) return ReadStdin(reader, body.stdin_text, unknown);
    unknown.Add("", key, {"runtime", "files", "stdin"});
  });
  body.mistyped = !reader.complaint().empty();
  body.warnings = unknown.Warnings();
  return body;
}

std::variant<exec::Request, RunComplaint> CheckRunBody(RunBody body, const RunOptions& options) {
  if (auto complaint = CheckRuntime(body, options)) return *complaint;
  if (auto complaint = CheckFileCount(body, options.limits)) return *complaint;
  if (auto complaint = CheckStdin(body, options.limits)) return *complaint;
  const auto language = std::ranges::find(options.languages, *body.runtime, &LanguageFacts::id);
  for (std::size_t i = 0; i < body.files->size(); ++i) {
    if (auto complaint = CheckFile((*body.files)[i], i, *language, options.limits)) {
      return *complaint;
    }
  }
  exec::Request request;
  exec::Program program;
  program.language = language->id;
  program.files = Arrange(*std::move(body.files), *language);
  program.compile.wall_time = program.compile.cpu_time = options.limits.compile_timeout;
  program.compile.output = Bytes(options.limits.output_limit);
  program.compile_memory_from = "the setting compile-memory";
  request.work = std::move(program);
  if (body.stdin_text) request.input = *std::move(body.stdin_text->content);
  return request;
}

}  // namespace polybox::http
