// The recorded outputs of real tools in parsers/testdata: a folder per parser, and in it one per
// case, with the files `out`, `err`, `report`, `exit`, `module` and `expected.json`. A file that is
// missing is empty.
#pragma once

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "json/value.h"
#include "json/write.h"
#include "verify/parser.h"

namespace polybox::verify::testing {

/// The project lay below this folder when the outputs were recorded.
inline constexpr std::string_view kProjects = "/tmp/project/";

struct Fixture {
  std::string parser = {};
  std::string name = {};
  std::string folder = {};
  std::string out = {};
  std::string err = {};
  std::string report = {};
  std::string module = {};
  std::string root = {};
  int exit_code = 0;

  ParserInput Input() const {
    return {.out = out,
            .err = err,
            .report = report,
            .exit_code = exit_code,
            .root = root,
            .module = module};
  }
};

inline std::string ReadIfThere(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Fixture LoadFixture(const std::filesystem::path& folder) {
  Fixture fixture;
  fixture.parser = folder.parent_path().filename();
  fixture.name = folder.filename();
  fixture.folder = folder;
  fixture.out = ReadIfThere(folder / "out");
  fixture.err = ReadIfThere(folder / "err");
  fixture.report = ReadIfThere(folder / "report");
  fixture.module = ReadIfThere(folder / "module");
  fixture.exit_code = std::stoi("0" + ReadIfThere(folder / "exit"));
  // The outputs name the project by its absolute path, /tmp/project/go and so on.
  const std::string all = fixture.out + fixture.err + fixture.report;
  const std::size_t at = all.find(kProjects);
  if (at != std::string::npos) {
    const std::size_t end = all.find_first_of("/\"'<> \n:", at + kProjects.size());
    fixture.root = all.substr(at, end - at);
  }
  return fixture;
}

/// Returns all fixtures, sorted by parser and name.
inline std::vector<Fixture> AllFixtures() {
  namespace fs = std::filesystem;
  std::vector<Fixture> fixtures = {};
  const fs::path root = fs::path(POLYBOX_SOURCE_DIR) / "src/verify/parsers/testdata";
  for (const auto& parser : fs::directory_iterator(root)) {
    if (!parser.is_directory()) continue;
    for (const auto& folder : fs::directory_iterator(parser.path())) {
      fixtures.push_back(LoadFixture(folder.path()));
    }
  }
  std::ranges::sort(fixtures, {}, &Fixture::folder);
  return fixtures;
}

/// Returns the value with one member per line, so that a person can read and compare it.
inline std::string Pretty(const json::Value& value, const std::string& indent = "") {
  std::string text = {};
  const std::string inner = indent + "  ";
  const char* separator = "\n";
  if (const json::Object* object = value.if_object()) {
    // Ranges and pairs of numbers stay on one line.
    if (object->empty() || std::ranges::all_of(*object, [](const auto& member) {
          return member.value().is_number();
        })) {
      return json::Write(value);
    }
    for (const auto& [name, member] : *object) {
      text += separator + inner + '"' + std::string(name) + "\": " + Pretty(member, inner);
      separator = ",\n";
    }
    return "{" + text + "\n" + indent + "}";
  }
  if (const json::Array* array = value.if_array(); array != nullptr && !array->empty()) {
    for (const json::Value& item : *array) {
      text += separator + inner + Pretty(item, inner);
      separator = ",\n";
    }
    return "[" + text + "\n" + indent + "]";
  }
  return json::Write(value);
}

}  // namespace polybox::verify::testing
