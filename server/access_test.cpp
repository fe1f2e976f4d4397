#include "server/access.h"

#include <gtest/gtest.h>

namespace fx::server {
namespace {

HttpRequest get(HttpHeaders headers, const std::string& path = "/healthz") {
  return {"GET", path, std::move(headers), ""};
}

int status_of(const AccessPolicy& policy, const HttpRequest& request) {
  const auto refusal = check_access(policy, request);
  return refusal ? refusal->status : 200;
}

TEST(Access, LetsLoopbackNamesInWithAndWithoutPort) {
  for (const char* host :
       {"localhost", "LOCALHOST:8765", "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(status_of({}, get({{"Host", host}})), 200) << host;
  }
}

TEST(Access, RefusesForeignAndMalformedHosts) {
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:80:80",
                           "[::1", ":80", "localhost:99999", "localhost:-1", "0.0.0.0", "127.0.0.256"}) {
    EXPECT_EQ(status_of({}, get({{"Host", host}})), 403) << host;
  }
  EXPECT_EQ(status_of({}, get({})), 403);
  EXPECT_EQ(status_of({}, get({{"Host", "localhost"}, {"host", "evil.example"}})), 403);
}

TEST(Access, LetsAllowedHostsIn) {
  const AccessPolicy policy{{"trainer"}, ""};
  EXPECT_EQ(status_of(policy, get({{"Host", "Trainer:8765"}, {"Origin", "https://trainer"}})), 200);
  EXPECT_EQ(status_of(policy, get({{"Host", "other:8765"}})), 403);
}

TEST(Access, RefusesForeignOrigins) {
  for (const char* origin : {"null", "http://evil.example", "file://localhost", "http://localhost.evil.example", ""}) {
    EXPECT_EQ(status_of({}, get({{"Host", "localhost"}, {"Origin", origin}})), 403) << origin;
  }
  EXPECT_EQ(status_of({}, get({{"Host", "localhost"}, {"Origin", "http://localhost:3000"}})), 200);
}

TEST(Access, NeedsTheTokenWhereOneIsSet) {
  const AccessPolicy policy{{}, "0123456789abcdef"};
  const auto with = [](const char* value) {
    return get({{"Host", "localhost"}, {"Authorization", value}}, "/v1/tools");
  };
  EXPECT_EQ(status_of(policy, with("Bearer 0123456789abcdef")), 200);
  for (const char* value :
       {"", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Basic 0123456789abcdef"}) {
    EXPECT_EQ(status_of(policy, with(value)), 401) << value;
  }
  EXPECT_EQ(status_of(policy, get({{"Host", "localhost"}}, "/healthz")), 200);
}

TEST(Access, NeverShowsTheToken) {
  const AccessPolicy policy{{}, "0123456789abcdef"};
  const auto refusal = check_access(policy, get({{"Host", "localhost"}}, "/mcp"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->body.find("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace fx::server
