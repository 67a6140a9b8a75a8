// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms in a registry that renders Prometheus text format 0.0.4.
// A part makes its metrics once and keeps the returned handles; handles are cheap copies, share the
// registry's life, and count with one atomic operation. The same name and labels give the same
// metric again.
//
// Names match [a-zA-Z_:][a-zA-Z0-9_:]*, label names [a-zA-Z_][a-zA-Z0-9_]*; one name has one kind,
// one help text and one set of buckets (asserted: names are constants of the program). Labels must
// have few values: a name holds at most 1,000 label sets; further ones share one metric whose
// labels are all "other". Thread rule: all functions from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::telemetry {

using Labels = std::map<std::string, std::string>;

class Counter {
  public:
    Counter() = default;            // counts into nothing
    void add(std::int64_t by = 1);  // by >= 0
    double value() const;

  private:
    friend class Metrics;
    std::shared_ptr<void> owner_;
    void* metric_ = nullptr;
};

class Gauge {
  public:
    Gauge() = default;
    void set(double value);
    void add(double by);
    double value() const;

  private:
    friend class Metrics;
    std::shared_ptr<void> owner_;
    void* metric_ = nullptr;
};

class Histogram {
  public:
    Histogram() = default;
    void observe(double value);

  private:
    friend class Metrics;
    std::shared_ptr<void> owner_;
    void* metric_ = nullptr;
};

class Metrics {
  public:
    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
    Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
    // `buckets`: upper bounds, increasing, without +Inf.
    Histogram histogram(const std::string& name, const std::string& help,
                        const std::vector<double>& buckets, const Labels& labels = {});

    std::string render_prometheus_text() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

// Seconds, 0.5 ms to 60 s: for durations of requests.
const std::vector<double>& latency_buckets();

}  // namespace tandem::telemetry
