#include "http/doors/console.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "http/doors/door_row.h"
#include "http/head.h"

namespace polybox::http {
namespace {

constexpr std::string_view kPage = "index.html";
constexpr std::string_view kFolder = "/console/";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

/// Only files of this server run, load and are sent to. The last two directives make the browser
/// refuse every way to turn text into markup, so output of programs cannot become part of the page.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns a validator of the content (FNV-1a). It only has to differ between two versions of one
/// file.
std::string EntityTag(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : content) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return fmt::format("\"{:016x}\"", hash);
}

Response Serve(const EmbeddedFile& file, const Request& request) {
  const std::string tag = EntityTag(file.content);
  // A new binary may have new files under the same names, so a browser asks each time.
  Response response = {.status = 200,
                       .content_type = ConsoleType(file.name),
                       .body = std::string(file.content),
                       .headers = {{"ETag", tag},
                                   {"Cache-Control", "no-cache"},
                                   {"Content-Security-Policy", std::string(kPolicy)},
                                   {"X-Frame-Options", "DENY"},
                                   {"Cross-Origin-Opener-Policy", "same-origin"},
                                   {"Referrer-Policy", "no-referrer"}}};
  if (request.Header("If-None-Match").find(tag) != std::string_view::npos) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

const EmbeddedFile* FindFile(std::string_view name) {
  const std::span<const EmbeddedFile> files = ConsoleFiles();
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  return found == files.end() ? nullptr : &*found;
}

void AnswerFile(const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  const EmbeddedFile* file = FindFile(std::string_view(request.path).substr(kFolder.size()));
  // The page itself has the one address "/".
  const bool is_file = file != nullptr && file->name != kPage;
  exchange->Respond(is_file ? Serve(*file, request) : PlainResponse(404, ""));
}

}  // namespace

std::string ConsoleType(std::string_view name) {
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return std::string(type);
  }
  return "";
}

Response ConsolePage(const Request& request) {
  const EmbeddedFile* page = FindFile(kPage);
  return page == nullptr ? PlainResponse(404, "") : Serve(*page, request);
}

Door MakeConsoleDoor() {
  Door door = {
      .name = "console", .routes = {}, .refuse = nullptr, .fault_prefixes = {std::string(kFolder)}};
  for (const char* method : {"GET", "HEAD"}) {
    door.routes.push_back({.method = method,
                           .path = std::string(kFolder) + "*",
                           .handler = AnswerFile,
                           // A link to a style sheet or a script brings no token.
                           .access = Access::kProbes,
                           .log_level = log::Level::kDebug});
  }
  return door;
}

constinit const DoorRow kConsoleDoor = {
    .name = "console", .make = [](const DoorParts&) -> Result<Door> { return MakeConsoleDoor(); }};

}  // namespace polybox::http
