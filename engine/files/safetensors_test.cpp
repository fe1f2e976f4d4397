#include "engine/files/safetensors.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/file.h"
#include "engine/files/folder_testing.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

using Safetensors = testing::FolderTest;

std::string problem_of(const std::string& json, std::uint64_t data_bytes) {
  const auto header = parse_safetensors_header(json, 8 + json.size() + data_bytes, "f.safetensors");
  return header ? "" : header.error().message;
}

TEST_F(Safetensors, SeveralProcessesWriteTheirRowsIntoOneFile) {
  const auto plan =
      plan_safetensors({{"a", FileDtype::kF32, {5, 3}}, {"b", FileDtype::kBF16, {4}}, {"s", FileDtype::kF32, {}}});
  const fs::path path = root() / "model.safetensors";
  ASSERT_TRUE(create_safetensors(path, plan));
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto writer = SafetensorsWriter::open(path, plan);
      const std::int64_t first = rank == 0 ? 0 : 3, count = rank == 0 ? 3 : 2;
      std::vector<float> values(static_cast<std::size_t>(count * 3));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(first * 3) + static_cast<float>(i);
      bool ok = writer && writer->write_rows("a", first, count, values);
      ok = ok && writer->write_rows("b", rank * 2, 2, std::vector<float>{1.5f, -2.0f});
      ::_exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << to_line(file.error());
  std::vector<float> a(9), b(4);
  ASSERT_TRUE(file->read_rows(*file->header().find("a"), 2, 3, std::span<float>(a)));
  EXPECT_EQ(a.front(), 6);
  EXPECT_EQ(a.back(), 14);
  ASSERT_TRUE(file->read_rows(*file->header().find("b"), 0, 4, std::span<float>(b)));
  EXPECT_EQ(b, (std::vector<float>{1.5f, -2.0f, 1.5f, -2.0f}));
  EXPECT_EQ(file->header().metadata.at("format"), "pt");
  EXPECT_EQ(file->header().find("s")->rows(), 1);
}

TEST_F(Safetensors, WriterRefusesAnotherPlan) {
  const fs::path path = root() / "m.safetensors";
  ASSERT_TRUE(create_safetensors(path, plan_safetensors({{"a", FileDtype::kF32, {5, 3}}})));
  EXPECT_EQ(SafetensorsWriter::open(path, plan_safetensors({{"a", FileDtype::kBF16, {5, 6}}})).error().code,
            ErrorCode::kConflict);
}

TEST(SafetensorsHeader, RefusesHostileHeadersAndNamesTheTensor) {
  const std::string good = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(problem_of(good, 8), "");
  EXPECT_NE(problem_of(good, 9).find("1 unused bytes at the end"), std::string::npos);
  EXPECT_NE(problem_of(good, 7).find("\"w\" reaches past the end"), std::string::npos);
  const auto with = [](const std::string& entry) { return "{\"w\":{" + entry + "}}"; };
  EXPECT_NE(problem_of(with(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8])"), 8)
                .find("larger than any"),
            std::string::npos);
  EXPECT_NE(problem_of(with(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8).find("need 12 bytes"),
            std::string::npos);
  EXPECT_NE(problem_of(with(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8).find("before it begins"),
            std::string::npos);
  EXPECT_NE(problem_of(with(R"("dtype":"F99","shape":[2],"data_offsets":[0,8])"), 8).find("F99"), std::string::npos);
  for (const auto* entry :
       {R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])", R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])",
        R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])", R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])",
        R"("shape":[2],"data_offsets":[0,8])", R"("dtype":"F32","shape":null,"data_offsets":[0,8])",
        R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8])",
        R"("dtype":{"x":{"y":1}},"shape":[2],"data_offsets":[0,8])"}) {
    EXPECT_NE(problem_of(with(entry), 8), "") << entry;
  }
  for (const auto* text : {"", "[]", "7", "{\"w\":3}", "{\"w\":[1]}", "{", "{}}", "null"})
    EXPECT_NE(problem_of(text, 8), "") << text;
  EXPECT_EQ(problem_of("{}", 0), "");
}

TEST(SafetensorsHeader, RefusesHolesOverlapsAndDoubles) {
  const auto two = [](int begin, const char* second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},")" + std::string(second) +
           R"(":{"dtype":"U8","shape":[4],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(begin + 4) +
           "]}}";
  };
  EXPECT_EQ(problem_of(two(4, "b"), 8), "");
  EXPECT_NE(problem_of(two(3, "b"), 8).find("\"b\" overlaps"), std::string::npos);
  EXPECT_NE(problem_of(two(5, "b"), 9).find("unused bytes before"), std::string::npos);
  EXPECT_NE(problem_of(two(4, "a"), 8).find("listed twice"), std::string::npos);
}

TEST(SafetensorsHeader, AnyDamageGivesAnAnswer) {
  const std::string good =
      print_safetensors_header(plan_safetensors({{"a", FileDtype::kF32, {2, 2}}, {"b", FileDtype::kU8, {3}}}));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good.substr(8);
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    const auto header = parse_safetensors_header(bad, 8 + bad.size() + 19, "f");
    if (header) {
      EXPECT_LE(header->tensors.size(), 2u);
    }
  }
}

TEST_F(Safetensors, RefusesFilesThatAreTooShortOrClaimTooMuch) {
  const fs::path path = root() / "x.safetensors";
  for (const std::string& text :
       {std::string(""), std::string("short"), std::string(16, '\xff'), std::string(64, 'A')}) {
    ASSERT_TRUE(write_file_atomic(path, text));
    EXPECT_FALSE(SafetensorsFile::open(path));
  }
  EXPECT_EQ(SafetensorsFile::open(root()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SafetensorsFile::open(root() / "no").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace fx::engine
