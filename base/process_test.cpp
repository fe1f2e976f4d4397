#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>

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

}  // namespace
}  // namespace fx
