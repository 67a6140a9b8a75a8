// SPDX-License-Identifier: Apache-2.0
// Affinity: nodes by their labels, work by its own. PURE. As in Kubernetes, NotIn and DoesNotExist
// hold for a node without the label; Gt and Lt want a label that is a whole number. Inside of sched
// only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/placing.h"

namespace tandem::sched {

bool matches(std::span<const model::NodeExpression> all, const model::Labels& node);
// Sum of the weights of preferences that a node meets.
std::int64_t worth_of(const model::NodeAffinity& affinity, const model::Labels& node);
// It has all the labels that are selected.
bool selects(const model::Labels& selector, const model::Labels& work);

// Everything that an affinity says, for names of rules.
std::string text_of(const model::NodeAffinity& affinity);
// "disk In ssd,nvme; gen Gt 3": for people.
std::string shown(std::span<const model::NodeExpression> all);
std::string shown(const model::Labels& labels);

}  // namespace tandem::sched
