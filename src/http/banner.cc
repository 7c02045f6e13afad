#include "http/banner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace polybox::http {
namespace {

/// Quotes the text as one word for a shell.
std::string ShellWord(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string JsonText(const std::string& text) {
  return '"' + PrintableForQuotes(text, 4096) + '"';
}

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string LocalUrl(const std::string& address) {
  if (address.starts_with("0.0.0.0:")) return "http://127.0.0.1" + address.substr(7);
  if (address.starts_with("[::]:")) return "http://[::1]" + address.substr(4);
  return "http://" + address;
}

std::string Banner(const BannerFacts& facts) {
  const std::string url = facts.addresses.empty() ? "" : LocalUrl(facts.addresses[0]);
  std::string text = fmt::format(
      "polybox {}\n"
      "  listens on   {}\n"
      "  mode         {}\n"
      "  languages    {}\n"
      "  isolation    {}\n",
      facts.version, Join(facts.addresses), facts.mode,
      facts.languages.empty() ? "none" : Join(facts.languages), facts.isolation);
  if (facts.open_to_all) {
    text +=
        "  WARNING      no token is asked for: anyone who reaches that address can run "
        "programs here\n";
  }
  if (url.empty() || facts.example.empty()) return text;
  std::string token;
  if (!facts.token_file.empty()) {
    text += fmt::format("  token        in {}\n", facts.token_file);
    token = fmt::format(" -H \"X-Polybox-Token: $(grep -v '^#' {} | grep -m 1 .)\"",
                        ShellWord(facts.token_file));
  }
  const std::string execute = fmt::format("{{\"code\": {}}}", JsonText(facts.example));
  const std::string run = fmt::format(
      R"({{"runtime": {}, "files": [{{"name": {}, "content": {}}}]}})",
      JsonText(facts.example_language), JsonText(facts.example_file), JsonText(facts.example));
  text += fmt::format(
      "Try:\n"
      "  curl {0}/health\n"
      "  curl {0}/execute{1} -d {2}\n"
      "  curl {0}/v1/run{1} -H 'Content-Type: application/json' -d {3}\n",
      url, token, ShellWord(execute), ShellWord(run));
  return text;
}

}  // namespace polybox::http
