// The kinds of events that rules ask for.
#pragma once

#include <cstdint>

namespace fx::knowledge::code {

enum class EventKind : std::uint8_t {
  kCall,       // any other call: callee tells which
  kEnter,      // a function of the files is entered
  kInitGroup,  // init_process_group
  kDestroyGroup,
  kNewGroup,
  kMesh,       // init_device_mesh, DeviceMesh
  kSetDevice,  // torch.cuda.set_device
  kShard,      // fully_shard, FSDP(...): subject is the module handed in
  kDdp,
  kPrepare,         // accelerator.prepare
  kCompile,         // torch.compile(module), module.compile()
  kCheckpointWrap,  // checkpoint_wrapper, apply_activation_checkpointing, gradient_checkpointing_enable
  kCheckpointCall,  // torch.utils.checkpoint.checkpoint
  kOptimizer,       // an optimizer is built; subject: the model whose parameters it got
  kMove,            // .to, .cuda, .cpu, .half, .float, .bfloat16 ... of something that may be a module
  kToEmpty,
  kInitWeights,    // init_weights, reset_parameters, nn.init.*, post_init
  kForward,        // a model is called
  kForwardMethod,  // another method of a model that is not nn.Module's own
  kBackward,
  kClip,
  kStep,  // of an optimizer, or scaler.step(optimizer)
  kZeroGrad,
  kSchedulerStep,
  kUnscale,
  kScalerUpdate,
  kGradSync,    // set_requires_gradient_sync, require_backward_grad_sync = ...
  kCollective,  // every other call in which all ranks must take part: callee tells which
  kStateDict,   // state_dict() and get_*_state_dict, full_tensor, FSDP.optim_state_dict: subject is the model or
                // optimizer
  kLoadState,   // load_state_dict, set_*_state_dict
  kSave,        // torch.save, save_pretrained, save_file
  kLoad,        // torch.load, load_file
  kDcpSave,
  kDcpAsyncSave,
  kDcpLoad,
  kAwait,  // future.result() or wait()
  kSeed,   // manual_seed, set_seed ...
  kSetEpoch,
  kTrainMode,     // .train() or .eval()
  kGenerate,      // .generate
  kSetItem,       // x[key] = value: receiver, argument 0 the key, argument 1 the value
  kSetAttribute,  // x.name = value: receiver, callee the name, argument 0 the value
  kOperator,      // arithmetic on parameters or gradients: argument 0 and 1
  kJump,          // break, continue, return, raise, exit: callee tells which
  kLoop,          // a loop begins; the last one: a trace keeps 64 bits for them
};

}  // namespace fx::knowledge::code
