// Runs the steps of one request in one slot: puts the files in place, compiles, runs the program,
// collects its files. An Attempt makes one Session for its slot.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/compile_cache.h"
#include "compile/compile_step.h"
#include "exec/output_gate.h"
#include "exec/request.h"
#include "exec/space_watch.h"
#include "jail/slot.h"
#include "launch/launch.h"
#include "net/egress_proxy.h"

namespace polybox::exec {

/// The conditions of a session. Borrowed; must outlive it.
struct SessionTerms {
  const Request& request;
  /// Once stop is requested, the step that runs is killed, and no other begins.
  std::stop_token cancel = {};
  /// Null: the compiler runs for each request.
  compile::CompileCache* cache = nullptr;
  /// The egress proxy of the slot; null for none.
  net::EgressProxy* egress = nullptr;
  /// If there is a gate, Run() also finds out whether the interpreter refuses to parse the program.
  OutputGate* gate = nullptr;
};

/// One thread calls Run() or RunCommand(), once.
class Session {
 public:
  /// Borrows the slot and the report, which the session fills in.
  Session(jail::Slot& slot, SessionTerms terms, Report& report)
      : slot_(slot), terms_(std::move(terms)), request_(terms_.request), report_(report) {}

  /// Runs a program of a language. Fills in the members compile, run and artifacts of the report.
  /// An error of kind kInvalid is a mistake in the request. Any other error means that the slot is
  /// broken.
  Status Run(const Program& program, launch::Installation installation);
  /// Runs a command. Fills in the member run of the report. `space` enforces the quota of the
  /// commands' directory; it may be null. An error means that the slot is broken.
  Status RunCommand(jail::RunRequest run, SpaceWatch* space);

 private:
  struct Step;
  /// A program with the files and paths that it has in the slot.
  struct Placed {
    const Program& program;
    launch::Installation installation;
    std::vector<jail::InputFile> files = {};
  };

  bool cancelled() const { return terms_.cancel.stop_requested(); }
  /// Returns the program with its files; an error if they cannot be put into the slot.
  Result<Placed> Place(const Program& program, launch::Installation installation) const;
  /// Returns a step of the language with the changes that the request asks for.
  Result<Step> StepFor(const Placed& placed, StepKind kind) const;
  /// Puts the files into the slot and performs the compile step, or takes its result from the
  /// cache.
  Status Compile(const Placed& placed);
  /// Returns whether the compile step, if the language has one, made a program.
  bool HasCompiled(const Placed& placed) const;
  /// Performs a step and records its output. Opens the egress proxy first if this is the run step.
  Result<StepReport> Perform(StepKind kind, const Step& step);
  /// Runs a step with its standard streams connected.
  Result<jail::Outcome> RunIn(StepKind kind, const Step& step, const compile::Listener& listener);
  /// Reads the artifacts from the output directory into the report.
  Status Collect(const std::string& output_directory);
  /// Returns whether the run ended in the way in which a run ends if the interpreter refuses the
  /// entry.
  bool LooksRefused(const Placed& placed) const;
  /// Returns whether the interpreter refuses to parse the entry that the request brought. Resets
  /// the slot first, so that no change by the program remains.
  Result<bool> IsRefused(const Placed& placed);

  jail::Slot& slot_;
  const SessionTerms terms_;
  const Request& request_;
  Report& report_;
};

}  // namespace polybox::exec
