#include "http/doors/runtime.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "http/testing/fakes.h"

namespace polybox::http {
namespace {

using jail::End;
using testing::FakeExchange;
using testing::Get;
using testing::Post;
using testing::Send;

constexpr const char* kDenied = R"({"message":"Access denied"})";

class RuntimeDoorTest : public ::testing::Test {
 protected:
  RuntimeDoorTest() {
    std::filesystem::create_directory(base());
    temp_.Write("secret", "secret");
    options_.files = std::make_shared<BaseDirectory>(BaseDirectory::Open(base()).value());
  }

  std::string base() const { return temp_.path() + "/base"; }
  std::string InBase(const std::string& name, const std::string& content) const {
    return temp_.Write("base/" + name, content);
  }
  std::shared_ptr<FakeExchange> Ask(Request request) {
    return Send(MakeRuntimeDoor(options_), std::move(request));
  }
  std::pair<int, std::string> Fetch(const std::string& path) {
    const auto exchange = Ask(Get(path));
    return {exchange->response.status, exchange->response.body};
  }
  std::pair<int, std::string> Upload(const std::string& filename, const std::string& content) {
    Request request =
        Post("/upload", "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" +
                            filename + "\"\r\n\r\n" + content + "\r\n--B--\r\n");
    request.headers = {{"Content-Type", "multipart/form-data; boundary=B"}};
    const auto exchange = Ask(request);
    return {exchange->response.status, exchange->response.body};
  }

