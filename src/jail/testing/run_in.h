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

inline Ran RunIn(Slot& slot, const std::vector<std::string>& argv, const RunLimits& limits) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd out(::memfd_create("out", MFD_CLOEXEC));
  const UniqueFd err(::memfd_create("err", MFD_CLOEXEC));
  const Places& places = slot.places();
  auto outcome =
      slot.Run({.argv = argv,
                .env = {"PATH=/usr/bin:/bin", "HOME=" + places.work, "TMPDIR=" + places.tmp},
                .directory = places.work,
                .limits = limits,
                .stdin_fd = null.get(),
                .stdout_fd = out.get(),
                .stderr_fd = err.get()});
  EXPECT_TRUE(outcome.ok()) << outcome.error().message();
  if (!outcome.ok()) return {};
  ::lseek(out.get(), 0, SEEK_SET);
  ::lseek(err.get(), 0, SEEK_SET);
  return {std::move(outcome).value(), ReadAll(out.get(), Bytes::MiB(8)).value_or("?"),
          ReadAll(err.get(), Bytes::MiB(8)).value_or("?")};
}

}  // namespace polybox::jail
