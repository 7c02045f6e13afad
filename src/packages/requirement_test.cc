#include "packages/requirement.h"

#include <gtest/gtest.h>

namespace polybox::packages {
namespace {

std::string Parsed(std::string_view form, const std::string& text) {
  const auto parsed = ParseRequirements(form, {text});
  return parsed.ok() ? parsed->at(0).text : "refused";
}

TEST(Requirement, PythonRequirementsHaveOneSpelling) {
  const std::pair<const char*, const char*> rows[] = {
      {"six", "six"},
      {"Six", "six"},
      {"zope.interface", "zope-interface"},
      {"typing__extensions", "typing-extensions"},
      {"a-_.b", "a-b"},
      {"six==1.16.0", "six==1.16.0"},
      {"six == 1.16.0", "six==1.16.0"},
      {"  numpy >= 2 , <3 ", "numpy<3,>=2"},
      {"numpy<3,>=2", "numpy<3,>=2"},
      {"requests[socks,Security]~=2.31", "requests[security,socks]~=2.31"},
      {"x==1.*", "x==1.*"},
      {"x===1!2.0+local.1", "x===1!2.0+local.1"},
      {"x!=1.0rc1", "x!=1.0rc1"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(Parsed("pep508", text), expected) << text;
}

TEST(Requirement, AnInvalidPythonPackageIsRefused) {
  for (const char* text : {"",
                           " ",
                           "-r",
                           "-r/etc/passwd",
                           "--index-url=http://x",
                           "-e.",
                           "--",
                           "six -r x",
                           "six\n-r x",
                           "six\t",
                           "six\r\n--index-url x",
                           ".",
                           "./six",
                           "../six",
                           "/etc/six",
                           "six/..",
                           "six @ https://example.org/six.whl",
                           "six@file:///etc",
                           "six@x",
                           "git+https://x/y",
                           "https://x/six.whl",
                           "file:six",
                           "six;python_version<'3'",
                           "six[",
                           "six[]",
                           "six[a",
                           "six[a]b",
                           "six[-r]",
                           "six==",
                           "six=1",
                           "six==-1",
                           "six>=1,",
                           "six,>=1",
                           "six>=1>=2x y",
                           "six (>=1)",
                           "six=='1'",
                           "six==$(id)",
                           "_six",
                           "six-",
                           "s\xc3\xaf"
                           "x",
                           "six==1 --hash=x",
                           "\xe2\x80\x93r",
                           "six\\",
                           "six#egg"}) {
    EXPECT_EQ(Parsed("pep508", text), "refused") << text;
  }
  EXPECT_EQ(Parsed("pep508", std::string("six\0-r", 6)), "refused");
  EXPECT_EQ(Parsed("pep508", std::string(257, 'a')), "refused");
}

TEST(Requirement, NodePackagesWithRangesAndScopes) {
  for (const char* text :
       {"lodash", "lodash@4.17.21", "lodash@^4", "lodash@~4.1", "lodash@>=4 <5", "lodash@1 || 2",
        "lodash@1.2.3-beta.1+build", "lodash@latest", "lodash@*", "@types/node", "@types/node@24",
        "JSONStream", "left-pad", "socket.io@4.x", "a~b"}) {
    EXPECT_EQ(Parsed("npm", text), text);
  }
}

TEST(Requirement, GoModulesWithVersions) {
  for (const char* text :
       {"golang.org/x/net", "golang.org/x/text@v0.34.0", "rsc.io/quote@v1.5.2", "example.com/a/v2",
        "github.com/BurntSushi/toml@latest", "gopkg.in/yaml.v3@v3.0.1", "example.com/~user/a_b",
        "a.example/b@v0.0.0-20240101000000-0123456789ab", "a.example/b@v2.0.0+incompatible",
        "a.example/b@0123abc", "example.com"}) {
    EXPECT_EQ(Parsed("go", text), text);
  }
}

TEST(Requirement, AnInvalidGoModuleIsRefused) {
  for (const char* text : {"",
                           "-x",
                           "--",
                           "-C/etc",
                           "fmt",
                           "net/http",
                           ".",
                           "..",
                           "./x",
                           "../x",
                           "/etc/x",
                           "all",
                           "a.example/",
                           "a.example//b",
                           "a.example/../b",
                           "a.example/./b",
                           "a.example/.b",
                           "a.example/-b",
                           "a.example/b.",
                           "A.example/b",
                           "a.example/...",
                           "a.example/b/...@v1",
                           "a.example/b@",
                           "a.example/b@none",
                           "a.example/b@-x",
                           "a.example/b@<v1",
                           "a.example/b@v1@v2",
                           "a.example/b@v1/x",
                           "https://a.example/b",
                           "a.example:443/b",
                           "user@a.example/b",
                           "a.example/b c",
                           " a.example/b",
                           "a.example/b\n",
                           "a.example/$(id)",
                           "a.example/b;c",
                           "a.example/b=../c"}) {
    EXPECT_EQ(Parsed("go", text), "refused") << text;
  }
}

TEST(Requirement, AnInvalidNodePackageIsRefused) {
  for (const char* text : {"",
                           "-g",
                           "--registry=http://x",
                           "-",
                           ".",
                           "..",
                           "./x",
                           "../x",
                           "/etc",
                           "~/x",
                           "x/y",
                           "user/repo",
                           "github:user/repo",
                           "git+ssh://x/y",
                           "git://x",
                           "http://x/y.tgz",
                           "https://x/y.tgz",
                           "file:x",
                           "file:../x",
                           "x.tgz",
                           "x.tar.gz",
                           "X.TAR",
                           "npm:x",
                           "x@npm:y@1",
                           "x@git+https://y",
                           "x@http://y",
                           "x@file:..",
                           "x@.",
                           "x@..",
                           "x@../y",
                           "x@/y",
                           "x@y/z",
                           "x@~/y",
                           "x@y.tgz",
                           "x@",
                           "x@-1",
                           "x@@1",
                           "@",
                           "@x",
                           "@x/",
                           "@/x",
                           "@x/y/z",
                           "@.x/y",
                           "@x/-y",
                           "_x",
                           ".x",
                           "x y",
                           "x\ny",
                           "x\t",
                           "x@1\n",
                           "x;id",
                           "x@$(id)",
                           "x@`id`",
                           "x%2fy",
                           "x\\y",
                           "\xe2\x88\x92g"}) {
    EXPECT_EQ(Parsed("npm", text), "refused") << text;
  }
}

TEST(Requirement, OrderAndRepeatsDoNotMatter) {
  const auto one = ParseRequirements("pep508", {"six", "Attrs>=20", "six"});
  const auto two = ParseRequirements("pep508", {"attrs >=20", "SIX"});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, *two);
  EXPECT_EQ(one->size(), 2U);
}

TEST(Requirement, ARefusalNamesTheRequirementAndWhatIsAllowed) {
  EXPECT_EQ(ParseRequirements("pep508", {"six", "-r\nx"}).error().message(),
            "requirement \"-r\\nx\": expected a name with versions, such as requests or "
            "numpy[extra]>=2,<3");
  EXPECT_EQ(ParseRequirements("npm", std::vector<std::string>(257, "x")).error().message(),
            "257 requirements: at most 256 are allowed");
}

}  // namespace
}  // namespace polybox::packages
