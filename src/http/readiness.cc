#include "http/readiness.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include "http/head.h"

namespace polybox::http {
namespace {

/// What is not there yet will be made on the disk of the directory above it.
std::string NearestExisting(const std::string& directory) {
  std::filesystem::path path(directory);
  std::error_code error;
  while (!std::filesystem::exists(path, error) && path.has_relative_path()) {
    path = path.parent_path();
  }
  return path.empty() ? "." : path.string();
}

Response Answer(const Readiness& readiness) {
  const std::vector<std::string> obstacles = readiness.Obstacles();
  Response response;
  response.status = obstacles.empty() ? 200 : 503;
  // The sentences are our own: they hold nothing that JSON would have to escape.
  response.body = obstacles.empty()
                      ? "{\"status\":\"ready\"}\n"
                      : fmt::format("{{\"status\":\"not ready\",\"reasons\":[\"{}\"]}}\n",
                                    fmt::join(obstacles, "\",\""));
  return response;
}

}  // namespace

std::vector<std::string> Readiness::Obstacles() const {
  std::vector<std::string> obstacles;
  if (draining_) obstacles.emplace_back("the server is about to end");
  struct statvfs disk{};
  if (options_.cache_dir.empty()) return obstacles;
  if (::statvfs(NearestExisting(options_.cache_dir).c_str(), &disk) != 0) {
    obstacles.emplace_back("the cache directory cannot be looked at");
    return obstacles;
  }
  if (Bytes(std::uint64_t{disk.f_bavail} * disk.f_frsize) < options_.least_free) {
    obstacles.emplace_back("the disk of the cache is full");
  }
  // Some file systems do not count inodes: then both are 0.
  if (disk.f_files > 0 && disk.f_favail == 0) {
    obstacles.emplace_back("the disk of the cache has no inodes left");
  }
  return obstacles;
}

Door MakeReadyDoor(std::shared_ptr<const Readiness> readiness) {
  const Handler answer = [readiness =
                              std::move(readiness)](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond(Answer(*readiness));
  };
  return {.name = "ready",
          .routes = {{"GET", "/readyz", answer}, {"HEAD", "/readyz", answer}},
          .refuse = nullptr,
          // The faults of other paths are other doors'.
          .fault_prefixes = {"/readyz"}};
}

}  // namespace polybox::http
