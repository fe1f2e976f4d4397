#include "engine/comm/shm/exchange.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "engine/comm/shm/transfers.h"

namespace fx::engine::shm {
namespace {

using std::chrono::milliseconds;

// A store among threads.
class Board {
 public:
  KeyValue store() {
    return {[this](const std::string& key, const std::string& value) {
              const std::lock_guard lock(mutex_);
              values_[key] = value;
              changed_.notify_all();
            },
            [this](const std::string& key) {
              std::unique_lock lock(mutex_);
              changed_.wait(lock, [&] { return values_.count(key) > 0; });
              return values_[key];
            }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

// The error of each rank, "" where there was none.
std::vector<std::string> on_ranks(int size, milliseconds timeout, const std::function<void(Exchange&)>& body) {
  Board board;
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto exchange = Exchange::meet(rank, size, timeout, board.store());
      ASSERT_TRUE(exchange) << exchange.error().message;
      try {
        body(**exchange);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

void expect_no_errors(const std::vector<std::string>& errors) {
  for (const auto& error : errors) EXPECT_EQ(error, "");
}

std::byte* bytes(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

float value_of(int rank, std::size_t i) {
  return static_cast<float>(rank * 1000 + static_cast<int>(i % 997));
}

class Transfers : public testing::TestWithParam<std::tuple<int, std::size_t>> {};

TEST_P(Transfers, GatherEveryRanksPart) {
  const auto [size, count] = GetParam();
  expect_no_errors(on_ranks(size, milliseconds(20000), [&, size = size, count = count](Exchange& exchange) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<float> in(count), out(count * static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < count; ++i) in[i] = value_of(exchange.rank() + repeat, i);
      all_gather(exchange, bytes(out), bytes(in), count * sizeof(float));
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], value_of(static_cast<int>(i / count) + repeat, i % count));
    }
  }));
}

TEST_P(Transfers, ReduceScatterSumsAndAverages) {
  const auto [size, count] = GetParam();
  expect_no_errors(on_ranks(size, milliseconds(20000), [&, size = size, count = count](Exchange& exchange) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kAverage, Reduction::kMax}) {
      std::vector<float> in(count * static_cast<std::size_t>(size)), out(count);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = value_of(exchange.rank(), i);
      reduce_scatter(exchange, bytes(out), bytes(in), count, at::kFloat, reduction);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = static_cast<std::size_t>(exchange.rank()) * count + i;
        float expected = reduction == Reduction::kMax ? value_of(size - 1, at) : 0;
        if (reduction != Reduction::kMax) {
          for (int r = 0; r < size; ++r) expected += value_of(r, at);
        }
        if (reduction == Reduction::kAverage) expected *= 1.0f / static_cast<float>(size);
        ASSERT_EQ(out[i], expected);
      }
    }
  }));
}

TEST_P(Transfers, AllReduceAllToAllAndBroadcast) {
  const auto [size, count] = GetParam();
  expect_no_errors(on_ranks(size, milliseconds(20000), [&, size = size, count = count](Exchange& exchange) {
    std::vector<float> sum(count), parts(count * static_cast<std::size_t>(size)), got(parts.size());
    for (std::size_t i = 0; i < count; ++i) sum[i] = value_of(exchange.rank(), i);
    all_reduce(exchange, bytes(sum), count, at::kFloat, Reduction::kSum);
    for (std::size_t i = 0; i < count; ++i) {
      float expected = 0;
      for (int r = 0; r < size; ++r) expected += value_of(r, i);
      ASSERT_EQ(sum[i], expected);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = value_of(exchange.rank(), i);
    all_to_all(exchange, bytes(got), bytes(parts), count * sizeof(float));
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i],
                value_of(static_cast<int>(i / count), static_cast<std::size_t>(exchange.rank()) * count + i % count));
    }
    broadcast(exchange, bytes(parts), parts.size() * sizeof(float), size - 1);
    for (std::size_t i = 0; i < parts.size(); ++i) ASSERT_EQ(parts[i], value_of(size - 1, i));
    barrier(exchange);
  }));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Transfers,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Values(1, 1000, 700000)));

