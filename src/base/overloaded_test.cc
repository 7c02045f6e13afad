#include "base/overloaded.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace polybox {
namespace {

TEST(Overloaded, TheFunctionOfTheAlternativeIsCalled) {
  const auto name = [](const std::variant<int, std::string>& value) {
    return std::visit(Overloaded{[](int number) { return "number " + std::to_string(number); },
                                 [](const std::string& text) { return "text " + text; }},
                      value);
  };
  EXPECT_EQ(name(7), "number 7");
  EXPECT_EQ(name("seven"), "text seven");
}

}  // namespace
}  // namespace polybox
