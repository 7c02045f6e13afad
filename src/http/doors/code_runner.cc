#include "http/doors/code_runner.h"

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "http/doors/event_stream.h"
#include "http/doors/execute_body.h"
#include "http/doors/execute_request.h"
#include "http/doors/execute_result.h"

namespace polybox::http {
namespace {

/// Reads the body and makes the order for the engine.
Result<ExecuteOrder> Read(const std::string& text, const ExecuteOptions& options) {
  POLYBOX_ASSIGN_OR_RETURN(ExecuteBody body, ReadExecuteBody(text));
  if (!body.complaint.empty()) return Error(ErrorKind::kInvalid, body.complaint);
  if (!body.code || body.code->empty()) return Error(ErrorKind::kInvalid, "code is required");
  std::vector<std::string> warnings = std::move(body.warnings);
  POLYBOX_ASSIGN_OR_RETURN(ExecuteOrder order, OrderFor(std::move(body), options));
  order.warnings = std::move(warnings);
  return order;
}

Error ErrorFor(const exec::Refusal& refusal) {
  using exec::RefusalKind;
  switch (refusal.kind) {
    case RefusalKind::kBusy:
    case RefusalKind::kQueueTimeout:
      return Error(ErrorKind::kUnavailable, "the server runs as many programs as it may")
          .WithFix("try again in a few seconds");
    case RefusalKind::kDraining:
      return {ErrorKind::kUnavailable, "the server is shutting down"};
    case RefusalKind::kCancelled:
      return {ErrorKind::kUnavailable, "execution was cancelled"};
    case RefusalKind::kInvalid:
    case RefusalKind::kUnavailable:
    case RefusalKind::kFailed:
      break;
  }
  return {ErrorKind::kInvalid, refusal.message};
}

}  // namespace

Result<std::string> ExecuteRunner::Run(const std::string& body, const Call& call) {
  POLYBOX_ASSIGN_OR_RETURN(ExecuteOrder order, Read(body, options_));
  order.request.client = call.principal;
  if (call.on_stage) {
    order.request.on_stage = [report = call.on_stage](exec::Stage stage) {
      report(StageName(stage));
    };
  }
  // The answer comes on a thread of the engine.
  const auto promise = std::make_shared<std::promise<exec::Answer>>();
  std::future<exec::Answer> future = promise->get_future();
  const std::shared_ptr<exec::Ticket> ticket =
      executor_.Submit(std::move(order.request),
                       [promise](exec::Answer answer) { promise->set_value(std::move(answer)); });
  const std::stop_callback cancelled(call.stop, [&] { ticket->Cancel(); });
  const exec::Answer answer = future.get();
  const auto* report = std::get_if<exec::Report>(&answer);
  if (report == nullptr) return ErrorFor(std::get<exec::Refusal>(answer));
  const std::string& language =
      report->fallback_language.empty() ? order.language->id : report->fallback_language;
  return ExecuteResult(*report, {language, order.timeout, std::move(order.warnings)});
}

}  // namespace polybox::http
