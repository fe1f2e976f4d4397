#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"

namespace fx {
namespace {

TEST(Process, ReportsExitCodeAndOutput) {
  const auto output = std::filesystem::path(testing::TempDir()) / "fx_process_test.txt";
  std::filesystem::remove(output);
  ProcessSpec spec{{"sh", "-c", "echo $COLOUR; exit 3"}, {{"COLOUR", "blue"}}, {}, output};
  const auto pid = start_process(spec);
  ASSERT_TRUE(pid);
  const ExitStatus status = wait_process(*pid);
  EXPECT_EQ(status.code, 3);
  EXPECT_EQ(*read_file(output), "blue\n");
}

TEST(Process, NamesTheSignalThatEndedIt) {
  const auto pid = start_process({{"sleep", "30"}, {}, {}, {}});
  ASSERT_TRUE(pid);
  signal_group(*pid, SIGKILL);
  EXPECT_EQ(describe(wait_process(*pid)), "killed by signal 9 (SIGKILL)");
}

TEST(Process, MissingProgramIsAnError) {
  const auto pid = start_process({{"/no/such/program"}, {}, {}, {}});
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().code, ErrorCode::kNotFound);
}

TEST(Process, BirthIsStableWhileItRunsAndEmptyAfterItsEnd) {
  const auto pid = start_process({{"sleep", "30"}, {}, {}, {}});
  ASSERT_TRUE(pid);
  const std::string birth = process_birth(*pid);
  EXPECT_NE(birth, "");
  EXPECT_EQ(process_birth(*pid), birth);
  signal_group(*pid, SIGKILL);
  wait_process(*pid);
  EXPECT_EQ(process_birth(*pid), "");
}

TEST(Process, ChildrenInheritNoOpenFiles) {
  const auto folder = std::filesystem::path(testing::TempDir());
  std::filesystem::remove(folder / "fx_inherited.txt");
  const int leaked = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GT(leaked, 2);
  const std::string question = "[ -e /proc/self/fd/" + std::to_string(leaked) + " ] && echo leaked || echo clean";
  const auto pid = start_process({{"sh", "-c", question}, {}, {}, folder / "fx_inherited.txt"});
  ASSERT_TRUE(pid);
  wait_process(*pid);
  ::close(leaked);
  EXPECT_EQ(*read_file(folder / "fx_inherited.txt"), "clean\n");
}

}  // namespace
}  // namespace fx
