#include "conformance/fixtures.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "conformance/fixture_tool.h"
#include "json/write.h"

namespace polybox::conformance {
namespace {

using tools::Context;

constexpr std::string_view kTemplate = "test://template/{id}/data";
constexpr std::string_view kTemplateBegin = "test://template/";
constexpr std::string_view kTemplateEnd = "/data";
constexpr std::string_view kWatched = "test://watched-resource";

/// Nothing ever changes.
class NoWatch : public tools::Watch {};

class FixtureSource : public tools::ResourceSource {
 public:
  std::vector<tools::ResourceInfo> List(const Context& /*context*/) const override {
    return {{.uri = "test://static-text",
             .name = "static-text",
             .description = "A text that never changes",
             .mime_type = "text/plain"},
            {.uri = "test://static-binary",
             .name = "static-binary",
             .description = "A picture that never changes",
             .mime_type = "image/png"},
            {.uri = std::string(kWatched),
             .name = "watched-resource",
             .description = "A text to subscribe to",
             .mime_type = "text/plain"}};
  }
  std::vector<tools::ResourceTemplate> Templates() const override {
    return {{.uri_template = std::string(kTemplate),
             .name = "template",
             .description = "A text with the id in it",
             .mime_type = "application/json"}};
  }
  std::optional<Result<tools::ResourceText>> Read(const Context& /*context*/,
                                                  std::string_view uri) const override {
    using Form = tools::ResourceBlock::Form;
    const auto found = [&](std::string type, std::string content, Form form = Form::kText) {
      return tools::ResourceText{{std::string(uri), std::move(type), std::move(content), form}};
    };
    if (uri == "test://static-text") {
      return found("text/plain", "This is the content of the static text resource.");
    }
    if (uri == "test://static-binary") return found("image/png", SmallPng(), Form::kBytes);
    if (uri == kWatched) return found("text/plain", "This is the watched resource.");
    if (!uri.starts_with(kTemplateBegin) || !uri.ends_with(kTemplateEnd)) return std::nullopt;
    uri.remove_prefix(kTemplateBegin.size());
    uri.remove_suffix(kTemplateEnd.size());
    const json::Object data = {{"id", json::Text(uri)},
                               {"templateTest", true},
                               {"data", json::Text(fmt::format("Data for ID: {}", uri))}};
    return tools::ResourceText{{fmt::format("{}{}{}", kTemplateBegin, uri, kTemplateEnd),
                                "application/json", json::Write(data)}};
  }
  std::optional<Result<std::unique_ptr<tools::Watch>>> WatchFor(
      const Context& /*context*/, std::string_view uri,
      std::function<void()> /*changed*/) const override {
    if (uri != kWatched) return std::nullopt;
    return std::unique_ptr<tools::Watch>(std::make_unique<NoWatch>());
  }
};

using Messages =
    std::function<Result<std::vector<tools::Block>>(const Context&, const tools::PromptValues&)>;

tools::Prompt MakePrompt(std::string name, std::vector<tools::PromptArgument> arguments,
                         Messages messages) {
  return {.name = name,
          .title = name,
          .description = "A fixture of the conformance suite",
          .arguments = std::move(arguments),
          .messages = std::move(messages)};
}

Result<std::vector<tools::Block>> AskForContext(const Context& context,
                                                const tools::PromptValues& /*values*/) {
  constexpr std::string_view kSchema =
      R"({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]})";
  POLYBOX_ASSIGN_OR_RETURN(
      const json::Object answers,
      Ask(context, {Elicitation("user_context", "What context should the prompt use?", kSchema)}));
  return TextOf(fmt::format("A prompt with {} answers.", answers.size()));
}

tools::Completions CompleteFirst(const Context& /*context*/, std::string_view argument,
                                 std::string_view begin) {
  tools::Completions found;
  for (const std::string_view value : {"paris", "park", "party"}) {
    if (argument == "arg1" && value.starts_with(begin)) found.values.emplace_back(value);
  }
  return found;
}

}  // namespace

Result<json::Object> Ask(const Context& context, const std::vector<tools::Question>& questions) {
  if (context.client == nullptr) {
    return Error(ErrorKind::kUnavailable, "there is nobody to ask");
  }
  return context.client->Ask(questions);
}

std::string SmallPng() {
  // One red pixel.
  constexpr std::array<unsigned char, 69> kBytes = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
      0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
      0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x78,
      0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92,
      0xef, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  return {kBytes.begin(), kBytes.end()};
}

std::string SmallWav() {
  // A header without samples: mono, 8 kHz, 8 bits.
  constexpr std::array<unsigned char, 44> kBytes = {
      0x52, 0x49, 0x46, 0x46, 0x24, 0x00, 0x00, 0x00, 0x57, 0x41, 0x56, 0x45, 0x66, 0x6d, 0x74,
      0x20, 0x10, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x40, 0x1f, 0x00, 0x00, 0x40, 0x1f,
      0x00, 0x00, 0x01, 0x00, 0x08, 0x00, 0x64, 0x61, 0x74, 0x61, 0x00, 0x00, 0x00, 0x00};
  return {kBytes.begin(), kBytes.end()};
}

std::vector<tools::Tool> FixtureTools() {
  std::vector<tools::Tool> all = ContentTools();
  std::ranges::move(QuestionTools(), std::back_inserter(all));
  std::ranges::move(TaskTools(), std::back_inserter(all));
  return all;
}

std::shared_ptr<const tools::ResourceSource> FixtureDocuments() {
  return std::make_shared<FixtureSource>();
}

std::vector<tools::Prompt> FixturePrompts() {
  const auto fixed = [](std::vector<tools::Block> blocks) -> Messages {
    return [blocks = std::move(blocks)](
               const Context& /*context*/,
               const auto& /*values*/) -> Result<std::vector<tools::Block>> { return blocks; };
  };
  tools::Prompt with_arguments = MakePrompt(
      "test_prompt_with_arguments",
      {{"arg1", "First test argument"}, {"arg2", "Second test argument"}},
      [](const Context& /*context*/,
         const tools::PromptValues& values) -> Result<std::vector<tools::Block>> {
        return TextOf(fmt::format("Prompt with arguments: arg1='{}', arg2='{}'",
                                  values.find("arg1")->second, values.find("arg2")->second));
      });
  with_arguments.complete = CompleteFirst;
  return {
      MakePrompt("test_simple_prompt", {}, fixed(TextOf("This is a simple prompt for testing."))),
      std::move(with_arguments),
      MakePrompt("test_prompt_with_embedded_resource",
                 {{"resourceUri", "URI of the resource to embed"}},
                 [](const Context& /*context*/,
                    const tools::PromptValues& values) -> Result<std::vector<tools::Block>> {
                   return std::vector<tools::Block>{
                       tools::ResourceBlock{values.find("resourceUri")->second, "text/plain",
                                            "Embedded resource content for testing."},
                       tools::TextBlock{"Please process the embedded resource above."}};
                 }),
      MakePrompt("test_prompt_with_image", {},
                 fixed({tools::ImageBlock{SmallPng(), "image/png"},
                        tools::TextBlock{"Please analyze the image above."}})),
      MakePrompt("test_input_required_result_prompt", {}, AskForContext)};
}

}  // namespace polybox::conformance
