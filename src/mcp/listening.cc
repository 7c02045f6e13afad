#include "mcp/listening.h"

#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "json/write.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kSubscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/// An open subscription. The call holds it until it is cancelled.
class Listening : public std::enable_shared_from_this<Listening> {
 public:
  Listening(json::Value id, std::weak_ptr<Call> call, SendMessage send)
      : id_(std::move(id)), call_(std::move(call)), send_(std::move(send)) {}

  /// Watches the document, if that is possible.
  bool Add(const std::string& uri, const ListenOptions& options) {
    auto changed = [weak = weak_from_this(), uri] {
      if (const auto self = weak.lock()) self->Changed(uri);
    };
    auto watch = options.documents.WatchFor(options.context, uri, std::move(changed));
    if (!watch.ok()) return false;
    const std::lock_guard lock(mutex_);
    watches_.push_back(std::move(watch).value());
    return true;
  }

  /// Sends the acknowledgement, and then what has changed since the watches began.
  void Begin(json::Object honoured) {
    Send("notifications/subscriptions/acknowledged", {{"notifications", std::move(honoured)}});
    std::set<std::string> early;
    {
      const std::lock_guard lock(mutex_);
      begun_ = true;
      early.swap(early_);
    }
    for (const std::string& uri : early) SendUpdate(uri);
  }

  void End() {
    std::vector<std::unique_ptr<tools::Watch>> watches;
    const std::lock_guard lock(mutex_);
    watches.swap(watches_);
  }

 private:
  void Changed(const std::string& uri) {
    {
      const std::lock_guard lock(mutex_);
      if (!begun_) {
        early_.insert(uri);
        return;
      }
    }
    SendUpdate(uri);
  }
  void SendUpdate(const std::string& uri) {
    Send("notifications/resources/updated", {{"uri", json::Text(uri)}});
  }
  void Send(std::string_view method, json::Object params) {
    params["_meta"] = json::Object{{kSubscriptionIdKey, id_}};
    const auto call = call_.lock();
    if (call == nullptr) return;
    call->WhileOpen([&] { send_(NotificationMessage(method, std::move(params))); });
  }

  const json::Value id_;
  const std::weak_ptr<Call> call_;
  const SendMessage send_;
  std::mutex mutex_;
  // All below are guarded by `mutex_`.
  bool begun_ = false;
  std::set<std::string> early_;
  std::vector<std::unique_ptr<tools::Watch>> watches_;
};

/// Returns the URIs that the client wants to watch.
std::variant<std::vector<std::string>, RpcError> UrisOf(const json::Object& filter) {
  std::vector<std::string> uris;
  const json::Value* wanted = filter.if_contains("resourceSubscriptions");
  if (wanted == nullptr) return uris;
  const json::Array* list = wanted->if_array();
  if (list == nullptr) {
    return RpcError{Code::kInvalidParams, "resourceSubscriptions must be an array"};
  }
  if (list->size() > Conversation::kMostWatches) {
    return RpcError{Code::kInvalidParams,
                    fmt::format("at most {} documents can be watched", Conversation::kMostWatches)};
  }
  for (const json::Value& uri : *list) {
    if (!uri.is_string()) {
      return RpcError{Code::kInvalidParams, "resourceSubscriptions must hold strings"};
    }
    uris.emplace_back(uri.get_string());
  }
  return uris;
}

}  // namespace

std::optional<RpcError> Listen(const ListenOptions& options, const std::shared_ptr<Call>& call) {
  const json::Value* filter = options.request.params.if_contains("notifications");
  if (filter == nullptr || !filter->is_object()) {
    return RpcError{Code::kInvalidParams, "notifications must be an object"};
  }
  const auto uris = UrisOf(filter->get_object());
  if (const auto* wrong = std::get_if<RpcError>(&uris)) return *wrong;
  const auto listening = std::make_shared<Listening>(options.request.id, call, options.send);
  call->OnCancel([listening] { listening->End(); });
  json::Array watched;
  for (const std::string& uri : std::get<std::vector<std::string>>(uris)) {
    if (listening->Add(uri, options)) watched.push_back(json::Text(uri));
  }
  json::Object honoured;
  // The lists of tools and prompts never change while polybox runs.
  if (!watched.empty()) honoured["resourceSubscriptions"] = std::move(watched);
  listening->Begin(std::move(honoured));
  return std::nullopt;
}

}  // namespace polybox::mcp
