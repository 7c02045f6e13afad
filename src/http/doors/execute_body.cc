#include "http/doors/execute_body.h"

#include <array>

#include <fmt/format.h>

#include "http/doors/go_json/reader.h"
#include "http/doors/go_json/scan.h"
#include "http/doors/unknown_members.h"

namespace polybox::http {
namespace {

class BodyReader {
 public:
  explicit BodyReader(std::string_view value) : json_(value, "main.executeRequest") {}

  ExecuteBody Read() {
    json_.Object({"", ""}, [this](const std::string& key) { Member(key); });
    if (!json_.complaint().empty()) {
      body_.complaint = Invalid(json_.complaint());
    } else if (!too_many_.empty()) {
      body_.complaint = Invalid(fmt::format("too many {} (max: {})", too_many_, kMostItems));
    }
    body_.warnings = unknown_.Warnings();
    return std::move(body_);
  }

  static std::string Invalid(std::string_view text) {
    return fmt::format("invalid request: {}", text);
  }

 private:
  struct MemberRow {
    std::string_view name;
    void (*read)(BodyReader&);
  };

  static const std::array<MemberRow, 10> kMembers;

  void Member(const std::string& key) {
    for (const MemberRow& member : kMembers) {
      if (KeyIs(key, member.name)) return member.read(*this);
    }
    std::vector<std::string_view> known;
    for (const MemberRow& member : kMembers) known.push_back(member.name);
    unknown_.Add("", key, known);
  }

  void Code() {
    std::string code;
    if (json_.String({"code", "string"}, code)) body_.code = std::move(code);
  }

  /// A wrong type of this member is no complaint here, because the runtime API has its own answer
  /// for it.
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
  UnknownMembers unknown_;
};

using Reads = BodyReader;
constexpr std::array<BodyReader::MemberRow, 10> BodyReader::kMembers = {{
    {"code", [](Reads& r) { r.Code(); }},
    {"command", [](Reads& r) { r.Command(); }},
    {"timeout_seconds",
     [](Reads& r) { r.json_.Integer({"timeout_seconds", "int"}, r.body_.timeout_seconds); }},
    {"requirements", [](Reads& r) { r.List("requirements", r.body_.requirements); }},
    {"files", [](Reads& r) { r.Map("files", r.body_.files); }},
    {"language", [](Reads& r) { r.json_.String({"language", "string"}, r.body_.language); }},
    {"stdin", [](Reads& r) { r.json_.String({"stdin", "string"}, r.body_.input); }},
    {"args", [](Reads& r) { r.List("args", r.body_.args); }},
    {"env", [](Reads& r) { r.Map("env", r.body_.env); }},
    {"limits", [](Reads& r) { r.Limits(); }},
}};

}  // namespace

Result<ExecuteBody> ReadExecuteBody(std::string_view text) {
  const auto value = FirstJsonValue(text);
  if (const auto* error = std::get_if<JsonSyntaxError>(&value)) {
    return Error(ErrorKind::kInvalid, BodyReader::Invalid(error->text));
  }
  return BodyReader(std::get<std::string_view>(value)).Read();
}

}  // namespace polybox::http
