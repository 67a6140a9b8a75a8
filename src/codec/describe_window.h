// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of reservations and maintenance.
#pragma once

#include "codec/describe.h"
#include "codec/describe_capacity.h"
#include "codec/describe_meta.h"
#include "model/limits.h"
#include "model/reservation.h"

namespace tandem::codec {

void describe(auto& v, Of<model::Recurrence> auto& s) {
    v.named("Recurrence");
    v.field("every", s.every, {.note = "from one start to the next", .required = true});
    v.field("count", s.count,
            {.note = "so many windows", .min = 1, .max = model::limits::windows_max});
    v.field("until", s.until, {.note = "windows that begin before; this or count"});
}

void describe(auto& v, Of<model::ReservationSpec> auto& s) {
    v.named("ReservationSpec");
    v.field("title", s.title);
    v.field("queue", s.queue,
            {.note = "charged for the devices while a window is open", .required = true});
    v.field("flavor", s.flavor, {.note = "of which devices", .required = true});
    v.field("devices", s.devices,
            {.note = "whole devices; with replicas: of one node each",
             .min = 1,
             .max = model::limits::pool_devices_max,
             .required = true});
    v.field("replicas", s.replicas,
            {.note = "so many times devices of one node; 0: devices wherever they are",
             .min = 0,
             .max = model::limits::replicas_max});
    v.field("start", s.start, {.note = "of the first window", .required = true});
    v.field("duration", s.duration, {.note = "of a window", .required = true});
    v.field("repeat", s.repeat, {.note = "absent: once"});
    v.field("projects", s.projects, {.note = "whose jobs may use it; empty: all"});
    v.field("users", s.users, {.note = "subjects whose jobs may use it; empty: all"});
}

void describe(auto& v, Of<model::ReservationStatus> auto& s) {
    v.named("ReservationStatus");
    v.field("phase", s.phase);
    v.field("reason", s.reason);
    v.field("window", s.window, {.note = "number of the window at hand, from 1 on"});
    v.field("start", s.start, {.note = "of it"});
    v.field("end", s.end);
    v.field("held", s.held, {.note = "its devices"});
}

void describe(auto& v, Of<model::MaintenanceSpec> auto& s) {
    v.named("MaintenanceSpec");
    v.field("nodes", s.nodes);
    v.field("nodeSelector", s.node_selector,
            {.note = "and all nodes with these labels, as they are when it is made"});
    v.field("start", s.start, {.required = true});
    v.field("duration", s.duration, {.required = true});
    v.field("reason", s.reason, {.note = "for people"});
}

void describe(auto& v, Of<model::MaintenanceStatus> auto& s) {
    v.named("MaintenanceStatus");
    v.field("phase", s.phase);
    v.field("nodes", s.nodes, {.note = "that are to be empty"});
    v.field("staying", s.staying, {.note = "work on them that is never asked to leave"});
}

}  // namespace tandem::codec