  polybox::testing::TempDir temp_;
  RuntimeOptions options_;
};

using Answer = std::pair<int, std::string>;

TEST_F(RuntimeDoorTest, TheRootSaysThatItIsActive) {
  EXPECT_EQ(Fetch("/"), (Answer{200, R"({"status":"ok","message":"Sandbox Runtime is active."})"}));
}

TEST_F(RuntimeDoorTest, TheRootAnswersABrowserWithThePageAndSaysThatItDependsOnAccept) {
  for (const char* method : {"GET", "HEAD"}) {
    Request request = Get("/");
    request.method = method;
    const auto plain = Ask(request);
    EXPECT_EQ(plain->response.content_type, "application/json");
    EXPECT_EQ(plain->Header("Vary"), "Accept");
    request.headers = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}};
    const auto page = Ask(request);
    EXPECT_EQ(page->response.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(page->Header("Vary"), "Accept");
  }
}

TEST_F(RuntimeDoorTest, AFileGoesUpIsThereAndComesDown) {
  const std::string bytes("a\0\r\n--b", 7);
  EXPECT_EQ(Upload("d/e/f.bin", bytes),
            (Answer{200, R"({"message":"File 'd/e/f.bin' uploaded successfully."})"}));
  EXPECT_EQ(Fetch("/exists/d/e/f.bin"), (Answer{200, R"({"path":"d/e/f.bin","exists":true})"}));
  const auto down = Ask(Get("/download/d/e/f.bin"));
  EXPECT_EQ(down->response.status, 200);
  EXPECT_EQ(down->response.body, bytes);
  EXPECT_EQ(down->response.content_type, "application/octet-stream");
  EXPECT_EQ(down->Header("Content-Disposition"), "attachment; filename=\"f.bin\"");
  Upload("/d/e/../e/f.bin", "second");
  EXPECT_EQ(Fetch("/download//d/e/f.bin"), (Answer{200, "second"}));
  // The write leaves no temporary file.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(base() + "/d/e"), {}), 1);
}

TEST_F(RuntimeDoorTest, NamesOfOtherAlphabetsComeDownQuoted) {
  InBase("\u00e9 %.txt", "x");
  EXPECT_EQ(Ask(Get("/download/\u00e9 %.txt"))->Header("Content-Disposition"),
            "attachment; filename*=utf-8''%C3%A9%20%25.txt");
}

TEST_F(RuntimeDoorTest, AMissingFileOrDirectoryIsNamedInTheAnswer) {
  InBase("file", "x");
  std::filesystem::create_directory(base() + "/dir");
  EXPECT_EQ(Fetch("/download/none"), (Answer{404, R"({"message":"File not found"})"}));
  EXPECT_EQ(Fetch("/download/dir"), (Answer{404, R"({"message":"File not found"})"}));
  EXPECT_EQ(Fetch("/download/file/x"), (Answer{404, R"({"message":"File not found"})"}));
  EXPECT_EQ(Fetch("/list/none"), (Answer{404, R"({"message":"Path is not a directory"})"}));
  EXPECT_EQ(Fetch("/list/file"), (Answer{404, R"({"message":"Path is not a directory"})"}));
  EXPECT_EQ(Fetch("/exists/none"), (Answer{200, R"({"path":"none","exists":false})"}));
  EXPECT_EQ(Fetch("/exists/"), (Answer{200, R"({"path":"","exists":true})"}));
  EXPECT_EQ(Fetch("/exists/."), (Answer{200, R"({"path":".","exists":true})"}));
  EXPECT_EQ(Fetch("/exists/100%25"), (Answer{200, R"({"path":"100%25","exists":false})"}));
}

TEST_F(RuntimeDoorTest, NoPathLeadsOut) {
  std::filesystem::create_symlink("../secret", base() + "/relative");
  std::filesystem::create_symlink(temp_.path() + "/secret", base() + "/absolute");
  std::filesystem::create_symlink("..", base() + "/up");
  std::filesystem::create_symlink("/proc/self/environ", base() + "/environ");
  std::filesystem::create_symlink("loop", base() + "/loop");
  std::filesystem::create_directory(temp_.path() + "/base-evil");
  for (const char* path :
       {"../secret", "../../etc/passwd", "foo/../../bar", "/../etc/passwd", "..", "relative",
        "absolute", "up", "up/secret", "environ", "loop", "../base-evil", "none/../../secret"}) {
    for (const char* route : {"/download/", "/list/", "/exists/"}) {
      EXPECT_EQ(Fetch(std::string(route) + path), (Answer{403, kDenied})) << route << path;
    }
  }
  EXPECT_EQ(Fetch(std::string("/exists/a\0b", 11)), (Answer{403, kDenied}));
  for (const char* path : {"../x", "a/../../x", "..", "up/x", "/../x", "d/../../../x"}) {
    EXPECT_EQ(Upload(path, "x"), (Answer{403, kDenied})) << path;
  }
  EXPECT_FALSE(std::filesystem::exists(temp_.path() + "/x"));
}

TEST_F(RuntimeDoorTest, AnUploadReplacesALinkInsteadOfFollowingIt) {
  std::filesystem::create_symlink(temp_.path() + "/secret", base() + "/link");
  EXPECT_EQ(Upload("link", "mine").first, 200);
  EXPECT_EQ(ReadFile(temp_.path() + "/secret").value(), "secret");
  EXPECT_EQ(Fetch("/download/link"), (Answer{200, "mine"}));
}

TEST_F(RuntimeDoorTest, LinksInsideAreFollowed) {
  InBase("d/f", "inside");
  std::filesystem::create_symlink("d", base() + "/link");
  EXPECT_EQ(Fetch("/download/link/f"), (Answer{200, "inside"}));
  EXPECT_EQ(Upload("link/g", "new").first, 200);
  EXPECT_EQ(Fetch("/download/d/g"), (Answer{200, "new"}));
}

TEST_F(RuntimeDoorTest, AFileThatIsNotPlainIsNeverWaitedFor) {
  ASSERT_EQ(::mkfifo((base() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(Fetch("/download/fifo"), (Answer{404, R"({"message":"File not found"})"}));
}

TEST_F(RuntimeDoorTest, ADirectoryIsListedByName) {
  InBase("b", "four");
  std::filesystem::create_directory(base() + "/a");
  std::filesystem::create_symlink("a", base() + "/c");
  std::filesystem::create_symlink("../secret", base() + "/d");
  const auto time = std::filesystem::file_time_type::clock::from_sys(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(1500)));
  std::filesystem::last_write_time(base() + "/a", time);
  std::filesystem::last_write_time(base() + "/b", time);
  const auto [status, body] = Fetch("/list/");
  EXPECT_EQ(status, 200);
  const std::string size = std::to_string(options_.files->List("", 10).value()[0].size);
  const std::string folder = R"("size":)" + size + R"(,"type":"directory","mod_time":1.5})";
  EXPECT_EQ(body.substr(0, body.find(R"({"name":"d")")),
            R"([{"name":"a",)" + folder +
                R"(,{"name":"b","size":4,"type":"file","mod_time":1.5},)" + R"({"name":"c",)" +
                folder + ",");
  // For a link that leads out of the directory, the listing describes the link itself.
  EXPECT_NE(body.find(R"({"name":"d","size":9,"type":"file",)"), std::string::npos) << body;
  EXPECT_EQ(Fetch("/list/a"), (Answer{200, "[]"}));
}

TEST_F(RuntimeDoorTest, SizesAreBounded) {
  InBase("large", "12345");
  InBase("other", "");
  options_.largest_download = Bytes(4);
  options_.most_entries = 1;
  EXPECT_EQ(Fetch("/download/large"),
            (Answer{413, R"({"message":"File download failed: larger than 4B"})"}));
  EXPECT_EQ(Fetch("/list/"),
            (Answer{413, R"({"message":"List files failed: more than 1 entries"})"}));
  options_.largest_upload = 77;
  EXPECT_EQ(MakeRuntimeDoor(options_).routes[2].largest_body, 77U);
}

TEST_F(RuntimeDoorTest, UploadsThatMakeNoSenseAreRefused) {
  InBase("file", "x");
  EXPECT_EQ(Upload("d/", "x"),
            (Answer{500, R"({"message":"File upload failed: the path is a directory"})"}));
  EXPECT_EQ(Upload("file/x", "x"),
            (Answer{500, R"({"message":"File upload failed: \"file\" is not a directory"})"}));
  EXPECT_EQ(Upload("", "x").first, 422);
  Request request = Post("/upload", "{}");
  EXPECT_EQ(Ask(request)->response.status, 400);
}

TEST_F(RuntimeDoorTest, ABaseThatIsMissingIsMadeAndGoesAgain) {
  std::string path;
  {
    const BaseDirectory made = BaseDirectory::Open(temp_.path() + "/none").value();
    path = made.path();
    EXPECT_TRUE(made.Write("a/b", "x").ok());
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(temp_.path() + "/none"));
  EXPECT_FALSE(BaseDirectory::Open(temp_.path() + "/secret").ok());
  EXPECT_TRUE(std::filesystem::exists(base()));
}

TEST_F(RuntimeDoorTest, AnUploadThatDoesNotFitIsRefused) {
  options_.space = std::make_shared<exec::SpaceWatch>(options_.files->fd(),
                                                      exec::SpaceLimits{Bytes::KiB(64), 3});
  EXPECT_EQ(Upload("a/b", "x").first, 200);
  EXPECT_EQ(
      Upload("large", std::string(65U << 10U, 'x')),
      (Answer{507, R"({"message":"File upload failed: the base directory may hold 64KiB in 3 )"
                   R"(files: No space left on device"})"}));
  EXPECT_EQ(Upload("c/d", "x").first, 507);
  EXPECT_EQ(Upload("c", "x").first, 200);
  EXPECT_FALSE(std::filesystem::exists(base() + "/large"));
}

/// Runs `work` on a new thread, because only that thread sees the mounts that it makes.
template <typename Work>
void InOwnThread(Work work) {
  std::thread thread(work);
  thread.join();
}

TEST_F(RuntimeDoorTest, APrivateBaseIsAFileSystemOfItsOwnWhereThatCanBe) {
  InOwnThread([this] {
    std::string path;
    {
      BaseDirectory made = BaseDirectory::Open(temp_.path() + "/none").value();
      path = made.path();
      const Status kept = made.KeepWithin({Bytes::KiB(64), 3});
      EXPECT_EQ(made.in_memory(), kept.ok());
      if (!kept.ok()) return;  // not root, or the host forbids mounts
      EXPECT_TRUE(made.Write("a/b", "x").ok());
      const Status large = made.Write("large", std::string(65U << 10U, 'x'));
      ASSERT_FALSE(large.ok());
      EXPECT_EQ(large.error().system_errno(), ENOSPC);
      // The failed write has used no space.
      EXPECT_TRUE(made.Write("small", "x").ok());
      EXPECT_EQ(made.Write("one-more", "x").error().system_errno(), ENOSPC);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
  });
}

TEST_F(RuntimeDoorTest, ADirectoryOfALargerFileSystemMustBeWatched) {
  BaseDirectory there = BaseDirectory::Open(base()).value();
  const Status kept = there.KeepWithin({Bytes::KiB(64), 3});
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().message(), "it is part of a larger file system");
  EXPECT_FALSE(there.in_memory());
}

TEST_F(RuntimeDoorTest, FaultsAreInFastApisShape) {
  const Door door = MakeRuntimeDoor(options_);
  EXPECT_EQ(door.refuse(Fault::kMethodNotAllowed, Request()).body,
            R"({"detail":"Method Not Allowed"})");
  EXPECT_EQ(door.refuse(Fault::kBodyTooLarge, Request()).status, 413);
  EXPECT_EQ(door.refuse(Fault::kOverloaded, Request()).status, 503);
  EXPECT_EQ(door.refuse(Fault::kOverloaded, Request()).body,
            R"({"detail":"too many requests are being read"})");
}

class FakeRunner : public CommandRunner {
 public:
  std::shared_ptr<exec::Ticket> Run(CommandRequest request, exec::Executor::Done done) override {
    requests.push_back(std::move(request));
    if (answer) done(*answer);
    return std::make_shared<testing::FakeTicket>(cancelled);
  }

  std::optional<exec::Answer> answer;
  std::vector<CommandRequest> requests;
  int cancelled = 0;
};

class CommandTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeExchange> Run(const std::string& command,
                                    std::optional<Duration> timeout = {}) {
    auto exchange = std::make_shared<FakeExchange>(Post("/execute", ""));
    MakeCommandHandler(runner_, options_)(exchange, {command, timeout});
    return exchange;
  }
  /// Returns the start of the answer to a command with this outcome.
  std::string Head(End end, int exit_code, int signal, const std::string& out,
                   const std::string& err) {
    exec::Report report;
    report.run.emplace();
    report.run->outcome.end = end;
    report.run->outcome.exit_code = exit_code;
    report.run->outcome.signal = signal;
    report.run->outcome.setup_failure = "no such program";
    report.run->out = out;
    report.run->err = err;
    runner_.answer = report;
    const auto exchange = Run("sleep 10", std::chrono::seconds(5));
    EXPECT_EQ(exchange->response.status, 200);
    const std::string& body = exchange->response.body;
    return body.substr(0, body.find(",\"execution_time_ms\""));
  }

  FakeRunner runner_;
  RuntimeOptions options_;
};

TEST_F(CommandTest, WordsAndTimeoutReachTheRunner) {
  Run("echo 'hello world'");
  Run("a", std::chrono::seconds(4));
  Run("a", std::chrono::hours(4));
  ASSERT_EQ(runner_.requests.size(), 3U);
  EXPECT_EQ(runner_.requests[0].argv, (std::vector<std::string>{"echo", "hello world"}));
  EXPECT_EQ(runner_.requests[0].client, "192.0.2.1");
  EXPECT_EQ(runner_.requests[0].timeout, std::chrono::seconds(300));
  EXPECT_EQ(runner_.requests[1].timeout, std::chrono::seconds(4));
  EXPECT_EQ(runner_.requests[2].timeout, std::chrono::seconds(300));
}

TEST_F(CommandTest, EveryEndHasTheApisExitCode) {
  const auto row = [](const std::string& status, const std::string& out, const std::string& err,
                      int code) {
    return R"({"status":")" + status + R"(","stdout":")" + out + R"(","stderr":")" + err +
           R"(","exit_code":)" + std::to_string(code);
  };
  const std::string failed = "Failed to execute command: ";
  EXPECT_EQ(Head(End::kExited, 0, 0, "a\r\nb\rc\n", ""), row("success", R"(a\nb\nc\n)", "", 0));
  EXPECT_EQ(Head(End::kExited, 7, 0, "", "e"), row("error", "", "e", 7));
  EXPECT_EQ(Head(End::kSignalled, 0, SIGKILL, "o", ""), row("error", "o", "", -9));
  EXPECT_EQ(Head(End::kSignalled, 0, SIGSEGV, "", ""), row("error", "", "", -11));
  EXPECT_EQ(Head(End::kOutOfMemory, 0, SIGKILL, "", ""), row("error", "", "", -9));
  EXPECT_EQ(Head(End::kTimedOut, 0, SIGKILL, "part", "x"),
            row("error", "", failed + "Command 'sleep 10' timed out after 5 seconds", 1));
  EXPECT_EQ(Head(End::kSetupFailed, 0, 0, "", ""), row("error", "", failed + "no such program", 1));
  EXPECT_EQ(Head(End::kExited, 0, 0, "\xff", ""),
            row("error", "", failed + "its standard output is not UTF-8", 1));
}

TEST_F(CommandTest, OutputFromBeforeATimeoutIsNotLost) {
  Head(End::kTimedOut, 0, SIGKILL, "part", "x");
  const std::string body = Run("sleep 10")->response.body;
  EXPECT_NE(body.find(R"("partial_stdout":"part","partial_stderr":"x"})"), std::string::npos)
      << body;
}

TEST_F(CommandTest, CommandsThatMakeNoSenseAreAnsweredWithAFailure) {
  options_.isolation = jail::Grade::kFull;
  for (const auto& [command, reason] : std::vector<std::pair<std::string, std::string>>{
           {"echo 'a", "No closing quotation"},
           {"echo a\\", "No escaped character"},
           {"", "no command was given"},
           {" \n", "no command was given"},
           {std::string("a\0b", 3), "embedded null byte"}}) {
    const auto exchange = Run(command);
    EXPECT_EQ(exchange->response.status, 200);
    EXPECT_TRUE(exchange->response.body.starts_with(
        R"({"status":"error","stdout":"","stderr":"Failed to execute command: )" + reason +
        R"(","exit_code":1,)"))
        << exchange->response.body;
    EXPECT_NE(exchange->response.body.find(R"("isolation":"full","timeout_seconds":300,)"),
              std::string::npos)
        << exchange->response.body;
  }
  EXPECT_TRUE(runner_.requests.empty());
}

TEST_F(CommandTest, RefusalsAndDisconnectsAreThoseOfTheExecuteDoor) {
  options_.capacity = 3;
  runner_.answer = exec::Refusal{exec::RefusalKind::kBusy, "", Duration(), 4};
  EXPECT_EQ(Run("a")->response.status, 429);
  runner_.answer.reset();
  Run("a")->disconnect();
  EXPECT_EQ(runner_.cancelled, 1);
}

}  // namespace
}  // namespace polybox::http
