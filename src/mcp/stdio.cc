#include "mcp/stdio.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include "json/write.h"
#include "mcp/connection.h"
#include "mcp/line_reader.h"
#include "mcp/outbox.h"

namespace polybox::mcp {
namespace {

enum class ReadEnd { kInput, kSignal, kClientGone };

/// Passes lines to the connection until one of the descriptors says that the conversation ends.
ReadEnd ReadMessages(const StdioOptions& options, int client_gone, Connection& connection) {
  LineReader lines(options.largest_message);
  std::array<char, 65536> buffer{};
  while (true) {
    pollfd waiting[] = {
        {options.in, POLLIN, 0}, {options.signals, POLLIN, 0}, {client_gone, POLLIN, 0}};
    if (::poll(waiting, 3, -1) < 0 && errno != EINTR) return ReadEnd::kInput;
    if (waiting[1].revents != 0) return ReadEnd::kSignal;
    if (waiting[2].revents != 0) return ReadEnd::kClientGone;
    if (waiting[0].revents == 0) continue;
    const ssize_t count = ::read(options.in, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count > 0) lines.Add({buffer.data(), static_cast<std::size_t>(count)});
    if (count <= 0) lines.End();
    while (const auto line = lines.Next()) {
      line->too_long ? connection.RefuseTooLong() : connection.Receive(line->text);
    }
    if (count <= 0) return ReadEnd::kInput;
  }
}

}  // namespace

StdioEnd ServeStdio(const StdioOptions& options, CallPool& calls, const log::Logger& log) {
  // Shared with the calls: one that does not end may send after this function has returned.
  const auto outbox = std::make_shared<Outbox>(Outbox::Options{.fd = options.out});
  const auto write = [outbox](const json::Value& message) { outbox->Send(json::Write(message)); };
  const auto conversation = std::make_shared<Conversation>();
  conversation->OpenStream(write);
  const std::shared_ptr<Connection> connection =
      Connection::Make({.dispatcher = options.dispatcher,
                        .calls = calls,
                        .tasks = options.tasks,
                        .context = options.context,
                        .send = write,
                        .notify = write,
                        .conversation = conversation,
                        .largest_message = options.largest_message});
  const ReadEnd end = ReadMessages(options, outbox->client_gone(), *connection);
  // The answers to what was asked before the end of the input are still wanted.
  bool idle = end == ReadEnd::kInput && calls.AwaitIdle(options.finish_time);
  // Nobody can ask for the results of tasks any more.
  if (options.tasks != nullptr) options.tasks->CancelAll();
  if (!idle) {
    connection->CancelAll();
    idle = calls.AwaitIdle(options.cancel_time);
  }
  if (!idle) log.Warn("a call of a tool does not end; it is given up");
  outbox->Finish(options.cancel_time);
  return idle ? StdioEnd::kFinished : StdioEnd::kStuck;
}

}  // namespace polybox::mcp