TEST(Exchange, NamesBothSidesOfADisagreement) {
  const auto errors = on_ranks(2, milliseconds(5000), [](Exchange& exchange) {
    std::vector<float> in(8), out(16);
    if (exchange.rank() == 0) {
      all_gather(exchange, bytes(out), bytes(in), 32);
    } else {
      reduce_scatter(exchange, bytes(in), bytes(out), 8, at::kFloat, Reduction::kSum);
    }
  });
  for (const auto& error : errors) {
    EXPECT_NE(error.find("ranks disagree on collective 1"), std::string::npos) << error;
    EXPECT_NE(error.find("all_gather of 32 bytes"), std::string::npos) << error;
    EXPECT_NE(error.find("reduce_scatter of 32 bytes"), std::string::npos) << error;
  }
}

TEST(Exchange, NamesTheRankThatDoesNotComeWithinTheTimeout) {
  const auto errors = on_ranks(3, milliseconds(300), [](Exchange& exchange) {
    barrier(exchange);
    if (exchange.rank() != 1) barrier(exchange);
  });
  EXPECT_EQ(errors[1], "");
  for (const int rank : {0, 2}) {
    const std::string& error = errors[static_cast<std::size_t>(rank)];
    EXPECT_NE(error.find("rank 1 has not come to barrier, collective 2"), std::string::npos) << error;
  }
}

// Rank 1 is a process that is killed in the middle: rank 0 must name it long before the timeout.
TEST(Exchange, NamesARankWhoseProcessWasKilled) {
  int up[2], down[2];
  ASSERT_EQ(pipe(up) | pipe(down), 0);
  const auto over_pipes = [](int from, int to) {
    return KeyValue{[to](const std::string& key, const std::string& value) {
                      const std::string line = key + "=" + value + "\n";
                      ASSERT_EQ(write(to, line.data(), line.size()), static_cast<ssize_t>(line.size()));
                    },
                    [from, known = std::make_shared<std::map<std::string, std::string>>()](const std::string& key) {
                      while (known->count(key) == 0) {
                        std::string line;
                        for (char c = 0; read(from, &c, 1) == 1 && c != '\n';) line += c;
                        (*known)[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
                      }
                      return (*known)[key];
                    }};
  };
  // Each side sees the other's values through the pipe and its own from memory.
  const auto both = [](KeyValue wire) {
    auto own = std::make_shared<std::map<std::string, std::string>>();
    return KeyValue{[own, wire](const std::string& key, const std::string& value) {
                      (*own)[key] = value;
                      wire.set(key, value);
                    },
                    [own, wire](const std::string& key) { return own->count(key) ? (*own)[key] : wire.get(key); }};
  };
  const pid_t child = fork();
  if (child == 0) {
    auto exchange = Exchange::meet(1, 2, milliseconds(60000), both(over_pipes(down[0], up[1])));
    if (exchange) barrier(**exchange);
    pause();
    _exit(0);
  }
  auto exchange = Exchange::meet(0, 2, milliseconds(60000), both(over_pipes(up[0], down[1])));
  ASSERT_TRUE(exchange) << exchange.error().message;
  barrier(**exchange);
  kill(child, SIGKILL);
  const auto began = std::chrono::steady_clock::now();
  try {
    barrier(**exchange);
    ADD_FAILURE() << "the barrier passed without rank 1";
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()), "the process of rank 1 (pid " + std::to_string(child) + ") has ended");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  waitpid(child, nullptr, 0);
}

TEST(Exchange, RefusesAFileThatIsNotRankZeros) {
  Board board;
  const KeyValue store = board.store();
  store.set("segment", std::to_string(getpid()) + " 0 nonsense");
  store.set("rank 0", "yes 1");
  const auto exchange = Exchange::meet(1, 2, milliseconds(1000), store);
  ASSERT_FALSE(exchange);
  EXPECT_EQ(exchange.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(exchange.error().message.find("rank 1 does not share memory with rank 0"), std::string::npos);
}

}  // namespace
}  // namespace fx::engine::shm
