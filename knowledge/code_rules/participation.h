// Which events every rank must take part in, and who takes part in one.
#pragma once

#include "knowledge/code/program.h"

namespace fx::knowledge {

// Sharded so that a forward or backward communicates: FSDP1, FSDP2, accelerate; DDP if with_ddp.
bool is_sharded(const code::Trace& trace, const code::Object* model, bool with_ddp = false);
// A collective, a gather of state, a forward, generation or clip of a sharded model. Backward counts if any model is
// sharded.
bool is_joint(const code::Trace& trace, const code::Event& event);
// A call restricted to a group is for the members of the group.
bool for_its_own_group(const code::Event& event);
// A gather of sharded state: every rank must call it, whoever keeps the result.
bool gathers_state(const code::Program& program, const code::Trace& trace, const code::Event& event);
// The condition is about the rank itself, not about something that was made with it.
bool is_rank_test(const code::Guard& guard);
// It holds for no rank where the model is sharded: `not main and not fsdp`.
bool spares_sharded_runs(const code::Guard& guard);
// The innermost condition on the rank that is written around the event; with_implied: also one that an earlier jump
// implies.
const code::Guard* rank_condition(const code::Event& event, bool with_implied);
// The other branch of the condition makes the same call, or a second condition lets the other ranks make theirs.
bool other_branch_matches(const code::Trace& trace, const code::Event& event, const code::Guard& guard);
// A condition may well be about the rank although its value was not seen: its words say so.
bool may_be_for_one_rank(const code::Event& event);
// The event, or the call below the condition that leads to it.
std::pair<const code::SourceFile*, code::Node> below(const code::Event& event, const code::Guard& guard);
bool within(code::Node inner, code::Node outer);
// The event stands inside of the node, or some call on the way to it does.
bool reached_from(const code::Event& event, const code::SourceFile* file, code::Node node);

}  // namespace fx::knowledge
