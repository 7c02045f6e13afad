#include "secrets/matcher.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "secrets/scrubber.h"

namespace polybox::secrets {
namespace {

constexpr const char* kToken = "Tr0ub4dor/3+kX9_vQ7z";

/// Returns the text as an agent gets it, if these are the operator's secrets.
std::string Scrubbed(std::string_view text, std::vector<KnownValue> values,
                     std::vector<Pattern> patterns = {}) {
  const Matcher matcher(std::move(values), {}, std::move(patterns));
  std::string scrubbed;
  std::size_t done = 0;
  for (const Hit& hit : matcher.Find(text)) {
    scrubbed += text.substr(done, hit.span.begin - done);
    scrubbed += '<' + std::string(hit.label) + '>';
    done = hit.span.end;
  }
  return scrubbed + std::string(text.substr(done));
}

std::string WithToken(std::string_view text) {
  return Scrubbed(text, {{"t", kToken}});
}

TEST(Matcher, RemovesTheValueAndNothingElse) {
  EXPECT_EQ(WithToken("a Tr0ub4dor/3+kX9_vQ7z b"), "a <t> b");
  EXPECT_EQ(WithToken("Tr0ub4dor/3+kX9_vQ7zTr0ub4dor/3+kX9_vQ7z"), "<t><t>");
  EXPECT_EQ(WithToken("xTr0ub4dor/3+kX9_vQ7zy"), "x<t>y");
  for (const char* text : {"", "Tr", "Tr0ub4dor/3+kX9_vQ7y is another value"}) {
    EXPECT_EQ(WithToken(text), text);
  }
}

TEST(Matcher, RemovesEveryFormOfAValueWhereverItStands) {
  for (const std::string& value :
       {std::string(kToken), std::string("p4ss word+\"x\"/<y>"), std::string("short-8!"),
        std::string("k\xc3\xb6nig-\x01-4711")}) {
    for (const Form& form : FormsOf(value)) {
      const std::string text = "begin " + form.text + "\nend";
      const std::string scrubbed = Scrubbed(text, {{"t", value}});
      EXPECT_EQ(scrubbed.find(form.text), std::string::npos) << form.text;
      EXPECT_NE(scrubbed.find("<t>"), std::string::npos) << form.text;
      EXPECT_TRUE(scrubbed.starts_with("begin")) << scrubbed;
      EXPECT_TRUE(scrubbed.ends_with("end")) << scrubbed;
    }
  }
}

TEST(Matcher, RemovesTheNeighboursInBase64ThatHaveBitsOfTheValue) {
  // base64 of "ab" + kToken + "c"
  EXPECT_EQ(WithToken("YWJUcjB1YjRkb3IvMytrWDlfdlE3emM="), "YW<t>M=");
  // of kToken alone
  EXPECT_EQ(WithToken("VHIwdWI0ZG9yLzMra1g5X3ZRN3o="), "<t>");
}

TEST(Matcher, RemovesAValueThatLineBreaksDivide) {
  EXPECT_EQ(WithToken("Tr0ub4dor/3+\nkX9_vQ7z."), "<t>.");
  EXPECT_EQ(WithToken("Tr0u\r\nb4dor/3+kX9_vQ7z."), "<t>.");
  // as Read shows lines
  EXPECT_EQ(WithToken("1\tx Tr0ub4dor/3+\n2\tkX9_vQ7z."), "1\tx <t>.");
  // as xxd -p writes 60 characters in a line
  EXPECT_EQ(WithToken("6161616161616161616161616161547230756234646f722f332b6b58395f\n7651377a0a"),
            "6161616161616161616161616161<t>0a");
}

TEST(Matcher, RemovesAPartThatAToolHasCut) {
  for (const auto& [text, scrubbed] : std::vector<std::pair<const char*, const char*>>{
           {"out: Tr0ub4dor/3+", "out: <t>"},
           {"out: Tr0ub4dor/3+\nnext", "out: <t>\nnext"},
           {"out: Tr0ub4dor/3+... (truncated)", "out: <t>... (truncated)"},
           {"out: Tr0ub4dor/3+ (12 bytes left out)", "out: <t> (12 bytes left out)"},
           {"or/3+kX9_vQ7z rest", "<t> rest"},
           {"a\nor/3+kX9_vQ7z rest", "a\n<t> rest"},
           {"out: Tr0u", "out: <t>"},
           {"vQ7z", "<t>"},
           {"Tr0ub\n", "<t>\n"},
           // less than four characters say little
           {"out: Tr0", "out: Tr0"},
           // not cut
           {"out: Tr0ub4dor/3+! more", "out: Tr0ub4dor/3+! more"}}) {
    EXPECT_EQ(WithToken(text), scrubbed);
  }
}

TEST(Matcher, KeepsWordsThatBeginLikeAValue) {
  const std::vector<KnownValue> values = {{"a", "database-password-of-my-shop"},
                                          {"b",
                                           "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n"
                                           "-----END PRIVATE KEY-----"},
                                          {"c", "{\n  \"type\": \"service_account\", 4711\n}"}};
  for (const char* text :
       {"database-password\n= x", "-----BEGIN PRIVATE KEY-----\n", "my-shop\n",
        "{\n  \"type\": \"service_account\", 12\n}", "-----END PRIVATE KEY-----"}) {
    EXPECT_EQ(Scrubbed(text, values), text);
  }
  EXPECT_EQ(Scrubbed("x database-password-of-my-shop", values), "x <a>");
}

TEST(Matcher, RemovesALineOfAKeyAlone) {
  const std::vector<KnownValue> values = {
      {"key",
       "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END X-----"}};
  EXPECT_EQ(Scrubbed("AQEFAASCBKcwggSjAgEAAoIB", values), "<key>");
  EXPECT_EQ(
      Scrubbed("1\t-----BEGIN X-----\n2\tMIIEvQIBADANBgkqhkiG9w0B\n3\tAQEFAASCBKcwggSjAgEAAoIB\n"
               "4\t-----END X-----\n",
               values),
      "1\t<key>\n");
}

TEST(Matcher, DoesNotLookForShortValues) {
  EXPECT_EQ(Scrubbed("seven77", {{"t", "seven77"}}), "seven77");
  EXPECT_EQ(Scrubbed("eight888", {{"t", "eight888"}}), "<t>");
}

TEST(Matcher, TakesPatternsOfTheOperator) {
  const auto scrubbed = [](const char* pattern, const char* text) {
    return Scrubbed(text, {}, {ParsePattern(pattern).value()});
  };
  EXPECT_EQ(scrubbed("badge=B-[0-9]{6}", "x B-123456 B-12345"), "x <badge> B-12345");
  EXPECT_EQ(scrubbed("pin=PIN: (\\d+)", "PIN: 4711; PIN: 42"), "PIN: <pin>; PIN: <pin>");
  EXPECT_EQ(scrubbed("a=(b)?c", "c bc"), "<a> <a>c");
  for (const char* wrong : {"", "name", "=x", "a b=x", "a=(", "a=x*"}) {
    EXPECT_FALSE(ParsePattern(wrong).ok()) << wrong;
  }
}

TEST(Matcher, RemovesEveryPlantedValueOfARandomText) {
  std::mt19937 random(4711);
  const auto below = [&random](std::size_t most) { return random() % most; };
  std::vector<KnownValue> values;
  for (int i = 0; i < 50; ++i) {
    std::string value;
    for (std::size_t size = 12 + below(40); value.size() < size;) {
      value += static_cast<char>('!' + below(94));
    }
    values.push_back({"v" + std::to_string(i), value});
  }
  const Matcher matcher(values, {}, {});
  for (int round = 0; round < 200; ++round) {
    const KnownValue& chosen = values[below(values.size())];
    const std::vector<Form> forms = FormsOf(chosen.value);
    const Form& form = forms[below(forms.size())];
    std::string before;
    for (std::size_t size = below(100); before.size() < size;)
      before += static_cast<char>(below(256));
    const std::string text = before + form.text + "\n" + before;
    const std::vector<Hit> hits = matcher.Find(text);
    EXPECT_TRUE(std::ranges::any_of(hits, [&](const Hit& hit) {
      return hit.label == chosen.name && hit.span.begin <= before.size() &&
             hit.span.end >= before.size() + form.text.size();
    })) << form.text;
  }
}

TEST(Matcher, TakesLinearTimeForHostileTexts) {
  const Matcher matcher({{"t", kToken}}, BuiltinShapes().value(), {});
  for (const std::string_view part :
       {"eyJ", "eyJaaaaaaaaaa.", "sk-", "-----BEGIN PRIVATE KEY-----", "Tr0ub4do",
        "password=", "://a:", "\n", "AKIA", "token = \"", "\n1\t"}) {
    std::string text;
    while (text.size() < 512U << 10U) text += part;
    // Quadratic time would be many minutes, and the test has one.
    (void)matcher.Find(text);
  }
}

}  // namespace
}  // namespace polybox::secrets
