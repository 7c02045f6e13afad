// What a call of a tool gives back, without any protocol: blocks to show, and the same as data.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace polybox::tools {

/// Text for a model to read. Any bytes; a protocol replaces what is not UTF-8.
struct TextBlock {
  std::string text;
};

/// A picture. The bytes are those of the file.
struct ImageBlock {
  std::string bytes;
  std::string mime_type;
};

/// A sound. The bytes are those of the file.
struct AudioBlock {
  std::string bytes;
  std::string mime_type;
};

/// A document inside the answer, as text or as bytes.
struct ResourceBlock {
  std::string uri;
  std::string mime_type;
  std::string content;
  enum class Form { kText, kBytes } form = Form::kText;
};

/// The name of a document that a client may read later.
struct ResourceLinkBlock {
  std::string uri;
  std::string name;
  std::string description = {};
  std::string mime_type = {};
  std::optional<std::int64_t> size = {};
};

using Block = std::variant<TextBlock, ImageBlock, AudioBlock, ResourceBlock, ResourceLinkBlock>;

/// The answer to one call.
struct ToolAnswer {
  std::vector<Block> content;
  /// The result struct as JSON, an object that the tool's output schema accepts. Null for an error.
  json::Value structured = {};
  /// The tool could not do what was asked. The text says why and what to do.
  bool is_error = false;
};

/// Returns the answer for a call that failed: the message, and the advice on a line of its own.
ToolAnswer ErrorAnswer(const Error& error);

}  // namespace polybox::tools
