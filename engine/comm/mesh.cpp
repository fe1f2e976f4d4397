#include "engine/comm/mesh.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace fx::engine {
namespace {

std::vector<int> spaced(int first, int count, int step) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * step);
  return ranks;
}

}  // namespace

Mesh::Mesh(Collectives& world, int replicate, int slice) : world_(world) {
  if (replicate < 1 || world.size() % replicate != 0) {
    throw std::invalid_argument(std::to_string(replicate) + " copies do not divide " + std::to_string(world.size()) +
                                " ranks");
  }
  const int size = world.size() / replicate, column = world.rank() % size;
  if (slice < 0 || (slice > 0 && size % slice != 0)) {
    throw std::invalid_argument(std::to_string(slice) + " ranks do not divide the shard size " + std::to_string(size));
  }
  replica_ = world.rank() / size;
  if (replicate > 1) {
    shard_ = world.split("shard-" + std::to_string(replica_), spaced(replica_ * size, size, 1));
    replicate_ = world.split("replicate-" + std::to_string(column), spaced(column, replicate, size));
  }
  if (slice > 0) {
    const int block = world.rank() / slice;
    slice_ = world.split("slice-" + std::to_string(block), spaced(block * slice, slice, 1));
  }
}

CommStats Mesh::stats() const {
  CommStats sum = world_.stats();
  for (const auto* group : {shard_.get(), replicate_.get(), slice_.get()}) {
    if (group == nullptr) continue;
    sum.calls += group->stats().calls;
    sum.bytes_sent += group->stats().bytes_sent;
    sum.wait_seconds += group->stats().wait_seconds;
  }
  return sum;
}

void Mesh::reset_stats() {
  world_.reset_stats();
  for (auto* group : {shard_.get(), replicate_.get(), slice_.get()}) {
    if (group != nullptr) group->reset_stats();
  }
}

}  // namespace fx::engine
