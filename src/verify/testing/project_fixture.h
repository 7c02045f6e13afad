// A workspace in a temporary directory whose projects tests look at. Not part of the program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "languages/builtin.h"
#include "languages/registry.h"
#include "verify/detectors.h"
#include "verify/project.h"

namespace polybox::verify::testing {

class ProjectFixture : public ::testing::Test {
 protected:
  ProjectFixture() : registry_(Builtin()), detectors_(registry_) {
    root_ = std::filesystem::canonical(dir_.path()).string();
    auto workspace = workspace::Workspace::Open("main", root_, {});
    EXPECT_TRUE(workspace.ok()) << workspace.error().message();
    workspace_ = std::move(workspace).value();
  }

  void Put(const std::string& path, const std::string& content = "") const {
    dir_.Write(path, content);
  }
  Project Open(const std::string& path = "") const {
    Result<Project> project = Project::Open(*workspace_, path);
    EXPECT_TRUE(project.ok()) << project.error().message();
    return std::move(project).value();
  }
  /// Returns the ids of the chosen detectors, or the error.
  std::string Choose(const std::string& language, const std::string& path = "") const {
    const Result<Chosen> chosen =
        detectors_.Choose(Open(path), {.tool = "run_tests", .language = language});
    if (!chosen.ok()) return chosen.error().message();
    std::string ids;
    for (const Detector* each : *chosen) {
      ids += (ids.empty() ? "" : " ") + std::string(each->Language());
    }
    return ids;
  }
  /// Returns the plan of the detector that is chosen, or one whose script is the error.
  Plan PlanOf(const std::string& language, Check check, const PlanOptions& options = {}) const {
    const Project project = Open();
    const Result<Chosen> chosen = detectors_.Choose(project, {.tool = "t", .language = language});
    if (!chosen.ok()) return {.script = chosen.error().message()};
    Result<Plan> plan = chosen->front()->PlanFor(check, project, options);
    if (!plan.ok()) return {.script = plan.error().message()};
    return std::move(plan).value();
  }

  static languages::Registry Builtin() {
    Result<languages::Registry> registry = languages::Registry::Load(languages::BuiltinFiles(), {});
    EXPECT_TRUE(registry.ok()) << registry.error().message();
    return std::move(registry).value();
  }

  polybox::testing::TempDir dir_;
  std::string root_;
  std::unique_ptr<workspace::Workspace> workspace_;
  const languages::Registry registry_;
  const Detectors detectors_;
};

}  // namespace polybox::verify::testing
