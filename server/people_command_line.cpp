#include "server/people_command_line.h"

#include <CLI/CLI.hpp>

#include "server/commands/runs.h"

namespace fx::server {
namespace {

void add_json_flag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print the whole answer as JSON");
}

void add_check_commands(CLI::App& app, PeopleOptions& o, Chosen& chosen) {
  auto* validate = app.add_subcommand("validate", "Check config files and launch commands, like a linter");
  validate->add_option("file", o.validate.files, "Files; - is standard input")->required();
  validate->add_option("--format", o.validate.format, "text, json or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  validate->add_option("--gpus", o.validate.gpus, "GPUs the run will have")->check(CLI::PositiveNumber);
  auto* fix = validate->add_flag("--fix", o.validate.fix,
                                 "Write the mechanical fixes into the files, then report what is left");
  validate->add_flag("--diff", o.validate.diff, "Print what --fix would change, write nothing")->excludes(fix);
  validate->callback([&] { chosen = [&](Session& session) { return validate_command(session, o.validate); }; });
  auto* review = app.add_subcommand("review-code", "Review distributed training code, like a linter; never runs it");
  review->add_option("file", o.review_code.files, "Python files of one program")->required();
  review->add_option("--format", o.review_code.format, "text, json or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  review->add_option("--config", o.review_code.config, "Configuration it is launched with");
  review->add_option("--world", o.review_code.world, "Nodes and GPUs of a node, such as 2x8");
  review->add_option("--torch", o.review_code.torch, "Version of torch it runs on, such as 2.8");
  review->callback([&] { chosen = [&](Session& session) { return review_code_command(session, o.review_code); }; });
  auto* diagnose = app.add_subcommand("diagnose", "Find the root cause of a failed run in its logs");
  diagnose->add_option("log", o.diagnose.logs, "Log files, one a rank or one for all; - is standard input")->required();
  add_json_flag(*diagnose, o.diagnose.json);
  diagnose->callback([&] { chosen = [&](Session&) { return diagnose_command(o.diagnose); }; });
}

void add_convert_command(CLI::App& app, PeopleOptions& o, Chosen& chosen) {
  auto* convert = app.add_subcommand("convert", "Translate a training configuration into another format");
  convert->add_option("file", o.convert.file, "The configuration; - is standard input")->required();
  convert
      ->add_option("--to", o.convert.to, "accelerate, axolotl, torchtitan, trainer, trainer-cli, fsdp-config, run-spec")
      ->required();
  convert->add_option("--out", o.convert.out, "Write the text to this file instead of standard output");
  convert->add_option("--fsdp-version", o.convert.fsdp_version, "1 or 2")->check(CLI::Range(1, 2));
  convert->add_option("--gpus", o.convert.gpus, "GPUs a machine")->check(CLI::PositiveNumber);
  convert->add_option("--nodes", o.convert.nodes, "Machines")->check(CLI::PositiveNumber);
  add_json_flag(*convert, o.convert.json);
  convert->callback([&] { chosen = [&](Session& session) { return convert_command(session, o.convert); }; });
}

void add_plan_command(CLI::App& app, PeopleOptions& o, Chosen& chosen) {
  auto* plan = app.add_subcommand("plan", "Predict memory, speed and settings of a fine-tune");
  plan->add_option("model", o.plan.model, "The model's config.json or its folder");
  for (const PlanFlag& flag : plan_flags()) {
    std::string& text = o.plan.flags[flag.field];
    if (flag.kind == PlanFlag::Kind::kSwitch) {
      plan->add_flag_callback(
          flag.flag, [&text] { text = "yes"; }, flag.help);
    } else {
      plan->add_option(flag.flag, text, flag.help);
    }
  }
  plan->add_flag("--questions", o.plan.questions, "Also answer the usual questions: best batch, longest sequence, ...");
  plan->add_option("--write", o.plan.write,
                   "Folder to write ready files to: accelerate, torchtitan, torchrun, sbatch, run spec");
  add_json_flag(*plan, o.plan.json);
  plan->callback([&] { chosen = [&](Session& session) { return plan_command(session, o.plan); }; });
}

void add_knowledge_commands(CLI::App& app, PeopleOptions& o, Chosen& chosen) {
  auto* search = app.add_subcommand("search", "Search the knowledge base");
  search->add_option("words", o.search.words, "Question, error message or flag")->required();
  search->add_option("--limit", o.search.limit, "How many facts")->check(CLI::Range(1, 50))->capture_default_str();
  add_json_flag(*search, o.search.json);
  search->callback([&] { chosen = [&](Session& session) { return search_command(session, o.search); }; });
  auto* explain = app.add_subcommand("explain", "Show the page of a rule, a cause or a fact");
  explain->add_option("id", o.id, "Its id, as other commands print it")->required();
  add_json_flag(*explain, o.json);
  explain->callback([&] { chosen = [&](Session& session) { return explain_command(session, o.id, o.json); }; });
}

void add_run_commands(CLI::App& app, PeopleOptions& o, Chosen& chosen) {
  auto* runs = app.add_subcommand("runs", "List training runs, newest first");
  runs->add_option("--limit", o.limit, "How many")->check(CLI::Range(1, 1000))->capture_default_str();
  add_json_flag(*runs, o.json);
  runs->callback([&] { chosen = [&](Session& session) { return runs_command(session, o.limit, o.json); }; });
  auto* launch = app.add_subcommand("launch", "Start a training run; it lives on after this command");
  launch->add_option("spec", o.spec, "File with the run spec; - is standard input")->required();
  launch->add_option("--key", o.key, "Idempotency key: the same key never starts a second run");
  launch->callback([&] { chosen = [&](Session& session) { return launch_command(session, o.spec, o.key); }; });
  auto* review = app.add_subcommand("review", "Judge a run: curves, memory, speed, cause of failure");
  review->add_option("run", o.id, "Run id, or the path of a run folder")->required();
  add_json_flag(*review, o.json);
  review->callback([&] { chosen = [&](Session& session) { return review_command(session, o.id, o.json); }; });
  auto* stop = app.add_subcommand("stop", "Ask a run to save a checkpoint and end");
  stop->add_option("run", o.id, "Run id")->required();
  stop->callback([&] { chosen = [&](Session& session) { return stop_command(session, o.id); }; });
}

}  // namespace

void add_people_commands(CLI::App& app, PeopleOptions& options, Chosen& chosen) {
  add_check_commands(app, options, chosen);
  add_convert_command(app, options, chosen);
  add_plan_command(app, options, chosen);
  add_knowledge_commands(app, options, chosen);
  add_run_commands(app, options, chosen);
}

}  // namespace fx::server
