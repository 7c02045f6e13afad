#include "secrets/secret_store.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "secrets/scrubber.h"

extern char** environ;

namespace polybox::secrets {
namespace {

class SecretStoreTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view content) const {
    std::ofstream(directory() + "/" + name) << content;
  }
  std::string directory() const { return folder_.path() + "/secrets"; }
  std::unique_ptr<SecretStore> Open(std::vector<EnvironmentSecret> environment = {}) {
    auto store =
        SecretStore::Open({.environment = std::move(environment), .directory = directory()})
            .value();
    store->Watch([this](const Access& access) { accesses_.push_back(access); });
    return store;
  }
  void SetUp() override { ASSERT_EQ(::mkdir(directory().c_str(), 0700), 0); }

  polybox::testing::TempDir folder_;
  std::vector<Access> accesses_;
};

TEST_F(SecretStoreTest, FilesOfAnyCaseAndWithDotsAreListedAndReadable) {
  for (const char* name : {"API_TOKEN", "github.token", "lower-case", "v1"})
    Write(name, "a value\n");
  const auto store = Open();
  EXPECT_EQ(store->Names().value(),
            (std::vector<std::string>{"API_TOKEN", "github.token", "lower-case", "v1"}));
  const std::vector<std::string> names = store->Names().value();
  for (const std::string& name : names) {
    EXPECT_EQ(store->Get(name, "p").value(), "a value") << name;
  }
  EXPECT_EQ(store->Get("api_token", "p").value(), "a value");
}

TEST_F(SecretStoreTest, VariablesWinOverFilesAndHaveNamesInLowerCase) {
  Write("both", "of the file");
  Write("file", "of the file");
  const auto store = Open({{"both", "of the variable"}, {"variable", "v"}});
  EXPECT_EQ(store->Names().value(), (std::vector<std::string>{"both", "file", "variable"}));
  EXPECT_EQ(store->Get("BOTH", "p").value(), "of the variable");
  EXPECT_EQ(store->Get("file", "p").value(), "of the file");
}

TEST_F(SecretStoreTest, AFileIsReadOnEachCall) {
  Write("rotated", "before");
  const auto store = Open();
  EXPECT_EQ(store->Get("rotated", "p").value(), "before");
  Write("rotated", "after!");
  EXPECT_EQ(store->Get("rotated", "p").value(), "after!");
  Write("new", "value");
  EXPECT_EQ(store->Get("new", "p").value(), "value");
}

TEST_F(SecretStoreTest, NothingOutsideTheDirectoryAndNothingButFilesIsRead) {
  std::ofstream(folder_.path() + "/outside") << "outside";
  ASSERT_EQ(::symlink("../outside", (directory() + "/link").c_str()), 0);
  ASSERT_EQ(::symlink((folder_.path() + "/outside").c_str(), (directory() + "/absolute").c_str()),
            0);
  ASSERT_EQ(::symlink("/proc/self/environ", (directory() + "/proc").c_str()), 0);
  ASSERT_EQ(::mkdir((directory() + "/folder").c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((directory() + "/fifo").c_str(), 0600), 0);
  Write(".hidden", "hidden");
  // as Kubernetes mounts secrets
  ASSERT_EQ(::mkdir((directory() + "/..data").c_str(), 0700), 0);
  Write("..data/inside", "inside");
  ASSERT_EQ(::symlink("..data/inside", (directory() + "/inside").c_str()), 0);
  const auto store = Open();
  EXPECT_EQ(store->Names().value(), std::vector<std::string>{"inside"});
  EXPECT_EQ(store->Get("inside", "p").value(), "inside");
  for (const char* name : {"link", "absolute", "proc", "folder", "fifo"}) {
    EXPECT_EQ(store->Get(name, "p").error().message(),
              "unknown secret: " + std::string(name) + " (available: inside)");
  }
  for (const char* name : {".hidden", "../outside", "/etc/passwd", "..data/inside", "a\nb", "."}) {
    EXPECT_TRUE(store->Get(name, "p").error().message().starts_with("invalid secret name: "));
  }
  EXPECT_EQ(store->Get("", "p").error().message(), "name is required");
}

TEST_F(SecretStoreTest, ALongFileIsRefused) {
  Write("long", std::string(SecretStore::kLargest.count() + 1, 'x'));
  EXPECT_NE(Open()->Get("long", "p").error().message().find("larger than 16KiB"),
            std::string::npos);
}

TEST_F(SecretStoreTest, EachAccessIsToldWithoutTheValue) {
  Write("file", "four\n\n");
  const auto store = Open({{"variable", "abc"}});
  ASSERT_TRUE(store->Get("file", "me").ok());
  ASSERT_TRUE(store->Get("variable", "you").ok());
  ASSERT_FALSE(store->Get("nothing", "you").ok());
  ASSERT_EQ(accesses_.size(), 2U);
  EXPECT_EQ(accesses_[0].name + accesses_[0].principal + std::string(accesses_[0].source),
            "filemefile");
  EXPECT_EQ(accesses_[0].size, 4U);
  EXPECT_EQ(accesses_[1].source, "env");
}

TEST_F(SecretStoreTest, TheScrubberKnowsAValueAsSoonAsACallerHasItAndAfterItChanged) {
  const auto store = Open({{"variable", "value-of-4711"}});
  Scrubber scrubber({.store = store.get()});
  EXPECT_EQ(scrubber.Scrub("x value-of-4711"), "x [REDACTED:variable]");
  Write("late", "late-value-4712");
  ASSERT_TRUE(store->Get("late", "p").ok());
  EXPECT_EQ(scrubber.Scrub("late-value-4712"), "[REDACTED:late]");
  Write("late", "next-value-4713");
  ASSERT_TRUE(store->Get("late", "p").ok());
  EXPECT_EQ(scrubber.Scrub("late-value-4712 next-value-4713"), "[REDACTED:late] [REDACTED:late]");
  EXPECT_EQ(scrubber.Mask("PNG late-value-4712"), "PNG ***************");
  EXPECT_EQ(scrubber.counts().hits.at("late"), 4U);
  EXPECT_EQ(scrubber.Scrub("nothing"), std::nullopt);
}

TEST_F(SecretStoreTest, ADirectoryThatIsNotThereIsRefused) {
  EXPECT_FALSE(SecretStore::Open({.directory = directory() + "/nothing"}).ok());
  EXPECT_FALSE(SecretStore::Open({.directory = "relative"}).ok());
  EXPECT_FALSE(SecretStore::Open({}).value()->configured());
}

TEST(Environment, SecretsAreTakenOutAndOverwritten) {
  char first[] = "CODEGEN_SANDBOX_SECRET_DB_Pass=hunter2=x";
  char other[] = "PATH=/bin";
  char nameless[] = "CODEGEN_SANDBOX_SECRET_=x";
  char* block[] = {first, other, nameless, nullptr};
  char** const own = environ;
  environ = block;
  const std::vector<EnvironmentSecret> taken = TakeEnvironmentSecrets();
  environ = own;
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].name, "db_pass");
  EXPECT_EQ(taken[0].value, "hunter2=x");
  EXPECT_EQ(block[0], other);
  EXPECT_EQ(block[1], nullptr);
  for (const char c : first) EXPECT_EQ(c, '\0');
}

}  // namespace
}  // namespace polybox::secrets
