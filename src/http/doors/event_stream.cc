#include "http/doors/event_stream.h"

#include <algorithm>

#include "http/doors/go_json/writer.h"

namespace polybox::http {
namespace {

/// Returns the length of the UTF-8 character that begins with this byte; 1 for a byte that begins
/// no longer character.
std::size_t AnnouncedLength(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xf0 && byte <= 0xf4) return 4;
  if (byte >= 0xe0 && byte <= 0xef) return 3;
  if (byte >= 0xc2 && byte <= 0xdf) return 2;
  return 1;
}

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
}

std::string_view StreamName(exec::Stream stream) {
  return stream == exec::Stream::kOut ? "stdout" : "stderr";
}

}  // namespace

std::string_view StageName(exec::Stage stage) {
  switch (stage) {
    case exec::Stage::kQueued:
      return "queued";
    case exec::Stage::kInstalling:
      return "installing";
    case exec::Stage::kCompiling:
      return "compiling";
    case exec::Stage::kRunning:
      return "running";
  }
  return "running";
}

std::size_t WholeCharacters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const char c = text[text.size() - back];
    if (IsContinuation(c)) continue;
    return AnnouncedLength(c) > back ? text.size() - back : text.size();
  }
  return text.size();
}

// Sends only whole characters: JSON is UTF-8, and a part of a character would become U+FFFD.
void EventStream::Output(exec::StepKind step, exec::Stream stream, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  Channel& channel = ChannelOf(step, stream);
  if (channel.cut) return;
  const std::size_t room = limit_ - channel.sent;
  const std::string_view kept = bytes.substr(0, room);
  channel.sent += kept.size();
  channel.pending += kept;
  const std::size_t whole = WholeCharacters(channel.pending);
  SendData(step, stream, std::string_view(channel.pending).substr(0, whole));
  channel.pending.erase(0, whole);
  if (kept.size() == bytes.size()) return;
  channel.cut = true;
  JsonWriter json;
  json.BeginObject().Key("stream").String(StreamName(stream)).EndObject();
  Send("truncated", std::move(json).Take());
}

void EventStream::Progress(exec::Stage stage) {
  const std::lock_guard lock(mutex_);
  if (stage == exec::Stage::kRunning && !waited_) return;
  waited_ = true;
  JsonWriter json;
  json.BeginObject().Key("stage").String(StageName(stage)).EndObject();
  Send("progress", std::move(json).Take());
}

void EventStream::Finish(std::string_view result) {
  const std::lock_guard lock(mutex_);
  for (const exec::StepKind step : {exec::StepKind::kCompile, exec::StepKind::kRun}) {
    Flush(step, exec::Stream::kOut);
    Flush(step, exec::Stream::kErr);
  }
  Send("result", result);
  exchange_->End();
}

// Before the first event the refusal is a normal response with its own status.
void EventStream::Refuse(Response response) {
  const std::lock_guard lock(mutex_);
  if (!begun_) return exchange_->Respond(std::move(response));
  while (response.body.ends_with('\n')) response.body.pop_back();
  Send("error", response.body);
  exchange_->End();
}

EventStream::Channel& EventStream::ChannelOf(exec::StepKind step, exec::Stream stream) {
  const std::size_t index =
      (step == exec::StepKind::kRun ? 2U : 0U) + (stream == exec::Stream::kErr ? 1U : 0U);
  return channels_.at(index);
}

void EventStream::Begin() {
  if (begun_) return;
  begun_ = true;
  Response head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-store"}};
  exchange_->Begin(std::move(head));
}

void EventStream::Send(std::string_view event, std::string_view json) {
  Begin();
  std::string text = "event: ";
  text.append(event).append("\ndata: ").append(json).append("\n\n");
  exchange_->Write(text);
}

void EventStream::SendData(exec::StepKind step, exec::Stream stream, std::string_view text) {
  if (text.empty()) return;
  JsonWriter json;
  json.BeginObject().Key("data").String(text);
  if (step == exec::StepKind::kCompile) json.Key("step").String("compile");
  json.EndObject();
  Send(StreamName(stream), std::move(json).Take());
}

void EventStream::Flush(exec::StepKind step, exec::Stream stream) {
  Channel& channel = ChannelOf(step, stream);
  SendData(step, stream, channel.pending);
  channel.pending.clear();
}

}  // namespace polybox::http
