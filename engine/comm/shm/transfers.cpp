#include "engine/comm/shm/transfers.h"

#include <algorithm>
#include <cstring>

#include "engine/comm/shm/stream_copy.h"

namespace fx::engine::shm {
namespace {

// A range of total things cut into blocks of at most size.
struct Blocks {
  std::size_t total;
  std::size_t size;
  std::size_t count() const { return (total + size - 1) / size; }
  std::size_t begin(std::size_t block) const { return block * size; }
  std::size_t length(std::size_t block) const { return std::min(size, total - begin(block)); }
};

std::uint32_t detail(c10::ScalarType dtype, Reduction reduction) {
  return static_cast<std::uint32_t>(dtype) << 8 | static_cast<std::uint32_t>(reduction);
}

// Elements of a part that fit a slot holding `parts` parts; whole cache lines, so that parts do not share one.
std::size_t part_elements(const Exchange& exchange, std::size_t parts, std::size_t element) {
  return std::max<std::size_t>(64 / element, exchange.slot_bytes() / parts / 64 * 64 / element);
}

// A slot holds, one behind the other, the pieces for the other ranks; rank `for_rank` finds its own here.
std::size_t piece_of(int for_rank, int owner) {
  return static_cast<std::size_t>(for_rank < owner ? for_rank : for_rank - 1);
}

void write_pieces(const Exchange& exchange, std::byte* slot, const std::byte* in, std::size_t part_bytes,
                  std::size_t begin, std::size_t length, std::size_t stride) {
  for (int to = 0; to < exchange.size(); ++to) {
    if (to == exchange.rank()) continue;
    std::memcpy(slot + piece_of(to, exchange.rank()) * stride, in + static_cast<std::size_t>(to) * part_bytes + begin,
                length);
  }
}

}  // namespace

void all_gather(Exchange& exchange, std::byte* out, const std::byte* in, std::size_t bytes) {
  exchange.begin({"all_gather", bytes, 0});
  const Blocks blocks{bytes, exchange.slot_bytes()};
  const bool past_caches = bytes * static_cast<std::size_t>(exchange.size()) >= kStreamFrom;
  exchange.run(
      blocks.count(),
      [&](std::size_t block, std::byte* slot) { std::memcpy(slot, in + blocks.begin(block), blocks.length(block)); },
      [&](std::size_t block, int source, const std::byte* slot) {
        std::byte* to = out + static_cast<std::size_t>(source) * bytes + blocks.begin(block);
        const std::byte* from = slot != nullptr ? slot : in + blocks.begin(block);
        if (to == from) return;
        if (past_caches) {
          stream_copy(to, from, blocks.length(block));
        } else {
          std::memcpy(to, from, blocks.length(block));
        }
      });
  if (past_caches) finish_streams();
}

void reduce_scatter(Exchange& exchange, std::byte* out, const std::byte* in, std::size_t count, c10::ScalarType dtype,
                    Reduction reduction) {
  const std::size_t element = c10::elementSize(dtype);
  exchange.begin({"reduce_scatter", count * element, detail(dtype, reduction)});
  const auto others = static_cast<std::size_t>(std::max(1, exchange.size() - 1));
  const Blocks blocks{count, part_elements(exchange, others, element)};
  const std::size_t stride = blocks.size * element;
  BlockReducer reducer(dtype, reduction, exchange.size());
  const bool in_pairs = reducer.has_pair(), past_caches = in_pairs && count * element >= kStreamFrom;
  const std::size_t own = static_cast<std::size_t>(exchange.rank()) * count * element;  // this rank's part
  exchange.run(
      blocks.count(),
      [&](std::size_t block, std::byte* slot) {
        write_pieces(exchange, slot, in, count * element, blocks.begin(block) * element, blocks.length(block) * element,
                     stride);
      },
      [&](std::size_t block, int source, const std::byte* slot) {
        const std::size_t begin = blocks.begin(block) * element;
        const std::byte* from = slot != nullptr ? slot + piece_of(exchange.rank(), source) * stride : in + own + begin;
        if (!in_pairs) {
          reducer.add(out + begin, from, blocks.length(block), source);
        } else if (source != exchange.rank()) {  // two addends may come in any order
          reducer.pair(out + begin, in + own + begin, from, blocks.length(block), past_caches);
        }
      });
  if (past_caches) finish_streams();
}

void all_reduce(Exchange& exchange, std::byte* inout, std::size_t count, c10::ScalarType dtype, Reduction reduction) {
  const std::size_t element = c10::elementSize(dtype);
  exchange.begin({"all_reduce", count * element, detail(dtype, reduction)});
  const Blocks blocks{count, exchange.slot_bytes() / element};
  BlockReducer reducer(dtype, reduction, exchange.size());
  // The result replaces this rank's own values while later sources are still to come.
  std::vector<std::byte> own(std::min(count, blocks.size) * element);
  exchange.run(
      blocks.count(),
      [&](std::size_t block, std::byte* slot) {
        std::memcpy(slot, inout + blocks.begin(block) * element, blocks.length(block) * element);
      },
      [&](std::size_t block, int source, const std::byte* slot) {
        std::byte* at = inout + blocks.begin(block) * element;
        if (source == 0) std::memcpy(own.data(), at, blocks.length(block) * element);
        reducer.add(at, slot != nullptr ? slot : own.data(), blocks.length(block), source);
      });
}

void broadcast(Exchange& exchange, std::byte* data, std::size_t bytes, int root) {
  exchange.begin({"broadcast", bytes, static_cast<std::uint32_t>(root)});
  const Blocks blocks{bytes, exchange.slot_bytes()};
  exchange.run(
      blocks.count(),
      [&](std::size_t block, std::byte* slot) {
        if (exchange.rank() == root) std::memcpy(slot, data + blocks.begin(block), blocks.length(block));
      },
      [&](std::size_t block, int source, const std::byte* slot) {
        if (source == root && slot != nullptr) std::memcpy(data + blocks.begin(block), slot, blocks.length(block));
      });
}

void all_to_all(Exchange& exchange, std::byte* out, const std::byte* in, std::size_t bytes) {
  exchange.begin({"all_to_all", bytes, 0});
  const auto others = static_cast<std::size_t>(std::max(1, exchange.size() - 1));
  const Blocks blocks{bytes, part_elements(exchange, others, 1)};
  exchange.run(
      blocks.count(),
      [&](std::size_t block, std::byte* slot) {
        write_pieces(exchange, slot, in, bytes, blocks.begin(block), blocks.length(block), blocks.size);
      },
      [&](std::size_t block, int source, const std::byte* slot) {
        const std::byte* from = slot != nullptr
                                    ? slot + piece_of(exchange.rank(), source) * blocks.size
                                    : in + static_cast<std::size_t>(exchange.rank()) * bytes + blocks.begin(block);
        std::memcpy(out + static_cast<std::size_t>(source) * bytes + blocks.begin(block), from, blocks.length(block));
      });
}

void barrier(Exchange& exchange) {
  exchange.begin({"barrier", 0, 0});
}

}  // namespace fx::engine::shm
