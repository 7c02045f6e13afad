#include <gtest/gtest.h>

#include "http/doors/go_json/reader.h"
#include "http/doors/go_json/scan.h"
#include "http/doors/go_json/writer.h"

namespace polybox::http {
namespace {

/// The syntax error of Go's encoding/json for each text; "" when Go accepts it.
struct SyntaxCase {
  std::string text;
  std::string error;
};

std::string SyntaxErrorOf(std::string_view text) {
  const auto found = FirstJsonValue(text);
  const auto* error = std::get_if<JsonSyntaxError>(&found);
  return error == nullptr ? "" : error->text;
}

TEST(Json, SyntaxErrorsAreInGosWords) {
  const std::vector<SyntaxCase> cases = {
      {"", "EOF"},
      {"  \n", "EOF"},
      {"{", "unexpected EOF"},
      {R"({"code")", "unexpected EOF"},
      {R"({"code":)", "unexpected EOF"},
      {R"({"code":"a)", "unexpected EOF"},
      {R"({"code":"a\)", "unexpected EOF"},
      {R"({"code":"\u00)", "unexpected EOF"},
      {"[", "unexpected EOF"},
      {"tru", "unexpected EOF"},
      {"-", "unexpected EOF"},
      {"1.", "unexpected EOF"},
      {"1e", "unexpected EOF"},
      {"\"", "unexpected EOF"},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"{x", "invalid character 'x' looking for beginning of object key string"},
      {R"({"a" 1})", "invalid character '1' after object key"},
      {R"({"a":1 x)", "invalid character 'x' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {R"({"a":1,})", "invalid character '}' looking for beginning of object key string"},
      {"{\"a\":\"\n\"}", "invalid character '\\n' in string literal"},
      {R"({"a":"\q"})", "invalid character 'q' in string escape code"},
      {R"({"a":"\u12g4"})", "invalid character 'g' in \\u hexadecimal character escape"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"1e+x", "invalid character 'x' in exponent of numeric literal"},
      {"trux", "invalid character 'x' in literal true (expecting 'e')"},
      {"nulx", "invalid character 'x' in literal null (expecting 'l')"},
      {"falsy", "invalid character 'y' in literal false (expecting 'e')"},
      {"'", "invalid character '\\'' looking for beginning of value"},
      {"\\", "invalid character '\\\\' looking for beginning of value"},
      {std::string(1, '\0'), "invalid character '\\x00' looking for beginning of value"},
      {"\x7f", "invalid character '\\x7f' looking for beginning of value"},
      {"\xff", "invalid character '\u00ff' looking for beginning of value"},
      {"\xa0", "invalid character '\\u00a0' looking for beginning of value"},
      {"\x85", "invalid character '\\u0085' looking for beginning of value"},
      {"\t\v", "invalid character '\\v' looking for beginning of value"},
      {"{,", "invalid character ',' looking for beginning of object key string"},
      {R"({"a":})", "invalid character '}' looking for beginning of value"},
      {std::string(10001, '['), "invalid character '[' exceeded max depth"},
      {std::string(10000, '[') + std::string(10000, ']'), ""},
      {"01", ""},
      {R"({"a":[{},[],"",-0.5e+3,true,false,null]} and more)", ""},
  };
  for (const SyntaxCase& c : cases)
    EXPECT_EQ(SyntaxErrorOf(c.text), c.error) << c.text.substr(0, 60);
}

TEST(Json, TheFirstValueEndsWhereItEnds) {
  EXPECT_EQ(std::get<std::string_view>(FirstJsonValue(" {\"a\":1} trailing")), "{\"a\":1}");
  EXPECT_EQ(std::get<std::string_view>(FirstJsonValue("12 3")), "12");
  EXPECT_EQ(std::get<std::string_view>(FirstJsonValue("\"x\"y")), "\"x\"");
  EXPECT_EQ(std::get<std::string_view>(FirstJsonValue("null")), "null");
}

struct Sample {
  std::string text;
  std::int64_t number = 0;
  bool flag = false;
  std::vector<std::string> list;
  std::string complaint;
};

Sample Read(std::string_view json) {
  Sample sample;
  JsonReader reader(std::get<std::string_view>(FirstJsonValue(json)), "main.sample");
  reader.Object({"", ""}, [&](const std::string& key) {
    if (KeyIs(key, "text")) reader.String({"text", "string"}, sample.text);
    if (KeyIs(key, "number")) reader.Integer({"number", "int"}, sample.number);
    if (KeyIs(key, "flag")) reader.Bool({"flag", "bool"}, sample.flag);
    if (KeyIs(key, "list")) {
      reader.Array({"list", "[]string"},
                   [&] { reader.String({"list", "string"}, sample.list.emplace_back()); });
    }
  });
  sample.complaint = reader.complaint();
  return sample;
}

TEST(Json, TextsAreReadAsGoReadsThem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("\"\\\/\b\f\n\r\t\u00e9")", "\"\\/\b\f\n\r\t\u00e9"},
      {R"("\ud83d\ude00")", "\U0001F600"},
      {R"("\ud83dx")", "\ufffdx"},
      {R"("\ude00")", "\ufffd"},
      {R"("\ud83d\u0041")", "\ufffdA"},
      {R"("\ud83d\ud83d\ude00")", "\ufffd\U0001F600"},
      {R"("\u0000")", std::string(1, '\0')},
      {"\"\xff\xc3\"", "\ufffd\ufffd"},
      {"\"\xed\xa0\x80\"", "\ufffd\ufffd\ufffd"},
      {"\"\u20ac\x7f\"", "\u20ac\x7f"},
      {"null", ""},
  };
  for (const auto& [json, text] : cases)
    EXPECT_EQ(Read("{\"text\":" + json + "}").text, text) << json;
}

