#include "tools/scrub_answers.h"

#include <utility>
#include <vector>

#include "json/write.h"

namespace polybox::tools {
namespace {

void ScrubText(std::string& text, secrets::Scrubber& scrubber) {
  if (auto scrubbed = scrubber.Scrub(text)) text = *std::move(scrubbed);
}

void MaskBytes(std::string& bytes, secrets::Scrubber& scrubber) {
  if (auto masked = scrubber.Mask(bytes)) bytes = *std::move(masked);
}

/// Removes secrets from each text of a block, and from the bytes of a file.
struct ScrubBlock {
  secrets::Scrubber& scrubber;

  void operator()(TextBlock& block) const { ScrubText(block.text, scrubber); }
  void operator()(ImageBlock& block) const { MaskBytes(block.bytes, scrubber); }
  void operator()(AudioBlock& block) const { MaskBytes(block.bytes, scrubber); }
  void operator()(ResourceBlock& block) const {
    ScrubText(block.uri, scrubber);
    if (block.form == ResourceBlock::Form::kText) {
      ScrubText(block.content, scrubber);
    } else {
      MaskBytes(block.content, scrubber);
    }
  }
  void operator()(ResourceLinkBlock& block) const {
    for (std::string* text : {&block.uri, &block.name, &block.description}) {
      ScrubText(*text, scrubber);
    }
  }
};

void ScrubObject(json::Object& object, secrets::Scrubber& scrubber) {
  std::vector<std::pair<std::string, std::string>> renamed;
  for (auto& member : object) {
    const std::string_view name = member.key();
    if (auto scrubbed = scrubber.Scrub(name)) renamed.emplace_back(name, *std::move(scrubbed));
    const bool is_base64 = (name == "blob" || name == "data") && member.value().is_string();
    if (!is_base64) {
      ScrubJson(member.value(), scrubber);
    } else if (auto masked = scrubber.Mask(member.value().get_string(), 'A')) {
      member.value() = *masked;
    }
  }
  for (const auto& [before, after] : renamed) {
    json::Value value = std::move(object[before]);
    object.erase(before);
    object[after] = std::move(value);
  }
}

class ScrubbedSource final : public ResourceSource {
 public:
  ScrubbedSource(std::shared_ptr<const ResourceSource> source,
                 std::shared_ptr<secrets::Scrubber> scrubber)
      : source_(std::move(source)), scrubber_(std::move(scrubber)) {}

  std::vector<ResourceInfo> List(const Context& context) const override {
    return source_->List(context);
  }
  std::vector<ResourceTemplate> Templates() const override { return source_->Templates(); }
  std::optional<Result<ResourceText>> Read(const Context& context,
                                           std::string_view uri) const override {
    std::optional<Result<ResourceText>> read = source_->Read(context, uri);
    if (read && read->ok()) ScrubBlock{*scrubber_}(read->value().content);
    return read;
  }
  std::optional<Result<std::unique_ptr<Watch>>> WatchFor(
      const Context& context, std::string_view uri, std::function<void()> changed) const override {
    return source_->WatchFor(context, uri, std::move(changed));
  }
  std::optional<Completions> Complete(const Context& context, std::string_view uri_template,
                                      std::string_view variable,
                                      std::string_view begin) const override {
    return source_->Complete(context, uri_template, variable, begin);
  }

 private:
  const std::shared_ptr<const ResourceSource> source_;
  const std::shared_ptr<secrets::Scrubber> scrubber_;
};

}  // namespace

void ScrubJson(json::Value& value, secrets::Scrubber& scrubber) {
  if (value.is_string()) {
    if (auto scrubbed = scrubber.Scrub(value.get_string())) value = json::Text(*scrubbed);
  } else if (json::Array* array = value.if_array()) {
    for (json::Value& element : *array) ScrubJson(element, scrubber);
  } else if (json::Object* object = value.if_object()) {
    ScrubObject(*object, scrubber);
  }
}

std::shared_ptr<const ResourceSource> Scrubbed(std::shared_ptr<const ResourceSource> source,
                                               std::shared_ptr<secrets::Scrubber> scrubber) {
  return std::make_shared<ScrubbedSource>(std::move(source), std::move(scrubber));
}

Tool Scrubbed(Tool tool, std::shared_ptr<secrets::Scrubber> scrubber) {
  if (tool.row.reveals_secrets) return tool;
  tool.call = [call = std::move(tool.call), scrubber = std::move(scrubber)](
                  const Context& context, const json::Value& arguments) {
    Context own = context;
    if (context.progress) {
      own.progress = [&context, &scrubber](const Progress& progress) {
        Progress shown = progress;
        ScrubText(shown.message, *scrubber);
        context.progress(shown);
      };
    }
    ToolAnswer answer = call(own, arguments);
    for (Block& block : answer.content) std::visit(ScrubBlock{*scrubber}, block);
    ScrubJson(answer.structured, *scrubber);
    return answer;
  };
  return tool;
}

}  // namespace polybox::tools
