// SPDX-License-Identifier: Apache-2.0
// Cost of one job on its way in and out: as manifest, as shown object, as logged input.
#include <benchmark/benchmark.h>

#include "codec/document.h"
#include "codec/manifest.h"
#include "codec/record.h"

namespace tandem::codec {
namespace {

constexpr std::string_view job_text =
    R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":"train-000001","project":"default",)"
    R"("namespace":"default","labels":{"team":"nlp"}},"spec":{"queue":"default","priority":10,)"
    R"("command":["python3","train.py","--steps=80"],"env":{"A":"1","B":"2"},"roles":[{"name":"worker",)"
    R"("replicas":2,"resources":{"devices":"1","flavor":"cpu-slice","cpu":"1","memory":"1Gi"}}],)"
    R"("checkpoint":{"enabled":true},"retries":{"limit":2},"maxRunTime":"10m"}})";

model::Object sample() { return *parse_manifest_text(job_text); }

void parse_json_text(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(parse_json(job_text));
}
BENCHMARK(parse_json_text);

void parse_manifest_job(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(parse_manifest(*parse_json(job_text)));
}
BENCHMARK(parse_manifest_job);

void check_job(benchmark::State& state) {
    const model::Object object = sample();
    for (auto _ : state) benchmark::DoNotOptimize(model::check_object(object));
}
BENCHMARK(check_job);

void render_job(benchmark::State& state) {
    const model::Object object = sample();
    for (auto _ : state) benchmark::DoNotOptimize(render_object(object));
}
BENCHMARK(render_job);

void parse_stored_job(benchmark::State& state) {
    const std::string text = render_object(sample());
    for (auto _ : state) benchmark::DoNotOptimize(parse_stored_object(text, {}, RowId{1}));
}
BENCHMARK(parse_stored_job);

void encode_command(benchmark::State& state) {
    const model::Input input = model::Command{.actions = {model::ApplyObject{.object = sample()}}};
    for (auto _ : state) benchmark::DoNotOptimize(encode_input(input));
}
BENCHMARK(encode_command);

}  // namespace
}  // namespace tandem::codec
