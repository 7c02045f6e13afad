// What a door asks of the engine and what the engine answers: plain data, independent of any wire
// format.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/overloaded.h"
#include "base/units.h"
#include "jail/grade.h"
#include "jail/outcome.h"
#include "jail/slot.h"
#include "launch/streams.h"
#include "limits/limits.h"

namespace polybox::exec {

/// Names the stream in Request::on_output.
using launch::Stream;

/// A step of a session.
enum class StepKind { kCompile, kRun };

/// What an admitted request waits for.
enum class Stage {
  kQueued,      ///< A free place: other requests hold all of them.
  kInstalling,  ///< The installation of its requirements.
  kCompiling,   ///< Its compile step.
  kRunning,     ///< Its program.
};

/// What happens to output beyond its limit.
enum class OutputRule {
  kEndRun,    ///< The run is killed; the limit holds for both streams together.
  kTruncate,  ///< The run continues; the first and the last part of each stream are kept.
};

/// The limits of a step that a request changes.
using Overrides = limits::Overrides;

/// Descriptors of a caller that is connected to its program while it runs, as `polybox run` is.
/// Borrowed; -1 for none.
struct Attached {
  /// Its content becomes the guest's standard input, after Request::input.
  int input = -1;
  /// A signalfd: each signal that arrives there during a step is sent to the step's process.
  int signals = -1;
};

/// A program of a language.
struct Program {
  /// The id of a language of the catalog.
  std::string language;
  /// The first file is the entry.
  std::vector<jail::InputFile> files;
  std::vector<std::string> args = {};
  /// Variables added to the environment of the run step.
  std::map<std::string, std::string> env = {};
  /// Packages to install for the program.
  std::vector<std::string> requirements = {};
  /// Time limit for installing `requirements`; absent: the engine's own limit.
  std::optional<Duration> install_time = {};
  /// The client's name for that limit. The message of an installation that takes too long quotes
  /// it.
  std::string install_time_name = {};
  /// A directory in the working directory, made before the run and named by $OUTPUT_DIR. Its files
  /// come back as artifacts. "" for none.
  std::string output_directory = {};
  /// Limits of the compile step. Those of the run step are in Request::run.
  Overrides compile = {};
  /// What raises the memory limit of the compile step; see Request::run_memory_from.
  std::string compile_memory_from = {};
  /// Whether another language may run the program if the interpreter refuses to parse it
  /// (`fallback` in the language file).
  bool may_fall_back = false;
};

/// A command: a program of the host that runs in the directory of EngineOptions::commands.
struct Command {
  /// argv[0] is a name to look up on PATH, or a path.
  std::vector<std::string> argv;
};

/// What a request asks for. Every function that depends on the alternative visits it with
/// Overloaded (base/overloaded.h), so the compiler names the functions that a new one lacks.
using Work = std::variant<Program, Command>;

/// One piece of work and its conditions. The engine keeps it until the answer.
struct Request {
  /// The client's name. Requests of different clients in one lane take turns.
  std::string client;
  /// The admission rules of this request: an index into EngineOptions::lanes.
  std::size_t lane = 0;
  Work work;
  /// The guest's standard input.
  std::string input;
  Attached attached = {};
  /// Limits of the run step: of the program, or of the command.
  Overrides run;
  OutputRule output_rule = OutputRule::kTruncate;
  /// Whether StepReport::combined is filled: both streams in the order of arrival.
  bool wants_combined = false;
  /// Whether the guest may use only one processor.
  bool one_cpu = false;
  /// What raises the memory limit of the run step, as the door's users know it: a member of the
  /// request, or a setting. Quoted in the line that ends the output of a step which lacked memory.
  /// "" for nothing.
  std::string run_memory_from = {};
  /// The longest time that the request may wait in the queue. The lane's own limit holds as well.
  std::optional<Duration> patience;
  /// Called with each part of the output as it arrives, on a thread of the engine. The output is
  /// collected for the report as well. May be null.
  std::function<void(StepKind, Stream, std::string_view)> on_output;
  /// Called when the request reaches a stage, on the thread that submits the request or on a thread
  /// of the engine. Stages that take no time (a package set or a compiled program in the cache) are
  /// left out. May be null.
  std::function<void(Stage)> on_stage = {};
};

/// Returns the id of the language that the request names; "" for work without a language.
inline std::string LanguageOf(const Request& request) {
  return std::visit(Overloaded{[](const Program& program) { return program.language; },
                               [](const Command&) { return std::string(); }},
                    request.work);
}

/// Calls Request::on_stage, if there is one.
inline void Tell(const Request& request, Stage stage) {
  if (request.on_stage) request.on_stage(stage);
}

/// How one step ended and what it wrote.
struct StepReport {
  jail::Outcome outcome;
  /// Standard output and error output, cut according to Request::output_rule.
  std::string out;
  std::string err;
  /// Both streams in the order of arrival; "" unless Request::wants_combined.
  std::string combined;
  bool out_truncated = false;
  bool err_truncated = false;
  /// The limits of the step, for messages that name a limit.
  jail::HeldLimits limits = {};
  /// The line about lack of memory that `err` ends with; "" for none.
  std::string memory_note = {};
  /// For End::kDiskLimit: the limit that was exceeded, as a sentence.
  std::string ended_because;
};

/// A file that the program left in its output directory.
struct Artifact {
  /// Path relative to the output directory.
  std::string path;
  std::string content;
};

/// How a request ended that was not refused. A guest that crashes or exceeds a limit is described
/// here; that is never an error.
struct Report {
  /// Why the requirements could not be installed, with the installer's output. The program does not
  /// run then.
  std::optional<std::string> install_failure;
  /// Requirements that the language ignores; the program ran without them.
  std::vector<std::string> requirements_ignored = {};
  std::optional<StepReport> compile;
  /// Absent when the installation or the compile step failed.
  std::optional<StepReport> run;
  std::vector<Artifact> artifacts;
  /// Files of the output directory that are not returned, with the reason: too large, too many, or
  /// not a plain file.
  std::vector<std::string> artifacts_left_out;
  /// The time that the request waited in the queue.
  Duration queued{};
  /// The time that the request waited for its packages.
  Duration install{};
  /// Whether an interpreter that had started already ran the program.
  bool warm = false;
  /// Whether the compile cache had the program; absent when the cache was not used.
  std::optional<bool> compile_hit;
  /// The isolation grade of the jail.
  jail::Grade isolation = jail::Grade::kNone;
  /// The id of the fallback language that ran the program; "" when the requested language ran it.
  std::string fallback_language = {};
  /// Whether the interpreter refused to parse the entry. No line of the entry has run then.
  bool refused = false;
  /// Reasons why the isolation is not stronger: JailHome::notes().
  std::vector<std::string> isolation_notes = {};
};

enum class RefusalKind {
  kBusy,          ///< The queue is full.
  kQueueTimeout,  ///< The request waited as long as its lane or its `patience` allows.
  kDraining,      ///< The server is shutting down.
  kCancelled,     ///< The caller cancelled the request.
  kInvalid,       ///< The language refuses a part of the request: a file name, a requirement.
  kUnavailable,   ///< The language does not run on this host.
  kFailed,        ///< A failure of polybox itself.
};

/// Why a request has no report.
struct Refusal {
  RefusalKind kind = RefusalKind::kFailed;
  std::string message;
  /// How long the client should wait before it tries again: kBusy, kQueueTimeout.
  Duration retry_after{};
  /// kBusy: the number of requests of the lane that run or wait, including this one.
  std::int64_t load = 0;
};

using Answer = std::variant<Report, Refusal>;

}  // namespace polybox::exec
