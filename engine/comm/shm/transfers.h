// The collectives as flows of blocks over an Exchange. Buffers are contiguous bytes; counts are elements. Errors throw,
// see Exchange.
#pragma once

#include <cstddef>

#include "engine/comm/shm/exchange.h"
#include "engine/comm/shm/reduction.h"

namespace fx::engine::shm {

// out [size * bytes]: rank r's in at r * bytes; in may be this rank's place in out.
void all_gather(Exchange& exchange, std::byte* out, const std::byte* in, std::size_t bytes);
// out [count] = reduction over ranks of in [size * count] at rank * count.
void reduce_scatter(Exchange& exchange, std::byte* out, const std::byte* in, std::size_t count, c10::ScalarType dtype,
                    Reduction reduction);
void all_reduce(Exchange& exchange, std::byte* inout, std::size_t count, c10::ScalarType dtype, Reduction reduction);
void broadcast(Exchange& exchange, std::byte* data, std::size_t bytes, int root);
// out [size * bytes]: part s is rank s's part for this rank.
void all_to_all(Exchange& exchange, std::byte* out, const std::byte* in, std::size_t bytes);
void barrier(Exchange& exchange);

}  // namespace fx::engine::shm
