// The fixture of tests with an engine and real slots: languages, a jail home, an engine, and
// requests whose answers are awaited. Real slots need what grade full needs; elsewhere the tests
// are skipped with the reason.
#pragma once

#include <cctype>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <future>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "exec/engine.h"
#include "languages/testing/builtin_files.h"
#include "launch/testing/full_home_fixture.h"

namespace polybox::exec::testing {

/// A test waits this long for an event before it fails.
constexpr auto kBound = std::chrono::seconds(30);

/// The limits of a step, as `[run.limits]` and `[compile.limits]` need them.
constexpr std::string_view kBashLimits =
    "address_space = \"512MiB\"\nopen_files = 64\nprocesses = 32\n";

/// Returns the file of a language with this id whose interpreter is Bash and whose entry is
/// `script.ID`. `run` is added to its part `[run]`, `parts` are further parts of the file.
inline std::string BashLanguage(const std::string& id, std::string_view parts = "",
                                std::string_view run = "") {
  std::string name = id;
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return fmt::format(
      "id = \"{0}\"\nname = \"{1}\"\nextensions = [\".{0}\"]\n"
      "[toolchain]\nbinaries = [\"bash\"]\nversion = [\"{{executable}}\", \"--version\"]\n"
      "[entry]\nfile = \"script.{0}\"\n"
      "[run]\ncommand = [\"{{executable}}\", \"{{entry}}\"]\n{4}[run.limits]\n{2}{3}\n"
      "[image]\napt = [\"bash\"]\n",
      id, name, kBashLimits, parts, run);
}

/// Returns the part of a language file for a compile step. `keys` are further keys of it.
inline std::string CompilePart(std::string_view command, std::string_view keys = "") {
  return fmt::format("[compile]\ncommand = {}\n{}[compile.limits]\n{}", command, keys, kBashLimits);
}

/// Something that a test waits for, such as the first output of a program. Any thread.
class Event {
 public:
  void Set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  /// Returns false if the event does not happen in time.
  [[nodiscard]] bool Await() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBound, [&] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

/// The script of a program that prints "begun" and runs until HeldGuest::Release(). It ends after
/// `then`.
inline std::string HeldScript(std::string_view then = "") {
  return fmt::format("echo begun; read -r line; {}", then);
}

/// Sets `event` when a part of the request's output contains `text`.
inline void SetOnOutput(Request& request, std::string text, Event& event) {
  request.on_output = [text = std::move(text), &event](StepKind, Stream, std::string_view part) {
    if (part.find(text) != std::string_view::npos) event.Set();
  };
}

inline RefusalKind KindOf(const Answer& answer) {
  const auto* refusal = std::get_if<Refusal>(&answer);
  EXPECT_NE(refusal, nullptr) << "the request was run";
  return refusal == nullptr ? RefusalKind::kFailed : refusal->kind;
}

class EngineFixture : public launch::testing::FullHomeFixture {
 protected:
  /// Makes the catalog of these built-in languages, and of the languages whose files are given.
  void Load(std::initializer_list<std::string_view> builtin, std::vector<std::string> more) {
    std::vector<EmbeddedFile> files = languages::testing::BuiltinFilesOf(builtin);
    for (std::string& text : more) {
      const std::string& kept = texts_.emplace_back(std::move(text));
      const std::string& name = texts_.emplace_back(fmt::format("test_{}.toml", texts_.size()));
      files.push_back({name, kept});
    }
    auto registry = languages::Registry::Load(files, {});
    ASSERT_TRUE(registry.ok()) << registry.error().message();
    registry_.emplace(std::move(registry).value());
    catalog_.emplace(*registry_, languages::FinderOptions{"/usr/bin:/bin", "", "/nowhere"}, log_);
  }

  void StartEngine(EngineOptions options) {
    engine_ = MakeEngine(*catalog_, *home_, std::move(options));
  }

  /// Returns the request for a program of one file.
  static Request ProgramOf(std::string language, std::string code) {
    Request request;
    request.client = "someone";
    request.work = Program{std::move(language), {{"script", std::move(code), 0644}}};
    return request;
  }
  static Program& In(Request& request) { return std::get<Program>(request.work); }

  struct Submitted {
    std::shared_ptr<Ticket> ticket;
    std::future<Answer> answer;
  };

  Submitted Submit(Request request) {
    auto promise = std::make_shared<std::promise<Answer>>();
    Submitted submitted;
    submitted.answer = promise->get_future();
    submitted.ticket = engine_->Submit(
        std::move(request), [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return submitted;
  }

  /// A submitted request whose guest has begun and waits. The test decides when the guest goes on.
  struct HeldGuest {
    Submitted submitted;
    /// The guest's standard input, and our end of it.
    UniqueFd input;
    UniqueFd line;

    void Release() { line.reset(); }
  };

  /// Submits the request, whose program is a HeldScript(), and waits until the program has begun.
  HeldGuest Hold(Request request) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    HeldGuest held = {{}, UniqueFd(ends[0]), UniqueFd(ends[1])};
    request.attached.input = held.input.get();
    const auto begun = std::make_shared<Event>();
    request.on_output = [begun](StepKind, Stream, std::string_view) { begun->Set(); };
    held.submitted = Submit(std::move(request));
    EXPECT_TRUE(begun->Await());
    return held;
  }

  Answer Ask(Request request) { return Submit(std::move(request)).answer.get(); }
  Report Run(Request request) { return ReportOf(Ask(std::move(request))); }
  static Report ReportOf(Answer answer) {
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      ADD_FAILURE() << refusal->message;
      return {};
    }
    return std::get<Report>(std::move(answer));
  }

  /// The texts and names of the files that the registry refers to.
  std::deque<std::string> texts_;
  std::optional<languages::Registry> registry_;
  std::optional<Catalog> catalog_;
  std::shared_ptr<Executor> engine_;
};

}  // namespace polybox::exec::testing
