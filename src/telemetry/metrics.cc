// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics.h"

#include <mutex>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/assert.h"

namespace tandem::telemetry {

namespace {

constexpr std::size_t label_sets_max = 1000;

template <class Metric>
struct Known {
    prometheus::Family<Metric>* family = nullptr;
    std::string help;
    std::map<Labels, Metric*> metrics;
};

}  // namespace

struct Metrics::State {
    std::mutex mutex;
    prometheus::Registry registry;
    std::map<std::string, char> kinds;
    std::map<std::string, Known<prometheus::Counter>> counters;
    std::map<std::string, Known<prometheus::Gauge>> gauges;
    std::map<std::string, Known<prometheus::Histogram>> histograms;
    std::map<std::string, std::vector<double>> buckets;

    template <class Metric, class Builder, class... Arguments>
    Metric* find_or_make(char kind, std::map<std::string, Known<Metric>>& known, Builder builder,
                         const std::string& name, const std::string& help, Labels labels,
                         const Arguments&... arguments) {
        std::scoped_lock lock(mutex);
        auto [entry, fresh] = kinds.emplace(name, kind);
        TANDEM_ASSERT(entry->second == kind, "a metric name has one kind: " + name);
        Known<Metric>& of = known[name];
        if (fresh) {
            of.family = &builder.Name(name).Help(help).Register(registry);
            of.help = help;
        }
        TANDEM_ASSERT(of.help == help, "a metric name has one help text: " + name);
        auto found = of.metrics.find(labels);
        if (found == of.metrics.end() && of.metrics.size() >= label_sets_max) {
            for (auto& [label, value] : labels) value = "other";
            found = of.metrics.find(labels);
        }
        if (found == of.metrics.end())
            found = of.metrics.emplace(labels, &of.family->Add(labels, arguments...)).first;
        return found->second;
    }
};

void Counter::add(std::int64_t by) {
    TANDEM_ASSERT(by >= 0, "a counter only grows");
    if (metric_) static_cast<prometheus::Counter*>(metric_)->Increment(static_cast<double>(by));
}
double Counter::value() const {
    return metric_ ? static_cast<prometheus::Counter*>(metric_)->Value() : 0;
}

void Gauge::set(double value) {
    if (metric_) static_cast<prometheus::Gauge*>(metric_)->Set(value);
}
void Gauge::add(double by) {
    if (metric_) static_cast<prometheus::Gauge*>(metric_)->Increment(by);
}
double Gauge::value() const {
    return metric_ ? static_cast<prometheus::Gauge*>(metric_)->Value() : 0;
}

void Histogram::observe(double value) {
    if (metric_) static_cast<prometheus::Histogram*>(metric_)->Observe(value);
}

Metrics::Metrics() : state_(std::make_shared<State>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
    Counter handle;
    handle.metric_ =
        state_->find_or_make('c', state_->counters, prometheus::BuildCounter(), name, help, labels);
    handle.owner_ = state_;
    return handle;
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
    Gauge handle;
    handle.metric_ =
        state_->find_or_make('g', state_->gauges, prometheus::BuildGauge(), name, help, labels);
    handle.owner_ = state_;
    return handle;
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& buckets, const Labels& labels) {
    {
        std::scoped_lock lock(state_->mutex);
        const auto& first = state_->buckets.emplace(name, buckets).first->second;
        TANDEM_ASSERT(first == buckets, "a histogram has one set of buckets: " + name);
    }
    Histogram handle;
    handle.metric_ = state_->find_or_make('h', state_->histograms, prometheus::BuildHistogram(),
                                          name, help, labels, buckets);
    handle.owner_ = state_;
    return handle;
}

std::string Metrics::render_prometheus_text() const {
    return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

const std::vector<double>& latency_buckets() {
    static const std::vector<double> buckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                             0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
    return buckets;
}

}  // namespace tandem::telemetry
