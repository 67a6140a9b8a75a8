// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON, YAML, manifest, batch, input and intent: never a crash, and what was read can
// be written and read again to the same text.
#include <cstdlib>

#include "codec/document.h"
#include "codec/manifest.h"
#include "codec/record.h"

using namespace tandem;
using namespace tandem::codec;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_document(const Value& document) {
    const std::string json = render_json(document);
    const auto again = parse_json(json);
    require(again && render_json(*again) == json);
    const auto yaml = parse_yaml(render_yaml(document));
    require(yaml && (yaml->empty() || render_json(yaml->front()).size() + 2 >= json.size() / 2));
    if (const auto object = parse_manifest(document)) {
        const std::string text = render_object(*object);
        const auto back = parse_manifest_text(text);
        require(back && render_object(*back) == text);
    }
    if (const auto actions = parse_batch(document))
        require(parse_batch(*parse_json(render_batch(*actions))).has_value());
}

template <class T>
void check_record(std::string_view text) {
    if (const auto record = decode<T>(text)) {
        const std::string written = encode(*record);
        const auto back = decode<T>(written);
        require(back && encode(*back) == written);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto document = parse_json(text)) check_document(*document);
    if (const auto documents = parse_yaml(text))
        for (const Value& document : *documents) check_document(document);
    check_record<model::Input>(text);
    check_record<model::Intent>(text);
    check_record<model::FeedUpdate>(text);
    return 0;
}
