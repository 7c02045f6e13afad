#include "shells/output_log.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "shells/line_scan.h"

namespace polybox::shells {
namespace {

/// Bytes in which every offset can be recognised.
std::string Pattern(std::size_t from, std::size_t size) {
  std::string bytes;
  for (std::size_t i = from; i < from + size; ++i) {
    bytes += i % 64 == 63 ? '\n' : static_cast<char>('a' + (i / 64 + i) % 26);
  }
  return bytes;
}

class OutputLogTest : public ::testing::Test {
 protected:
  OutputLogOptions Small() {
    return {.directory = dir_.path(),
            .quota = &quota_,
            .head = Bytes(100),
            .tail = Bytes(50),
            .ring = Bytes(1000)};
  }

  polybox::testing::TempDir dir_;
  OutputQuota quota_{Bytes::MiB(16)};
};

TEST_F(OutputLogTest, EveryStoredByteIsReadBackWhateverTheSizesOfTheWrites) {
  for (const std::size_t total : {0U, 1U, 99U, 100U, 101U, 150U, 1100U}) {
    for (const std::size_t step : {1U, 7U, 64U, 500U, 5000U}) {
      OutputLog log(Small());
      const std::string all = Pattern(0, total);
      for (std::size_t i = 0; i < total; i += step) log.Append(all.substr(i, step));
      EXPECT_EQ(log.extent().lost(), 0U) << total << " " << step;
      EXPECT_EQ(ReadOn(log, 0, total + 10).bytes, all) << total << " " << step;
      EXPECT_EQ(ReadOn(log, total / 2, 20).bytes, all.substr(total / 2, 20));
    }
  }
}

TEST_F(OutputLogTest, ACompleteOutputIsOnePieceOfMemoryThatOutlivesTheLog) {
  for (const std::size_t total : {0U, 1U, 99U, 100U, 101U, 150U, 1100U}) {
    auto log = std::make_unique<OutputLog>(Small());
    const std::string all = Pattern(0, total);
    for (std::size_t i = 0; i < total; i += 7) log->Append(all.substr(i, 7));
    const Result<MappedOutput> mapped = log->Map();
    log.reset();
    ASSERT_TRUE(mapped.ok()) << total << ": " << mapped.error().message();
    EXPECT_EQ(mapped->view(), all) << total;
  }
}

TEST_F(OutputLogTest, AnOutputThatLostBytesIsNotShownAsComplete) {
  OutputLog log(Small());
  log.Append(Pattern(0, 1101));
  const Result<MappedOutput> mapped = log.Map();
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.error().message(), "1 of 1101 bytes of the output were not kept");
}

TEST_F(OutputLogTest, WhatDoesNotFitIsLostBehindTheHeadAndCounted) {
  constexpr std::size_t kTotal = 12'345;
  for (const std::size_t step : {1U, 64U, 999U, 20'000U}) {
    OutputLog log(Small());
    const std::string all = Pattern(0, kTotal);
    for (std::size_t i = 0; i < kTotal; i += step) log.Append(all.substr(i, step));
    const Extent extent = log.extent();
    EXPECT_EQ(extent.end, kTotal);
    EXPECT_EQ(extent.head_end, 100U);
    EXPECT_EQ(extent.tail_begin, kTotal - 1000);
    EXPECT_EQ(extent.line_feeds, kTotal / 64);
    EXPECT_EQ(ReadOn(log, 0, kTotal).bytes, all.substr(0, 100));
    const Chunk tail = ReadOn(log, 100, kTotal);
    EXPECT_EQ(tail.begin, kTotal - 1000);
    EXPECT_EQ(tail.bytes, all.substr(kTotal - 1000)) << step;
  }
}

TEST_F(OutputLogTest, WithoutADiskTheHeadAndTheTailRemain) {
  OutputLogOptions options = Small();
  options.directory = dir_.path() + "/none";
  OutputLog log(options);
  const std::string all = Pattern(0, 1000);
  for (const char byte : all) log.Append({&byte, 1});
  const Extent extent = log.extent();
  EXPECT_EQ(extent.head_end, 100U);
  EXPECT_GE(extent.end - extent.tail_begin, 50U) << "the tail is never lost";
  EXPECT_EQ(ReadOn(log, extent.tail_begin, 1000).bytes, all.substr(extent.tail_begin));
}

TEST_F(OutputLogTest, TheQuotaOfTheServerBoundsTheFilesAndIsGivenBack) {
  OutputQuota quota(Bytes::MiB(1));
  OutputLogOptions options = {.directory = dir_.path(), .quota = &quota};
  const std::string part(1U << 20U, 'x');
  {
    OutputLog first(options);
    OutputLog second(options);
    for (int i = 0; i < 4; ++i) first.Append(part);
    for (int i = 0; i < 4; ++i) second.Append(part);
    EXPECT_EQ(first.extent().end - first.extent().tail_begin, 2U << 20U);
    EXPECT_EQ(second.extent().end - second.extent().tail_begin, 1U << 20U);
  }
  EXPECT_TRUE(quota.Take(Bytes::MiB(1)));
  EXPECT_FALSE(quota.Take(Bytes(1)));
}

TEST_F(OutputLogTest, NothingHasANameInTheDirectory) {
  OutputLog log(Small());
  log.Append(Pattern(0, 2000));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(OutputLogTest, LinesHaveTheirNumbersAlsoBehindAGap) {
  OutputLog log(Small());
  std::string all;
  for (int i = 1; i <= 500; ++i) all += "line " + std::to_string(i) + "\n";
  log.Append(all + "open");
  std::vector<std::string> wrong;
  std::int64_t last = 0;
  bool behind_gap = false;
  ScanLines(log, [&](const ScannedLine& line) {
    // The lines at the edges of the gap are not complete.
    const bool edge = line.offset + line.size >= 100 && line.number - last != 1;
    behind_gap = behind_gap || line.number > last + 1;
    const std::string expected =
        line.number == 501 ? "open" : "line " + std::to_string(line.number);
    if (line.text != expected && !edge && line.offset > 200) wrong.emplace_back(line.text);
    last = line.number;
    return true;
  });
  EXPECT_TRUE(behind_gap);
  EXPECT_EQ(last, 501);
  EXPECT_EQ(LineCount(log), 501);
  EXPECT_EQ(wrong, std::vector<std::string>());
}

TEST_F(OutputLogTest, AVeryLongLineIsScannedInBoundedMemory) {
  OutputLogOptions options = Small();
  options.ring = Bytes::MiB(4);
  OutputLog log(options);
  log.Append(std::string(3U << 20U, 'x') + "\nend\n");
  std::vector<ScannedLine> lines;
  std::vector<std::size_t> held;
  ScanLines(log, [&](const ScannedLine& line) {
    held.push_back(line.text.size());
    lines.push_back(line);
    return true;
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size, 3U << 20U);
  EXPECT_EQ(held, (std::vector<std::size_t>{64U << 10U, 3}));
  EXPECT_EQ(lines[1].offset, (3U << 20U) + 1);
}

}  // namespace
}  // namespace polybox::shells
