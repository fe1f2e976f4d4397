// Whether what feeds a loader is one rank's share of the data.
#pragma once

#include "knowledge/code/program.h"

namespace fx::knowledge {

bool is_sharding_sampler(const code::Object& object);  // DistributedSampler and its relatives
bool is_loader(const code::Object* object);            // a DataLoader whose arguments are seen
const code::Object* dataset_of(const code::Object& loader);
bool depends_on_rank(const code::Object* value);
// The class, one of its bases, or a function of the files that it calls says something about ranks or shares.
bool mentions_ranks(const code::Program& program, const code::Class& of);
// What a data set or sampler was given may hold this rank's share already.
bool may_be_split(const code::Object& made);

}  // namespace fx::knowledge
