#include "base/result.h"

#include <memory>

#include <gtest/gtest.h>

namespace polybox {
namespace {

Status Fails() {
  return Error::FromErrno("open x", ENOENT);
}

Result<int> Doubled(Result<int> input) {
  POLYBOX_ASSIGN_OR_RETURN(int value, std::move(input));
  return value * 2;
}

Status Outer() {
  POLYBOX_RETURN_IF_ERROR(Fails().In("read settings"));
  return {};
}

TEST(Result, EachLayerAddsItsIntentAndTheErrnoStays) {
  const Status status = Outer();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "read settings: open x: No such file or directory");
  EXPECT_EQ(status.error().system_errno(), ENOENT);
  EXPECT_EQ(status.error().kind(), ErrorKind::kSystem);
}

TEST(Result, AssignOrReturnPassesValuesAndErrorsOn) {
  EXPECT_EQ(*Doubled(21), 42);
  const Result<int> failed = Doubled(Error(ErrorKind::kNotFound, "nothing"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "nothing");
  EXPECT_EQ(failed.error().kind(), ErrorKind::kNotFound);
}

TEST(Result, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 7);
}

TEST(Result, InLeavesSuccessAlone) {
  EXPECT_TRUE(Status().In("anything").ok());
  EXPECT_EQ(*Result<int>(3).In("anything"), 3);
  EXPECT_EQ(Result<int>(Error(ErrorKind::kInvalid, "bad")).value_or(9), 9);
}

}  // namespace
}  // namespace polybox
