// What is sharded when, and how: shared by the rules about building a model.
#pragma once

#include <unordered_map>

#include "knowledge/code/program.h"

namespace fx::knowledge {

using ShardedClasses = std::unordered_map<const code::Class*, code::Sharding>;

bool is_fsdp1(const code::Event& shard);
bool is_fsdp2(const code::Event& shard);
// Every module the call shards: the items of a list, else the subject.
std::vector<const code::Object*> shard_units(const code::Event& shard);
// An argument that is absent, None or False for certain.
bool is_absent(const code::Event& event, std::string_view name, int position = -1);
// The part is inside the whole and not the whole.
bool strictly_inside(const code::Object* part, const code::Object* whole);
// The first sharding call on the model (or a part of it) from this event on; nullptr: none.
const code::Event* next_shard(const code::Trace& trace, const code::Object* model, std::uint32_t from);
// The sharding calls of the request that a model handed in as a parameter went through, told by its name: none unless
// every model the request shards is a parameter of this name.
std::vector<const code::Event*> shards_by_name(const code::Program& program, const code::Object* model);
// How modules of a class of the files are sharded somewhere: by FSDP2 on the whole, or inside an FSDP1 wrapper.
ShardedClasses sharded_classes(const code::Program& program);
// The element of parameters() a value is or comes from; nullptr: none. Conversions to plain tensors end the chain.
const code::Object* parameter_behind(const code::Object* value);
// The model whose parameter it is.
const code::Object* model_of_parameter(const code::Object* parameter);
bool has_visible_blocks(const code::Object* model);  // a ModuleList or a list of layers
bool is_pretrained(const code::Object* model);
bool is_leaf_layer(const code::Object& part);  // of torch.nn, with parameters of its own

}  // namespace fx::knowledge
