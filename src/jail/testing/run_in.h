// A program in a slot, with what it printed.
#pragma once

#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/files.h"
#include "jail/slot.h"

namespace polybox::jail {

struct Ran {
  Outcome outcome;
  std::string out;
  std::string err;
};

/// Runs the program with streams, a directory and an environment of its own.
inline Ran RunRequested(Slot& slot, RunRequest request) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd out(::memfd_create("out", MFD_CLOEXEC));
  const UniqueFd err(::memfd_create("err", MFD_CLOEXEC));
  const Places& places = slot.places();
  request.env = {"PATH=/usr/bin:/bin", "HOME=" + places.work, "TMPDIR=" + places.tmp};
  request.directory = places.work;
  request.stdin_fd = null.get();
  request.stdout_fd = out.get();
  request.stderr_fd = err.get();
  auto outcome = slot.Run(request);
  EXPECT_TRUE(outcome.ok()) << outcome.error().message();
  if (!outcome.ok()) return {};
  ::lseek(out.get(), 0, SEEK_SET);
  ::lseek(err.get(), 0, SEEK_SET);
  return {std::move(outcome).value(), ReadAll(out.get(), Bytes::MiB(8)).value_or("?"),
          ReadAll(err.get(), Bytes::MiB(8)).value_or("?")};
}

inline Ran RunIn(Slot& slot, const std::vector<std::string>& argv, const RunLimits& limits) {
  RunRequest request;
  request.argv = argv;
  request.limits = limits;
  return RunRequested(slot, std::move(request));
}

}  // namespace polybox::jail
