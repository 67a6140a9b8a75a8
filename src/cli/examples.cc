// SPDX-License-Identifier: Apache-2.0
#include "cli/examples.h"

namespace tandem::cli {
namespace {

struct Example {
    std::string_view verb;
    std::string_view line;
};

constexpr Example examples[] = {
    {"apply", "tandem apply -f train.yaml --dry-run"},
    {"apply", "tandem apply -f manifests/ -f extra.yaml"},
    {"get", "tandem get jobs -l team=vision --field-selector status.phase=running"},
    {"get", "tandem get job/train -o yaml"},
    {"describe", "tandem describe job/train"},
    {"delete", "tandem delete job train"},
    {"delete", "tandem delete -f train.yaml"},
    {"watch", "tandem watch jobs -A"},
    {"wait", "tandem wait job/train --timeout 30m"},
    {"wait", "tandem wait job/train --for phase=running,succeeded"},
    {"wait", "tandem wait service/chat --for condition=Ready --timeout 2m"},
    {"logs", "tandem logs job/train -f"},
    {"logs", "tandem logs job/train --role worker --rank 3 --epoch 1"},
    {"why", "tandem why job/train"},
    {"what-if", "tandem what-if"},
    {"what-if", "tandem what-if -f change.yaml --horizon 48h"},
    {"events", "tandem events job/train"},
    {"job cancel", "tandem job cancel train"},
    {"job retry", "tandem job retry train"},
    {"job cancel", "tandem job cancel 'sweep[3]'"},
    {"job force", "tandem job force train"},
    {"job priority", "tandem job priority train --set 100"},
    {"job preview", "tandem job preview train --priority 100"},
    {"queue", "tandem queue order vision"},
    {"limits", "tandem limits"},
    {"run", "tandem run -- nvidia-smi"},
    {"run", "tandem run --devices 2 --env EPOCHS=3 -- python3 train.py"},
    {"model push", "tandem model push chat chat-q4.gguf"},
    {"model push", "tandem model push chat --job train --output weights"},
    {"model list", "tandem model list"},
    {"model versions", "tandem model versions chat"},
    {"service list", "tandem service list -A"},
    {"service show", "tandem service show chat"},
    {"queue", "tandem queue"},
    {"node", "tandem node NAME -o yaml"},
    {"pool", "tandem pool"},
    {"usage report", "tandem usage report --from 24h"},
    {"usage explain", "tandem usage explain job/train"},
    {"key create", "tandem key create laptop"},
    {"key create", "tandem key create app --inference-only --services chat --expires 720h"},
    {"key list", "tandem key list"},
    {"key revoke", "tandem key revoke laptop"},
    {"whoami", "tandem whoami"},
    {"audit", "tandem audit --limit 20 -o json"},
    {"version", "tandem version"},
    {"context set", "tandem context set work --server https://tandem.example:7443 --key-file -"},
    {"context use", "tandem context use work"},
    {"context remove", "tandem context remove work"},
    {"context list", "tandem context list"},
};

}  // namespace

std::string examples_of(std::string_view verb) {
    std::string text;
    for (const Example& example : examples) {
        if (example.verb != verb) continue;
        text += text.empty() ? "Examples:" : "";
        text += "\n  ";
        text += example.line;
    }
    return text;
}

}  // namespace tandem::cli
