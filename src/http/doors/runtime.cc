#include "http/doors/runtime.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "http/doors/accept.h"
#include "http/doors/console.h"
#include "http/doors/door_table.h"
#include "http/doors/engine_commands.h"
#include "http/doors/execute_result.h"
#include "http/doors/multipart.h"
#include "http/doors/shell_words.h"
#include "http/run_note.h"
#include "http/sites.h"
#include "json/write.h"

namespace polybox::http {
namespace {

Response Json(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

Response Say(int status, std::string_view key, std::string_view text) {
  return Json(status, json::Write(json::Object{{key, json::Text(text)}}));
}

Response Message(int status, std::string_view text) {
  return Say(status, "message", text);
}

Response Fail(const Error& error, const std::string& intent, std::string_view not_found) {
  if (error.system_errno() == ENOSPC || error.system_errno() == EDQUOT) {
    // Not a 500, because clients repeat a request after a 500.
    return Message(507, fmt::format("{} failed: {}", intent, error.message()));
  }
  switch (error.kind()) {
    case ErrorKind::kInvalid:
      return Message(403, "Access denied");
    case ErrorKind::kNotFound:
      return Message(404, not_found);
    case ErrorKind::kUnavailable:
      // Not a 5xx, because clients repeat a request after a 5xx.
      return Message(413, fmt::format("{} failed: {}", intent, error.message()));
    case ErrorKind::kSystem:
      break;
  }
  return Message(500, fmt::format("{} failed: {}", intent, error.message()));
}

/// Returns FastAPI's answer to a form without the file.
Response MissingFile() {
  return Json(
      422,
      R"({"detail":[{"type":"missing","loc":["body","file"],"msg":"Field required","input":null}]})");
}

/// Returns Content-Disposition with the file name: plain if possible, else in the form for other
/// alphabets (RFC 5987).
std::string Attachment(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::string quoted;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '.' || c == '-' || c == '~';
    quoted += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return quoted == name ? fmt::format("attachment; filename=\"{}\"", name)
                        : fmt::format("attachment; filename*=utf-8''{}", quoted);
}

Response Refused(Fault fault, const Request& request) {
  switch (fault) {
    case Fault::kNotFound:
      return Say(404, "detail", "Not Found");
    case Fault::kMethodNotAllowed:
      return Say(405, "detail", "Method Not Allowed");
    case Fault::kBodyTooLarge:
      return Say(413, "detail", "Request body too large");
    case Fault::kOverloaded:
      return Say(503, "detail", "too many requests are being read");
    case Fault::kUnauthorized:
      return Say(401, "detail", "a valid token is required");
    case Fault::kForeignHost:
    case Fault::kForeignOrigin:
      // In the format of this dialect's other 403.
      return Message(403, SiteComplaint(fault, request));
    case Fault::kDraining:
      return Say(503, "detail", "the server is shutting down");
    case Fault::kInternal:
      return Say(500, "detail", "Internal Server Error");
  }
  return Say(500, "detail", "Internal Server Error");
}

class RuntimeDoor : public std::enable_shared_from_this<RuntimeDoor> {
 public:
  explicit RuntimeDoor(RuntimeOptions options) : options_(std::move(options)) {}

  Door Make() {
    Door door;
    door.name = "runtime";
    door.routes = {
        Answering("GET", "/", &RuntimeDoor::Alive),
        Answering("HEAD", "/", &RuntimeDoor::Alive),
        Answering("POST", "/upload", &RuntimeDoor::Upload),
        Answering("GET", "/download/*", &RuntimeDoor::Download),
        Answering("GET", "/list/*", &RuntimeDoor::List),
        Answering("GET", "/exists/*", &RuntimeDoor::Exists),
    };
    for (Route& route : door.routes) {
      if (route.path == "/upload") route.largest_body = options_.largest_upload;
      if (route.path != "/") continue;
      route.access = Access::kPages;
      route.log_level = log::Level::kDebug;
    }
    door.refuse = Refused;
    // Without these prefixes this door would answer the faults of all unknown paths.
    door.fault_prefixes = {"/download/", "/list/", "/exists/"};
    door.facts = {{"largest_upload", std::to_string(options_.largest_upload)},
                  {"largest_download", std::to_string(options_.largest_download.count())},
                  {"most_entries", std::to_string(options_.most_entries)},
                  {"base_size", std::to_string(options_.space_limits.bytes.count())},
                  {"base_files", std::to_string(options_.space_limits.files)}};
    return door;
  }

 private:
  using Answer = Response (RuntimeDoor::*)(const Request&) const;

  Route Answering(std::string method, std::string path, Answer answer) {
    const auto handler = [self = shared_from_this(), answer](const auto& exchange) {
      exchange->Respond((*self.*answer)(exchange->request()));
    };
    return {std::move(method), std::move(path), handler, 0};
  }

  /// Returns the path behind the route's own part.
  static std::string_view Tail(const Request& request) {
    return std::string_view(request.path).substr(request.path.find('/', 1) + 1);
  }

  Response Alive(const Request& request) const {
    Response alive = PrefersPage(request)
                         ? ConsolePage(request)
                         : Json(200, R"({"status":"ok","message":"Sandbox Runtime is active."})");
    alive.headers.emplace_back("Vary", "Accept");
    return alive;
  }

  Response Upload(const Request& request) const {
    const auto found = FindUpload(request.Header("Content-Type"), request.body, "file");
    if (!found.ok()) return Say(400, "detail", found.error().message());
    if (!*found) return MissingFile();
    const UploadedFile& file = **found;
    const Status written = Write(file);
    if (!written.ok()) return Fail(written.error(), "File upload", "");
    return Message(200, fmt::format("File '{}' uploaded successfully.", file.filename));
  }

  Status Write(const UploadedFile& file) const {
    std::optional<exec::SpaceWatch::Reservation> room;
    if (options_.space != nullptr) {
      // The file, and the parent directories that may have to be made.
      const auto names = 1 + std::ranges::count(file.filename, '/');
      POLYBOX_ASSIGN_OR_RETURN(exec::SpaceWatch::Reservation reserved,
                               options_.space->Reserve({Bytes(file.content.size()), names, 0}));
      room.emplace(std::move(reserved));
    }
    return options_.files->Write(file.filename, file.content);
  }

  Response Download(const Request& request) const {
    const std::string_view path = Tail(request);
    auto content = options_.files->Read(path, options_.largest_download);
    if (!content.ok()) return Fail(content.error(), "File download", "File not found");
    Response response;
    response.content_type = "application/octet-stream";
    response.body = std::move(content).value();
    response.headers = {{"Content-Disposition", Attachment(path)}};
    return response;
  }

  Response List(const Request& request) const {
    const auto entries = options_.files->List(Tail(request), options_.most_entries);
    if (!entries.ok()) return Fail(entries.error(), "List files", "Path is not a directory");
    json::Array listed;
    for (const BaseDirectory::Entry& entry : *entries) {
      listed.push_back(json::Object{{"name", json::Text(entry.name)},
                                    {"size", entry.size},
                                    {"type", entry.directory ? "directory" : "file"},
                                    {"mod_time", entry.modified}});
    }
    return Json(200, json::Write(listed));
  }

  Response Exists(const Request& request) const {
    const std::string_view path = Tail(request);
    const auto exists = options_.files->Exists(path);
    if (!exists.ok()) return Fail(exists.error(), "Check", "");
    return Json(200, json::Write(json::Object{{"path", json::Text(path)}, {"exists", *exists}}));
  }

  const RuntimeOptions options_;
};

Result<std::vector<std::string>> Words(const std::string& command) {
  if (command.find('\0') != std::string::npos) {
    return Error(ErrorKind::kInvalid, "embedded null byte");
  }
  POLYBOX_ASSIGN_OR_RETURN(std::vector<std::string> words, SplitShellWords(command));
  if (words.empty()) return Error(ErrorKind::kInvalid, "no command was given");
  return words;
}

exec::Lane LaneFor(const DoorSettings& settings) {
  exec::Lane lane = settings.usual_lane;
  lane.name = "command";
  return lane;
}

RuntimeOptions OptionsFor(const DoorParts& parts) {
  RuntimeOptions options;
  options.files = parts.files.directory;
  options.space = parts.files.space;
  options.space_limits = parts.files.limits;
  options.command_timeout = parts.settings.command_timeout;
  options.capacity = LaneFor(parts.settings).concurrency;
  options.isolation = parts.isolation;
  return options;
}

}  // namespace

Door MakeRuntimeDoor(RuntimeOptions options) {
  return std::make_shared<RuntimeDoor>(std::move(options))->Make();
}

CommandHandler MakeCommandHandler(CommandRunner& runner, RuntimeOptions options) {
  return [&runner, options = std::move(options)](const std::shared_ptr<Exchange>& exchange,
                                                 const CommandCall& call) {
    const Duration timeout =
        std::min(options.command_timeout, call.timeout.value_or(options.command_timeout));
    const ResultContext context{"", timeout, call.warnings};
    auto words = Words(call.command);
    // Even this is a 200, because the API's clients only check the exit code.
    if (!words.ok()) {
      const std::string body = CommandFailure(words.error().message(), context, options.isolation);
      return exchange->Respond(Json(200, body + "\n"));
    }
    CommandRequest request{exchange->request().client, std::move(words).value(), timeout};
    const auto ticket =
        runner.Run(std::move(request), [exchange, context, command = call.command,
                                        capacity = options.capacity](const exec::Answer& answer) {
          const auto* report = std::get_if<exec::Report>(&answer);
          exchange->Note(NoteOf("", answer));
          exchange->Respond(
              report != nullptr
                  ? Json(200, CommandResult(*report, context, command) + "\n")
                  : ExecuteRefusal(std::get<exec::Refusal>(answer), capacity, context.warnings));
        });
    exchange->OnDisconnect([ticket] { ticket->Cancel(); });
  };
}

CommandHandler CommandsOf(const DoorParts& parts) {
  const auto runner = std::make_shared<EngineCommands>(parts.executor, LaneNumber(kRuntimeDoor));
  return [runner, handler = MakeCommandHandler(*runner, OptionsFor(parts))](
             const std::shared_ptr<Exchange>& exchange, const CommandCall& call) {
    handler(exchange, call);
  };
}

constinit const DoorRow kRuntimeDoor = {
    .name = "runtime", .lane = LaneFor, .make = [](const DoorParts& parts) -> Result<Door> {
      return MakeRuntimeDoor(OptionsFor(parts));
    }};

}  // namespace polybox::http
