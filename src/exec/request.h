// What is asked of the engine and what it answers: plain data, without any wire format.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "jail/grade.h"
#include "jail/outcome.h"
#include "jail/slot.h"

namespace polybox::exec {

enum class Stream { kOut, kErr };
enum class StepKind { kCompile, kRun };

/// What happens to output past its limit.
enum class OutputRule {
  kEndRun,    ///< The run is ended; both streams count together.
  kTruncate,  ///< The run goes on; of each stream the first and the last part are kept.
};

/// What a request may change about a step; what is absent stays as the language file has it.
struct Overrides {
  std::optional<Duration> wall_time;
  std::optional<Duration> cpu_time;
  std::optional<Bytes> memory;
  std::optional<std::int64_t> processes;
  std::optional<Bytes> disk;
  std::optional<Bytes> output;
};

struct Request {
  /// Whose turn it is: requests of different clients take turns.
  std::string client;
  /// Which admission rules hold for it: an index into EngineOptions::lanes.
  std::size_t lane = 0;
  /// The id of a language of the catalog.
  std::string language;
  /// Instead of a language: a command in EngineOptions::commands, argv[0] being a name to look for
  /// or a path. Of the rest only `run` counts then.
  std::vector<std::string> command;
  /// The first is the entry.
  std::vector<jail::InputFile> files;
  std::vector<std::string> args;
  /// Added to the run step's environment.
  std::map<std::string, std::string> env;
  std::string input;
  std::vector<std::string> requirements;
  /// Of the installation of `requirements`; absent: the engine's own limit.
  std::optional<Duration> install_time;
  /// A directory in the working directory, made before the run and named by $OUTPUT_DIR, whose
  /// files come back as artifacts; "" for none.
  std::string output_directory;
  Overrides compile;
  Overrides run;
  OutputRule output_rule = OutputRule::kTruncate;
  /// Keeps both streams in the order of arrival as well.
  bool wants_combined = false;
  bool one_cpu = false;
  /// Nobody waits for an answer any longer than this.
  std::optional<Duration> patience;
  /// Called with output as it comes, on a thread of the engine, besides collecting it; may be null.
  std::function<void(StepKind, Stream, std::string_view)> on_output;
};

struct StepReport {
  jail::Outcome outcome;
  std::string out;
  std::string err;
  /// With Request::wants_combined.
  std::string combined;
  bool out_truncated = false;
  bool err_truncated = false;
  /// With End::kDiskLimit: what there was too much of.
  std::string ended_because;
};

struct Artifact {
  /// Relative to the output directory.
  std::string path;
  std::string content;
};

/// The guest's fate. All of this is an answer, never an error.
struct Report {
  /// Why the requirements could not be installed, with what the installer said; then nothing ran.
  std::optional<std::string> install_failure;
  /// Requirements that mean nothing to the language; it ran without them.
  std::vector<std::string> requirements_ignored = {};
  std::optional<StepReport> compile;
  /// Absent when the compiler failed.
  std::optional<StepReport> run;
  std::vector<Artifact> artifacts;
  /// Files that were left out: too large, too many, or not plain files.
  std::vector<std::string> artifacts_left_out;
  Duration queued{};
  Duration install{};
  bool warm = false;
  /// Whether the compile cache had the program; absent when it was not asked.
  std::optional<bool> compile_hit;
  jail::Grade isolation = jail::Grade::kNone;
};

enum class RefusalKind {
  kBusy,          ///< The queue is full.
  kQueueTimeout,  ///< It waited as long as its lane or its patience allows.
  kDraining,      ///< The server is about to end.
  kCancelled,     ///< Whoever asked is gone.
  kInvalid,       ///< The language refuses something in it: a file name, a requirement.
  kUnavailable,   ///< The language does not run here.
  kFailed,        ///< Our own failure.
};

/// Why a request was not run.
struct Refusal {
  RefusalKind kind = RefusalKind::kFailed;
  std::string message;
  /// When it may be worth asking again: kBusy, kQueueTimeout.
  Duration retry_after{};
  /// kBusy: how many ran and waited in its lane, itself included.
  std::int64_t load = 0;
};

using Answer = std::variant<Report, Refusal>;

}  // namespace polybox::exec
