#include "engine/comm/shared_memory.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/comm/shm/transfers.h"

namespace fx::engine {
namespace {

class QueuedWork : public c10d::Work {
 public:
  QueuedWork(int rank, c10d::OpType type, std::function<void()> run, std::vector<at::Tensor> outputs)
      : Work(rank, type), run_(std::move(run)), outputs_(std::move(outputs)) {}
  // The first error ends the group: everything behind it fails with the same.
  std::exception_ptr execute(const std::exception_ptr& broken) {
    std::exception_ptr error = broken;
    if (!error) {
      try {
        run_();
      } catch (...) {
        error = std::current_exception();
      }
    }
    run_ = {};
    finish(error);
    return error;
  }
  std::vector<at::Tensor> result() override { return outputs_; }

 private:
  std::function<void()> run_;
  std::vector<at::Tensor> outputs_;
};

std::byte* bytes_of(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.is_contiguous(), "a contiguous CPU tensor is needed");
  return static_cast<std::byte*>(tensor.mutable_data_ptr());
}

std::size_t elements(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

shm::Reduction reduction_of(const c10d::ReduceOp& op) {
  switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
    case c10d::ReduceOp::SUM:
      return shm::Reduction::kSum;
    case c10d::ReduceOp::AVG:
      return shm::Reduction::kAverage;
    case c10d::ReduceOp::MIN:
      return shm::Reduction::kMin;
    case c10d::ReduceOp::MAX:
      return shm::Reduction::kMax;
    default:
      TORCH_CHECK(false, "shared memory reduces with SUM, AVG, MIN or MAX");
  }
}

class SharedMemory : public c10d::Backend {
 public:
  SharedMemory(std::unique_ptr<shm::Exchange> exchange, c10::intrusive_ptr<c10d::Store> store)
      : Backend(exchange->rank(), exchange->size()),
        store_(std::move(store)),
        exchange_(std::move(exchange)),
        thread_([this] { serve(); }) {}
  ~SharedMemory() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  const std::string getBackendName() const override { return "shm"; }

  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& out, at::Tensor& in,
                                                 const c10d::AllgatherOptions&) override {
    TORCH_CHECK(out.numel() == in.numel() * getSize() && out.scalar_type() == in.scalar_type(),
                "all-gather: the output must be ", getSize(), " times the input");
    return enqueue(c10d::OpType::_ALLGATHER_BASE, {out},
                   [this, out, in] { shm::all_gather(*exchange_, bytes_of(out), bytes_of(in), in.nbytes()); });
  }
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outs, std::vector<at::Tensor>& ins,
                                           const c10d::AllgatherOptions&) override {
    TORCH_CHECK(ins.size() == 1 && outs.size() == 1, "all-gather: one input tensor and one list of outputs");
    return enqueue(c10d::OpType::ALLGATHER, outs[0], [this, list = outs[0], in = ins[0]] {
      at::Tensor flat = in.new_empty({getSize() * in.numel()});
      shm::all_gather(*exchange_, bytes_of(flat), bytes_of(in.contiguous()), in.nbytes());
      for (std::size_t r = 0; r < list.size(); ++r)
        list[r].copy_(flat.narrow(0, static_cast<std::int64_t>(r) * in.numel(), in.numel()).view(list[r].sizes()));
    });
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& out, at::Tensor& in,
                                                      const c10d::ReduceScatterOptions& options) override {
    TORCH_CHECK(in.numel() == out.numel() * getSize() && out.scalar_type() == in.scalar_type(),
                "reduce-scatter: the input must be ", getSize(), " times the output");
    return enqueue(c10d::OpType::_REDUCE_SCATTER_BASE, {out}, [this, out, in, op = reduction_of(options.reduceOp)] {
      shm::reduce_scatter(*exchange_, bytes_of(out), bytes_of(in), elements(out), out.scalar_type(), op);
    });
  }
  c10::intrusive_ptr<c10d::Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outs,
                                                                 std::vector<at::Tensor>& ins,
                                                                 const c10d::AllgatherOptions&) override {
    TORCH_CHECK(outs.size() == ins.size(), "all-gather: as many outputs as inputs");
    return enqueue(c10d::OpType::COALESCED, outs, [this, outs, ins] {
      for (std::size_t i = 0; i < ins.size(); ++i)
        shm::all_gather(*exchange_, bytes_of(outs[i]), bytes_of(ins[i]), ins[i].nbytes());
    });
  }
  c10::intrusive_ptr<c10d::Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outs,
                                                                 std::vector<at::Tensor>& ins,
                                                                 const c10d::ReduceScatterOptions& options) override {
    TORCH_CHECK(outs.size() == ins.size(), "reduce-scatter: as many outputs as inputs");
    return enqueue(c10d::OpType::COALESCED, outs, [this, outs, ins, op = reduction_of(options.reduceOp)] {
      for (std::size_t i = 0; i < ins.size(); ++i) {
        shm::reduce_scatter(*exchange_, bytes_of(outs[i]), bytes_of(ins[i]), elements(outs[i]), outs[i].scalar_type(),
                            op);
      }
    });
  }
  c10::intrusive_ptr<c10d::Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceCoalescedOptions& options) override {
    return allreduce(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    return enqueue(c10d::OpType::ALLREDUCE, tensors, [this, tensors, op = reduction_of(options.reduceOp)] {
      for (const at::Tensor& tensor : tensors)
        shm::all_reduce(*exchange_, bytes_of(tensor), elements(tensor), tensor.scalar_type(), op);
    });
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return enqueue(c10d::OpType::BROADCAST, tensors, [this, tensors, root = static_cast<int>(options.rootRank)] {
      for (const at::Tensor& tensor : tensors) shm::broadcast(*exchange_, bytes_of(tensor), tensor.nbytes(), root);
    });
  }
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& out, at::Tensor& in, std::vector<std::int64_t>& out_splits,
                                               std::vector<std::int64_t>& in_splits,
                                               const c10d::AllToAllOptions&) override {
    TORCH_CHECK(out_splits.empty() && in_splits.empty() && in.numel() % getSize() == 0 && in.nbytes() == out.nbytes(),
                "all-to-all: equal parts only");
    return enqueue(c10d::OpType::ALLTOALL_BASE, {out}, [this, out, in] {
      shm::all_to_all(*exchange_, bytes_of(out), bytes_of(in), in.nbytes() / static_cast<std::size_t>(getSize()));
    });
  }
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions&) override {
    return enqueue(c10d::OpType::BARRIER, {}, [this] { shm::barrier(*exchange_); });
  }

 private:
  c10::intrusive_ptr<c10d::Work> enqueue(c10d::OpType type, std::vector<at::Tensor> outputs,
                                         std::function<void()> run) {
    auto work = c10::make_intrusive<QueuedWork>(getRank(), type, std::move(run), std::move(outputs));
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(work);
    }
    changed_.notify_all();
    return work;
  }
  void serve() {
    std::exception_ptr broken;
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      broken = work->execute(broken);
    }
  }

  c10::intrusive_ptr<c10d::Store> store_;  // rank 0 hosts it: other ranks may still be reading the meeting's values
  std::unique_ptr<shm::Exchange> exchange_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<QueuedWork>> queue_;
  bool closing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

Result<c10::intrusive_ptr<c10d::Backend>> connect_shared_memory(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                                int size, std::chrono::milliseconds timeout) {
  const shm::KeyValue values{[&](const std::string& key, const std::string& value) { store->set("shm " + key, value); },
                             [&](const std::string& key) { return store->get_to_str("shm " + key); }};
  auto exchange = shm::Exchange::meet(rank, size, timeout, values);
  if (!exchange) return exchange.error();
  return c10::intrusive_ptr<c10d::Backend>(c10::make_intrusive<SharedMemory>(std::move(*exchange), store));
}

}  // namespace fx::engine
