// The ranks of a run as a grid: dim 0 replicates, dim 1 shards. Consecutive ranks share one copy of the model, so that
// a copy stays inside a host where it can.
#pragma once

#include <memory>

#include "engine/comm/collectives.h"

namespace fx::engine {

class Mesh {
 public:
  // replicate must divide the world; slice (0: none) is the number of consecutive ranks that hold one copy between them
  // after the forward and must divide the shard size. Throws std::invalid_argument. Collective; world must outlive it.
  explicit Mesh(Collectives& world, int replicate = 1, int slice = 0);

  Collectives& world() { return world_; }
  at::Device device() const { return world_.device(); }
  // The ranks that share one copy; this rank's index there says which rows it owns.
  Collectives& shard() { return shard_ ? *shard_ : world_; }
  // The ranks that own the same rows of their copies; nullptr without replication.
  Collectives* replicate() { return replicate_.get(); }
  // nullptr without a slice size.
  Collectives* slice() { return slice_.get(); }
  // Index of this rank's copy.
  int replica() const { return replica_; }

  CommStats stats() const;  // of all groups together
  void reset_stats();

 private:
  Collectives& world_;
  int replica_ = 0;
  std::unique_ptr<Collectives> shard_, replicate_, slice_;  // shard_: only when it is not the world
};

}  // namespace fx::engine
