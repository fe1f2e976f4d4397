#include "server/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace fx::server {
namespace {

// A pipe whose writing end is filled and closed at once.
class LineReaderTest : public testing::Test {
 protected:
  LineReader reader_of(std::string_view text, std::size_t max_bytes = 10) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    input_ = ends[0];
    return LineReader(input_, max_bytes, [] { return true; });
  }
  void TearDown() override { ::close(input_); }

 private:
  int input_ = -1;
};

TEST_F(LineReaderTest, SplitsLinesAndKeepsAnUnendedLastOne) {
  auto reader = reader_of("one\n\ntwo");
  EXPECT_EQ(reader.next()->text, "one");
  EXPECT_EQ(reader.next()->text, "");
  EXPECT_EQ(reader.next()->text, "two");
  EXPECT_FALSE(reader.next());
}

TEST_F(LineReaderTest, DropsALineThatIsTooLongAndGoesOn) {
  auto reader = reader_of("12345678901\n1234567890\n");
  EXPECT_TRUE(reader.next()->too_long);
  EXPECT_EQ(reader.next()->text, "1234567890");
  EXPECT_FALSE(reader.next());
}

TEST_F(LineReaderTest, ReportsATooLongLastLineWithoutItsEnd) {
  auto reader = reader_of(std::string(5000, 'x'));
  const auto line = reader.next();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->too_long);
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace fx::server
