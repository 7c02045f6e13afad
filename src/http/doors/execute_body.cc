#include "http/doors/execute_body.h"

#include <fmt/format.h>

#include "http/json_reader.h"
#include "http/json_scan.h"

namespace polybox::http {
namespace {

class BodyReader {
 public:
  explicit BodyReader(std::string_view value) : json_(value, "main.executeRequest") {}

  Result<ExecuteBody> Read() {
    json_.Object({"", ""}, [this](const std::string& key) { Member(key); });
    if (!json_.complaint().empty()) return Invalid(json_.complaint());
    if (!too_many_.empty()) {
      return Invalid(fmt::format("too many {} (max: {})", too_many_, kMostItems));
    }
    return std::move(body_);
  }

  static Error Invalid(std::string_view text) {
    return {ErrorKind::kInvalid, fmt::format("invalid request: {}", text)};
  }

 private:
  void Member(const std::string& key) {
    if (KeyIs(key, "code")) {
      std::string code;
      if (json_.String({"code", "string"}, code)) body_.code = std::move(code);
    }
    if (KeyIs(key, "command")) Command();
    if (KeyIs(key, "timeout_seconds")) {
      json_.Integer({"timeout_seconds", "int"}, body_.timeout_seconds);
    }
    if (KeyIs(key, "requirements")) List("requirements", body_.requirements);
    if (KeyIs(key, "files")) Map("files", body_.files);
    if (KeyIs(key, "language")) json_.String({"language", "string"}, body_.language);
    if (KeyIs(key, "stdin")) json_.String({"stdin", "string"}, body_.input);
    if (KeyIs(key, "args")) List("args", body_.args);
    if (KeyIs(key, "env")) Map("env", body_.env);
    if (KeyIs(key, "limits")) Limits();
  }

  /// Its wrong type is not a wrong type of ours: the runtime API has its own answer to that.
  void Command() {
    if (json_.Peek() == JsonKind::kString) {
      std::string command;
      json_.String({"command", "string"}, command);
      body_.command = std::move(command);
    } else if (json_.Peek() != JsonKind::kNull) {
      body_.mistyped_command = json_.Skip();
    }
  }

  void List(std::string_view name, std::vector<std::string>& list) {
    std::vector<std::string> read;
    const bool array = json_.Array({name, "[]string"}, [&] {
      std::string item;
      json_.String({name, "string"}, item);
      if (HasRoom(name, read.size())) read.push_back(std::move(item));
    });
    if (array) list = std::move(read);
  }

  void Map(std::string_view name, std::map<std::string, std::string>& map) {
    json_.Object({name, "map[string]string"}, [&](const std::string& key) {
      std::string value;
      json_.String({name, "string"}, value);
      if (HasRoom(name, map.size())) map[key] = std::move(value);
    });
  }

  void Limits() {
    json_.Object({"limits", "map[string]int"}, [&](const std::string& key) {
      std::int64_t value = 0;
      if (json_.Integer({"limits", "int"}, value) && HasRoom("limits", body_.limits.size())) {
        body_.limits[key] = value;
      }
    });
  }

  bool HasRoom(std::string_view name, std::size_t items) {
    if (items < kMostItems) return true;
    too_many_ = name;
    return false;
  }

  JsonReader json_;
  ExecuteBody body_;
  std::string too_many_;
};

}  // namespace

Result<ExecuteBody> ReadExecuteBody(std::string_view text) {
  const auto value = FirstJsonValue(text);
  if (const auto* error = std::get_if<JsonSyntaxError>(&value)) {
    return BodyReader::Invalid(error->text);
  }
  return BodyReader(std::get<std::string_view>(value)).Read();
}

}  // namespace polybox::http
