#include "http/doors/multipart.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

constexpr const char* kType = "multipart/form-data; boundary=XX";

std::string Part(const std::string& disposition, const std::string& content) {
  return "--XX\r\nContent-Disposition: " + disposition + "\r\nContent-Type: text/plain\r\n\r\n" +
         content + "\r\n";
}

/// Returns "name=content", "nothing", or the error text.
std::string Find(std::string_view type, std::string_view body) {
  const auto found = FindUpload(type, body, "file");
  if (!found.ok()) return found.error().message();
  return *found ? (*found)->filename + "=" + std::string((*found)->content) : "nothing";
}

TEST(Multipart, TheFileIsFoundUnderItsName) {
  struct Case {
    std::string type;
    std::string body;
    std::string found;
  };
  const std::string end = "--XX--\r\n";
  const std::string plain = R"(form-data; name="file"; filename="a.txt")";
  const std::vector<Case> cases = {
      {kType, Part(plain, "hi") + end, "a.txt=hi"},
      {"Multipart/Form-Data; Boundary=\"XX\"; x=y", Part(plain, "") + end, "a.txt="},
      {kType, "preamble\r\n" + Part(plain, "hi") + "--XX--", "a.txt=hi"},
      {kType, Part(plain, "a\r\n--X\r\nb\r\n--") + end, "a.txt=a\r\n--X\r\nb\r\n--"},
      {kType, Part(R"(form-data; name="other"; filename="x")", "no") + Part(plain, "hi") + end,
       "a.txt=hi"},
      {kType, Part(R"(form-data; name=file; filename=d/e.txt)", "hi") + end, "d/e.txt=hi"},
      {kType, Part(R"(form-data; name="file"; filename="q\"\\\x;.txt")", "hi") + end,
       R"(q"\\x;.txt=hi)"},
      {kType,
       Part(R"(form-data; name="file"; filename="x"; filename*=utf-8''%C3%A9%2Fa)", "hi") + end,
       "\u00e9/a=hi"},
      {kType, Part(R"(form-data; name="file"; filename*=latin1''x; filename="y")", "hi") + end,
       "y=hi"},
      {kType,
       "--XX \r\ncontent-disposition:form-data;name=\"file\";filename=\"a\"\r\n\r\nhi\r\n" + end,
       "a=hi"},
      {kType, Part(R"(form-data; name="file")", "no") + end, "nothing"},
      {kType, Part(R"(form-data; name="file"; filename="")", "no") + end, "nothing"},
      {kType, "--XX\r\n\r\nno headers\r\n" + Part(plain, "hi") + end, "a.txt=hi"},
      {kType, end, "nothing"},
      {"text/plain", Part(plain, "hi") + end, "expected multipart/form-data"},
      {"multipart/form-data", Part(plain, "hi") + end, "Missing boundary in multipart."},
      {"multipart/form-data; boundary=", Part(plain, "hi") + end, "Missing boundary in multipart."},
      {"multipart/form-data; boundary=YY", Part(plain, "hi") + end,
       "the boundary is not in the body"},
      {kType, "", "the boundary is not in the body"},
      {kType, "--XXX\r\n\r\n", "a boundary is not at the end of its line"},
      {kType, "--XX\r\nContent-Disposition: x", "a part has no end of its headers"},
      {kType, "--XX\r\nA: " + std::string(20000, 'x') + "\r\n\r\n\r\n--XX--",
       "a part has no end of its headers"},
      {kType, "--XX\r\nA: x\r\n\r\ncontent", "a part has no end"},
  };
  for (const Case& c : cases) EXPECT_EQ(Find(c.type, c.body), c.found) << c.body.substr(0, 100);
}

TEST(Multipart, PartsAreCounted) {
  std::string body;
  for (int i = 0; i < 200; ++i) body += Part("form-data; name=x", "");
  EXPECT_EQ(Find(kType, body + "--XX--"), "too many parts");
}

TEST(Multipart, EveryPrefixOfABodyIsRefusedOrRead) {
  const std::string whole = Part(R"(form-data; name="file"; filename="a")", "hi") + "--XX--";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string found = Find(kType, whole.substr(0, length));
    if (found.find('=') != std::string::npos) {
      EXPECT_EQ(found, "a=hi") << length;
    }
  }
}

}  // namespace
}  // namespace polybox::http
