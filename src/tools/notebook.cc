#include "tools/notebook.h"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "json/parse.h"
#include "json/value.h"

namespace polybox::tools {
namespace {

/// Returns a text that is a string or a list of strings, as notebooks have both.
std::string JoinedText(const json::Value* value) {
  std::string text;
  if (value == nullptr) return text;
  if (const auto* string = value->if_string()) text.assign(string->data(), string->size());
  if (const json::Array* lines = value->if_array()) {
    for (const json::Value& line : *lines) text += JoinedText(&line);
  }
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

/// The same as JoinedText(), but the lines of a list already have their ends.
std::string Source(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  std::string text;
  if (value == nullptr) return text;
  if (const json::Array* lines = value->if_array()) {
    for (const json::Value& line : *lines) {
      if (const auto* part = line.if_string()) text.append(part->data(), part->size());
    }
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    return text;
  }
  return JoinedText(value);
}

std::string_view StringOf(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  const auto* string = value == nullptr ? nullptr : value->if_string();
  return string == nullptr ? std::string_view() : std::string_view(string->data(), string->size());
}

/// Returns the bytes of a Base64 text with line ends in it; "" if it is none.
std::string FromBase64(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  const auto padding = static_cast<std::size_t>(std::ranges::count(text, '='));
  if (text.size() % 4 != 0 || padding > 2) return "";
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  if (length < 0) return "";
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

class Reader {
 public:
  void Cell(const json::Object& cell) {
    ++notebook_.cells;
    const std::string_view id = StringOf(cell, "id");
    notebook_.text +=
        fmt::format("--- cell {} ({}){}{} ---\n{}", notebook_.cells, StringOf(cell, "cell_type"),
                    id.empty() ? "" : " id=", id, Source(cell, "source"));
    const json::Value* outputs = cell.if_contains("outputs");
    const json::Array* list = outputs == nullptr ? nullptr : outputs->if_array();
    if (list == nullptr) return;
    for (const json::Value& output : *list) {
      if (const json::Object* object = output.if_object()) Output(*object);
    }
  }

  Notebook Finish() { return std::move(notebook_); }

 private:
  void Output(const json::Object& output) {
    std::string text = Source(output, "text");
    if (StringOf(output, "output_type") == "error") {
      text = fmt::format("{}: {}\n", StringOf(output, "ename"), StringOf(output, "evalue"));
    }
    const json::Value* data = output.if_contains("data");
    if (const json::Object* forms = data == nullptr ? nullptr : data->if_object()) {
      text += Source(*forms, "text/plain");
      for (const char* type : {"image/png", "image/jpeg"}) Image(*forms, type);
    }
    if (!text.empty()) {
      notebook_.text += fmt::format("--- output of cell {} ---\n{}", notebook_.cells, text);
    }
  }

  void Image(const json::Object& forms, const char* type) {
    std::string bytes = FromBase64(Source(forms, type));
    if (bytes.empty()) return;
    if (notebook_.images.size() >= Notebook::kMostImages) {
      ++notebook_.left_out_images;
      return;
    }
    notebook_.text += fmt::format("--- picture {} of cell {} ---\n", notebook_.images.size() + 1,
                                  notebook_.cells);
    notebook_.images.push_back({std::move(bytes), type});
  }

  Notebook notebook_;
};

}  // namespace

Result<Notebook> ReadNotebook(std::string_view content) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value value, json::Parse(content));
  const json::Object* object = value.if_object();
  const json::Value* cells = object == nullptr ? nullptr : object->if_contains("cells");
  const json::Array* list = cells == nullptr ? nullptr : cells->if_array();
  if (list == nullptr) return Error(ErrorKind::kInvalid, "not a notebook: it has no list of cells");
  Reader reader;
  for (const json::Value& cell : *list) {
    if (const json::Object* each = cell.if_object()) reader.Cell(*each);
  }
  return reader.Finish();
}

}  // namespace polybox::tools
