#include "knowledge/plan/engine_memory.h"

#include <gtest/gtest.h>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

// Our own engine, SmolLM2-135M, two ranks on one host.
Plan engine_plan(const std::string& seq_len, const std::string& more) {
  return plan_of(kSmol, R"({"gpu":"CPU","cpu_cores":2,"host_memory_gib":24,"gpus_per_node":2})",
                 (R"({"method":"full","micro_batch":1,"param_dtype":"bf16","reduce_dtype":"fp32","seq_len":)" +
                  seq_len + R"(,"activation_checkpointing":)" + more + "}")
                     .c_str());
}

TEST(EngineMemory, OurOwnEngineNeedsWhatItWasMeasuredToNeed) {
  // Resident bytes of the larger rank.
  const auto expect = [](double bytes, const char* seq_len, const char* more) {
    EXPECT_NEAR(engine_plan(seq_len, more).chosen.memory.allocated / bytes, 1, 0.07) << seq_len << more;
  };
  expect(1.43e9, "512", R"("none","sharding":"fsdp2")");
  expect(1.67e9, "1024", R"("none","sharding":"fsdp2")");
  expect(1.46e9, "1024", R"("selective-layer","sharding":"fsdp2")");
  expect(1.36e9, "1024", R"("full","sharding":"fsdp2")");
  expect(2.46e9, "512", R"("none","sharding":"hsdp","shard_size":1)");
  expect(1.63e9, "512", R"("none","sharding":"fsdp2","reshard_after_forward":false)");
  expect(1.70e9, "512", R"("none","sharding":"fsdp2","grad_accum":2)");
}

TEST(EngineMemory, AdaptersNeedLittleMemoryOnTheEngine) {
  const auto memory = [](const char* training) {
    return plan_of(kSmol, R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2})", training).chosen.memory.allocated;
  };
  const double full = memory(R"({"method":"full","seq_len":512,"micro_batch":1})");
  const double lora = memory(R"({"method":"lora","lora_rank":8,"seq_len":512,"micro_batch":1})");
  // Of 135 million parameters on two ranks 14 bytes each are not needed; activations and the program are.
  EXPECT_LT(lora, 0.6 * full);
}

}  // namespace
}  // namespace fx::knowledge::plan
