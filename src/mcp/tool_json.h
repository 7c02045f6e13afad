// Tools and their answers in the words of MCP. What a version does not know is left out or said in
// another way. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "json/value.h"
#include "mcp/version.h"
#include "tools/answer.h"
#include "tools/tool.h"

namespace polybox::mcp {

/// Which form of an answer a client gets. Some clients show the text to their model, some the data,
/// and some both, which costs twice the tokens.
enum class StructuredOutput {
  kAuto,        ///< As kBoth for versions that know data, as kText for the older ones.
  kBoth,        ///< The short text, and the data in `structuredContent`.
  kText,        ///< The short text alone. The tools then have no `outputSchema`.
  kStructured,  ///< The data alone. Pictures and documents stay.
  kMirror,      ///< The data, and its JSON once more in place of the text, as MCP recommends.
};

/// Returns nothing for an unknown word; the words are those of the setting.
std::optional<StructuredOutput> StructuredOutputNamed(std::string_view word);

/// Returns an entry of tools/list.
json::Object DescribeTool(const tools::Tool& tool, Version version, StructuredOutput form);
/// Returns a block as an item of `content`, or as the content of a prompt's message.
json::Object DescribeBlock(const tools::Block& block, Version version);
/// Returns a document as an item of the `contents` of resources/read.
json::Object DescribeContents(const tools::ResourceBlock& block);
/// Returns `content`, `structuredContent` and `isError` of the result of tools/call.
json::Object DescribeAnswer(const tools::ToolAnswer& answer, Version version,
                            StructuredOutput form);

}  // namespace polybox::mcp