TEST(Json, KeysMatchInAnyCaseAndTheLastWins) {
  EXPECT_EQ(Read(R"({"TEXT":"x"})").text, "x");
  EXPECT_EQ(Read(R"({"text":"a","Text":"b"})").text, "b");
  EXPECT_EQ(Read(R"({"text":"a","text":null})").text, "a");
  EXPECT_EQ(Read("{\"li\u017ft\":[\"a\",null]}").list, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(Read(R"({"texts":"x","tex":"y"})").text, "");
}

TEST(Json, UnknownKeysAreSkippedWhateverTheyHold) {
  const Sample sample = Read(
      R"( { "x" : {"text":"no","y":[1,[2,"]}\""],{"z":-1.5e3}]} , "number" : 7 , "q":"\\","flag" : true } )");
  EXPECT_EQ(sample.text, "");
  EXPECT_EQ(sample.number, 7);
  EXPECT_TRUE(sample.flag);
  EXPECT_EQ(sample.complaint, "");
}

TEST(Json, WrongTypesAreComplainedAboutInGosWords) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"text":1})", "number into Go struct field sample.text of type string"},
      {R"({"text":true})", "bool into Go struct field sample.text of type string"},
      {R"({"text":[]})", "array into Go struct field sample.text of type string"},
      {R"({"text":{}})", "object into Go struct field sample.text of type string"},
      {R"({"number":1.5})", "number 1.5 into Go struct field sample.number of type int"},
      {R"({"number":1e3})", "number 1e3 into Go struct field sample.number of type int"},
      {R"({"number":"5"})", "string into Go struct field sample.number of type int"},
      {R"({"number":9223372036854775808})",
       "number 9223372036854775808 into Go struct field sample.number of type int"},
      {R"({"list":"x"})", "string into Go struct field sample.list of type []string"},
      {R"({"list":["a",1]})", "number into Go struct field sample.list of type string"},
      {R"({"text":1,"number":"x"})", "number into Go struct field sample.text of type string"},
      {"[1]", "array into Go value of type main.sample"},
      {"5", "number into Go value of type main.sample"},
  };
  for (const auto& [json, complaint] : cases) {
    EXPECT_EQ(Read(json).complaint, "json: cannot unmarshal " + complaint) << json;
  }
  EXPECT_EQ(Read(R"({"number":9223372036854775807})").number, 9223372036854775807);
  EXPECT_EQ(Read("null").complaint, "");
}

TEST(Json, EveryPrefixOfATextIsRefusedOrRead) {
  const std::string whole = R"({"text":"a\u00e9\n","number":-12,"list":["x",{}],"flag":false})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(SyntaxErrorOf(whole.substr(0, length)), "") << length;
  }
  EXPECT_EQ(Read(whole).number, -12);
}

TEST(Json, TextsAreWrittenAsGoWritesThem) {
  EXPECT_EQ(QuoteJson("<>&\u2028\u2029\xff\x7f" + std::string(1, '\0') +
                      "\x1f\b\f\n\r\t\"\\/\u00e9\U0001F600"),
            "\"\\u003c\\u003e\\u0026\\u2028\\u2029\\ufffd\x7f\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/"
            "\u00e9\U0001F600\"");
}

TEST(Json, WritingIsCompactAndInOrder) {
  JsonWriter json;
  json.BeginObject().Key("b").Integer(-1).Key("a").BeginArray().String("x").Bool(true).Null();
  json.BeginObject().EndObject().EndArray().Key("c").Raw("[1]").EndObject();
  EXPECT_EQ(std::move(json).Take(), R"({"b":-1,"a":["x",true,null,{}],"c":[1]})");
}

}  // namespace
}  // namespace polybox::http
