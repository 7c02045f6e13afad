// The text for bash that runs a plan in the jail of a workspace, and the text that people see. Pure
// functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "verify/detector.h"

namespace polybox::verify {

/// The variable of commands that holds the path of the report file.
inline constexpr std::string_view kReportVariable = "POLYBOX_REPORT";
/// The exit code when a program is missing: that of shells for a command that they do not find.
inline constexpr int kMissingCode = 127;

/// Returns the text as one word of a shell.
std::string Quoted(std::string_view text);

/// Returns the text that runs the plan, or exits with kMissingCode if a program is missing. `run`
/// makes the directory of the report different from that of any other run.
std::string CommandText(const Plan& plan, std::string_view run);
/// Returns the text that prints the programs of the plan that are missing, one on each line.
std::string MissingText(const Plan& plan);
/// Returns the text that prints the report file and removes it. It fails if there is no such file.
std::string ReportText(const Plan& plan, std::string_view run);

/// Returns the command as a person would type it.
std::string ShownCommand(const languages::Argv& argv);

}  // namespace polybox::verify
