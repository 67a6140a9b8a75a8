// SPDX-License-Identifier: Apache-2.0
// Requests through a whole gateway: answers, streams, errors, keys, routes.
#include "gateway/test_world.h"

namespace tandem::gateway {
namespace {

const std::string answer =
    R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,)"
    R"("prompt_tokens_details":{"cached_tokens":3}},"timings":{"x":1.50}})";

std::string piece(const std::string& text) {
    return "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text +
           "\"}}]}\n\n";
}
const std::string role =
    "data: "
    "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]"
    "}\n\n";
const std::string usage_event =
    "data: "
    "{\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n";
const std::string done = "data: [DONE]\n\n";

void stream_of(http::Responder& responder, const std::string& text) {
    auto stream = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
    stream.write(text);
    stream.close();
}
void answers(http::Request, http::Responder responder) {
    responder.respond(200, answer);
}

bool has(const http::Response& response, std::string_view text) {
    return response.body.find(text) != std::string::npos;
}

TEST_F(GatewayTest, whole_answer_passes_byte_for_byte_and_is_metered) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()})});
    start();
    auto what = call(R"({"model":"tiny","messages":[]})");
    what.headers.add("X-Request-Id", "mine-1");
    const auto response = send(what);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, answer);
    EXPECT_EQ(response.headers.get_or("x-request-id"), "mine-1");
    const auto seen = engine.request(0);
    EXPECT_EQ(seen.path, "/v1/chat/completions");
    EXPECT_EQ(seen.body, what.body);
    EXPECT_EQ(seen.headers.get_or("authorization"), "Bearer replica-secret");
    const auto row = rows(1).at(0);
    EXPECT_EQ(row.request_id, "mine-1");
    EXPECT_EQ(row.key_id, key_.key_id);
    EXPECT_EQ(row.service, "tiny");
    EXPECT_EQ(row.model_version, "m.v1");
    EXPECT_EQ(row.replica, "tiny-100");
    EXPECT_EQ(row.prompt_tokens, 5);
    EXPECT_EQ(row.cached_tokens, 3);
    EXPECT_EQ(row.completion_tokens, 2);
    EXPECT_EQ(row.status, 200);
    EXPECT_FALSE(row.estimated || row.aborted || row.streamed);
}

TEST_F(GatewayTest, stream_is_asked_for_usage_and_the_caller_does_not_see_it) {
    ScriptedEngine engine([](http::Request, http::Responder responder) {
        stream_of(responder, role + piece("a") + piece("b") + usage_event + done);
    });
    publish({service("tiny", {engine.endpoint()})});
    start();
    const auto response = send(call(R"({"model":"tiny","stream":true})"));
    EXPECT_EQ(response.headers.get_or("content-type"), "text/event-stream");
    EXPECT_EQ(response.body, role + piece("a") + piece("b") + done);
    EXPECT_EQ(engine.request(0).body,
              R"({"stream_options":{"include_usage":true},"model":"tiny","stream":true})");
    const auto wanted =
        send(call(R"({"model":"tiny","stream":true,"stream_options":{"include_usage":true}})"));
    EXPECT_EQ(wanted.body, role + piece("a") + piece("b") + usage_event + done);
    const auto all = rows(2);
    EXPECT_EQ(all.at(0).completion_tokens, 2);
    EXPECT_EQ(all.at(0).prompt_tokens, 5);
    EXPECT_TRUE(all.at(0).streamed);
    EXPECT_FALSE(all.at(0).estimated);
}

TEST_F(GatewayTest, refusals_have_the_shape_that_clients_expect) {
    ScriptedEngine engine(answers);
    auto other = service("hidden", {engine.endpoint()}, 4, "secret-project");
    publish({service("tiny", {engine.endpoint()}), other});
    start();
    const auto body = R"({"model":"tiny"})";
    const auto expect = [&](http::Call what, int status, std::string_view code) {
        const auto response = send(what);
        EXPECT_EQ(response.status, status) << response.body;
        EXPECT_TRUE(has(response, "\"code\":\"" + std::string(code) + "\"")) << response.body;
        EXPECT_TRUE(has(response, "{\"error\":{\"message\":\"") && has(response, "\"type\":\"") &&
                    has(response, "\"param\":"));
        EXPECT_NE(response.headers.get_or("x-request-id"), "");
        return response;
    };
    auto keyless = call(body);
    keyless.headers = {};
    expect(keyless, 401, "invalid_api_key");
    auto stranger = call(body);
    stranger.headers.set("Authorization",
                         "Bearer " + std::string(crypto::make_api_key().text.reveal()));
    expect(stranger, 401, "invalid_api_key");
    stranger.headers.set("Authorization", "Bearer sk-other");
    EXPECT_FALSE(has(expect(stranger, 401, "invalid_api_key"), "sk-other"));
    expect(call(R"({"model":"nothing"})"), 404, "model_not_found");
    expect(call(R"({"model":"hidden"})"), 404, "model_not_found");
    EXPECT_TRUE(has(expect(call(R"({"model":5})"), 400, "invalid_value"), "\"param\":\"model\""));
    EXPECT_TRUE(
        has(expect(call(R"({"model":"tiny","n":9})"), 400, "invalid_value"), "\"param\":\"n\""));
    expect(call(R"({"model":"tiny")"), 400, "invalid_value");
    expect(call(body, "/v1/images"), 404, "not_found");
    auto wrong_method = call(body);
    wrong_method.method = "PUT";
    expect(wrong_method, 405, "method_not_allowed");
    auto packed = call(body);
    packed.headers.add("Content-Encoding", "gzip");
    expect(packed, 415, "unsupported_media_type");
    expect(call(std::string(5 << 20, ' ')), 413, "request_too_large");
    EXPECT_EQ(engine.calls(), 0u);
}

TEST_F(GatewayTest, call_of_a_service_whose_starts_fail_is_refused_at_once_with_the_reason) {
    auto broken = service("broken", {});
    publish({broken});
    start();
    auto sleeper = std::thread([&] {  // held: asleep or starting by plan
        EXPECT_TRUE(eventually([&] { return played_.most_waiting() > 0; }));
        broken.trouble = {
            .code = model::ReasonCode::replica_ended,
            .params = {{"replica", "broken-server-0"}, {"code", "1"}, {"ran", "1s200ms"}}};
        publish({broken});
    });
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto response = send(call(R"({"model":"broken"})"));
        EXPECT_EQ(response.status, 503) << response.body;
        EXPECT_TRUE(has(response, "\"code\":\"model_unavailable\"")) << response.body;
        EXPECT_TRUE(has(response, "broken-server-0 ended with exit code 1 after 1s200ms"))
            << response.body;
        EXPECT_EQ(response.headers.get_or("retry-after"), "5");
    }
    sleeper.join();
}

TEST_F(GatewayTest, embeddings_and_rerank_pass_and_cost_their_input) {
    const std::string embedding =
        R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1250,-1e-05]}],)"
        R"("usage":{"prompt_tokens":11,"total_tokens":11}})";
    ScriptedEngine engine(
        [&](http::Request, http::Responder responder) { responder.respond(200, embedding); });
    publish({service("bge", {engine.endpoint()})});
    start();
    const std::string body =
        R"({"model":"bge","input":["a","b"],"encoding_format":"base64","new_field":1.50})";
    for (const std::string path : {"/v1/embeddings", "/v1/rerank"}) {
        const auto response = send(call(body, path));
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.body, embedding);
        EXPECT_EQ(engine.request(engine.calls() - 1).path, path);
        EXPECT_EQ(engine.request(engine.calls() - 1).body, body);
    }
    for (const auto& row : rows(2)) {
        EXPECT_EQ(row.prompt_tokens, 11);
        EXPECT_EQ(row.completion_tokens, 0);
        EXPECT_FALSE(row.estimated || row.prompt_estimated);
    }
}

TEST_F(GatewayTest, messages_pass_in_anthropics_form_and_are_metered) {
    const std::string begin =
        "event: message_start\ndata: "
        "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],"
        "\"usage\":{\"cache_read_input_tokens\":38,\"input_tokens\":1,\"output_tokens\":0}}}\n\n";
    const auto delta = [](const std::string& text) {
        return "event: content_block_delta\ndata: "
               "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
               "{\"type\":\"text_delta\",\"text\":\"" +
               text + "\"}}\n\n";
    };
    const std::string end =
        "event: message_delta\ndata: "
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
        "\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: "
        "{\"type\":\"message_stop\"}\n\n";
    const std::string whole =
        R"({"type":"message","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":5,"output_tokens":2}})";
    ScriptedEngine engine([&](http::Request request, http::Responder responder) {
        if (request.path.ends_with("count_tokens"))
            return responder.respond(200, R"({"input_tokens":39})");
        if (request.body.find("stream") == std::string::npos) return responder.respond(200, whole);
        const bool broken = request.body.find("broken") != std::string::npos;
        stream_of(responder, begin + delta("a") + delta("b") + (broken ? "" : end));
    });
    publish({service("tiny", {engine.endpoint()})});
    start();
    const auto ask = [&](const std::string& body, const std::string& path = "/v1/messages") {
        auto what = call(body, path);
        what.headers = {{"Content-Type", "application/json"},
                        {"x-api-key", std::string(key_.text.reveal())},
                        {"anthropic-version", "2023-06-01"}};
        return send(what);
    };
    EXPECT_EQ(ask(R"({"model":"tiny","stream":true,"max_tokens":9})").body,
              begin + delta("a") + delta("b") + end);
    EXPECT_EQ(engine.request(0).body, R"({"model":"tiny","stream":true,"max_tokens":9})")
        << "nothing is asked for";
    EXPECT_EQ(engine.request(0).headers.get_or("anthropic-version"), "2023-06-01");
    EXPECT_EQ(ask(R"({"model":"tiny","max_tokens":9})").body, whole);
    EXPECT_EQ(ask(R"({"model":"tiny"})", "/v1/messages/count_tokens").body,
              R"({"input_tokens":39})");
    const auto broken = ask(R"({"model":"tiny","stream":true,"broken":1})");
    EXPECT_TRUE(broken.body.starts_with(begin + delta("a") + delta("b") +
                                        "event: error\ndata: {\"type\":\"error\",\"error\":{"));
    const auto missing = ask(R"({"model":"none"})");
    EXPECT_EQ(missing.status, 404);
    EXPECT_TRUE(
        missing.body.starts_with(R"({"type":"error","error":{"type":"not_found_error","message":)"))
        << missing.body;
    auto stranger = call("{}", "/v1/messages");
    stranger.headers = {{"x-api-key", "sk-ant-x"}};
    EXPECT_TRUE(has(send(stranger), "authentication_error"));
    const auto all = rows(4);
    EXPECT_EQ(all[0].prompt_tokens, 39);
    EXPECT_EQ(all[0].cached_tokens, 38);
    EXPECT_EQ(all[0].completion_tokens, 3);
    EXPECT_FALSE(all[0].estimated || all[0].prompt_estimated || all[0].aborted);
    EXPECT_EQ(all[1].prompt_tokens, 5);
    EXPECT_EQ(all[1].completion_tokens, 2);
    EXPECT_EQ(all[2].prompt_tokens + all[2].completion_tokens, 0);
    EXPECT_FALSE(all[2].estimated);
    EXPECT_EQ(all[3].prompt_tokens, 39);
    EXPECT_EQ(all[3].completion_tokens, 2);
    EXPECT_TRUE(all[3].estimated && all[3].aborted && !all[3].prompt_estimated);
}

TEST_F(GatewayTest, models_are_those_that_the_key_may_call) {
    publish({service("tiny", {}), service("hidden", {}, 4, "secret-project"), service("chat", {})});
    start();
    EXPECT_EQ(
        get("/v1/models").body,
        R"({"object":"list","data":[{"id":"chat","object":"model","created":1700000000,"owned_by":"default"},)"
        R"({"id":"tiny","object":"model","created":1700000000,"owned_by":"default"}]})");
    EXPECT_EQ(get("/v1/models/tiny").status, 200);
    EXPECT_EQ(get("/v1/models/hidden").status, 404);
    EXPECT_EQ(get("/healthz").status, 200);
    EXPECT_EQ(get("/readyz").status, 200);
}

TEST_F(GatewayTest, alive_and_ready_are_told_apart) {
    options_.server.clear();
    start();
    EXPECT_EQ(get("/healthz").status, 200);
    const auto response = get("/readyz");
    EXPECT_EQ(response.status, 503);
    EXPECT_TRUE(has(response, "no routes"));
}

TEST_F(GatewayTest, revoked_key_is_refused_as_soon_as_the_feed_says_so) {
    publish({service("tiny", {})});
    start();
    EXPECT_EQ(get("/v1/models").status, 200);
    played_.publish({.generation = 1, .full = false, .keys_gone = {key_.key_id}});
    EXPECT_TRUE(eventually([&] { return get("/v1/models").status == 401; }));
}

TEST_F(GatewayTest, callers_mistakes_pass_and_engine_failures_are_tried_elsewhere) {
    ScriptedEngine picky([](http::Request, http::Responder responder) {
        responder.respond(
            400,
            R"({"error":{"code":400,"message":"too long","type":"exceed_context_size_error"}})");
    });
    ScriptedEngine broken(
        [](http::Request, http::Responder responder) { responder.respond(500, "oops"); });
    ScriptedEngine good(answers);
    publish({service("picky", {picky.endpoint()}),
             service("mixed2", {broken.endpoint(), good.endpoint()}),
             service("broken3", {broken.endpoint()})});
    start();
    const auto refused = send(call(R"({"model":"picky"})"));
    EXPECT_EQ(refused.status, 400);
    EXPECT_TRUE(has(refused, "too long") && has(refused, "context_length_exceeded"));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(send(call(R"({"model":"mixed2"})")).body, answer);
    EXPECT_EQ(good.calls(), 4u);
    EXPECT_GT(broken.calls(), 0u);
    EXPECT_EQ(send(call(R"({"model":"broken3"})")).status, 502);
}

TEST_F(GatewayTest, replica_that_can_not_be_reached_is_replaced_unseen) {
    ScriptedEngine good(answers);
    publish({service("tiny", {"127.0.0.1:1", good.endpoint()})});
    start();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(send(call(R"({"model":"tiny"})")).status, 200);
}

TEST_F(GatewayTest,
       stream_that_breaks_before_content_is_tried_elsewhere_and_after_it_ends_with_an_error) {
    ScriptedEngine early(
        [](http::Request, http::Responder responder) { stream_of(responder, role); });
    ScriptedEngine late(
        [](http::Request, http::Responder responder) { stream_of(responder, role + piece("a")); });
    ScriptedEngine good([](http::Request, http::Responder responder) {
        stream_of(responder, role + piece("b") + done);
    });
    publish({service("early", {early.endpoint(), good.endpoint()}),
             service("late", {late.endpoint()})});
    start();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(send(call(R"({"model":"early","stream":true})")).body, role + piece("b") + done);
    const auto broken = send(call(R"({"model":"late","stream":true})"));
    EXPECT_EQ(broken.status, 200);
    EXPECT_TRUE(broken.body.starts_with(role + piece("a") + "data: {\"error\":{")) << broken.body;
    EXPECT_FALSE(has(broken, "[DONE]"));
    const auto row = rows(4).back();
    EXPECT_TRUE(row.aborted);
    EXPECT_TRUE(row.estimated);
    EXPECT_EQ(row.completion_tokens, 1);
}

TEST_F(GatewayTest, client_that_goes_ends_the_engines_work_and_pays_for_what_it_got) {
    std::atomic<bool> closed{false};
    std::mutex mutex;
    http::Stream kept;
    ScriptedEngine engine([&](http::Request, http::Responder responder) {
        const std::lock_guard lock(mutex);
        kept = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
        kept.on_closed([&] { closed = true; });
        kept.write(role + piece("a") + piece("b") + piece("c"));
    });
    publish({service("tiny", {engine.endpoint()})});
    start();
    std::string got;
    const auto ended = client().stream(call(R"({"model":"tiny","stream":true})"),
                                       {.on_head = {}, .on_chunk = [&](std::string_view text) {
                                            got.append(text);
                                            return got.find("\"c\"") == std::string::npos;
                                        }});
    EXPECT_TRUE(ended);
    EXPECT_TRUE(eventually([&] { return closed.load(); })) << "the engine was told";
    const auto row = rows(1).at(0);
    EXPECT_TRUE(row.aborted && row.estimated);
    EXPECT_EQ(row.completion_tokens, 3);
    const std::lock_guard lock(mutex);
    kept = {};
}

TEST_F(GatewayTest, whole_answer_of_several_choices_is_refused_where_its_tokens_would_not_be_known) {
    ScriptedEngine engine([&](http::Request, http::Responder responder) {
        responder.respond(200, "{}");
    });
    auto partial = service("partial", {engine.endpoint()});
    partial.usage_per_choice = true;
    publish({partial, service("full", {engine.endpoint()})});
    start();
    const auto ask = [&](const std::string& model, const std::string& more) {
        return send(call("{\"model\":\"" + model + "\"," + more + "}"));
    };
    const std::string two = "\"n\":2,\"messages\":[]";
    const std::string prompts = "\"prompt\":[\"a\",\"b\"]";
    for (const std::string& more : {two, prompts}) {
        const auto refused = ask("partial", more);
        EXPECT_EQ(refused.status, 400);
        EXPECT_NE(refused.body.find(more == two ? "\"param\":\"n\"" : "\"param\":\"prompt\""),
                  std::string::npos)
            << refused.body;
        EXPECT_EQ(ask("full", more).status, 200);
    }
    EXPECT_EQ(ask("partial", "\"prompt\":[1,2,3]").status, 200) << "token numbers of one prompt";
}

TEST_F(GatewayTest, aborted_stream_pays_the_prompt_that_its_engine_told_or_else_a_marked_guess) {
    std::mutex mutex;
    std::vector<http::Stream> kept;
    const std::string progress =
        "data: "
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":"
        "null}}],"
        "\"prompt_progress\":{\"total\":39,\"cache\":8,\"processed\":39,\"time_ms\":5}}\n\n";
    ScriptedEngine engine([&](http::Request request, http::Responder responder) {
        const std::lock_guard lock(mutex);
        kept.push_back(responder.start_stream(200, {{"Content-Type", "text/event-stream"}}));
        const bool asked = request.body.find("\"return_progress\":true") != std::string::npos;
        kept.back().write((asked ? progress : "") + role + piece("a") + piece("b"));
    });
    auto telling = service("telling", {engine.endpoint()});
    telling.prompt_progress = true;
    publish({telling, service("silent", {engine.endpoint()})});
    start();
    for (const std::string model : {"telling", "silent"}) {
        std::string got;
        const auto ended = client().stream(call(" {\"model\":\"" + model +
                                                "\",\"messages\":[{\"content\":\"12345678\"}],"
                                                "\"stream\":true,\"stream_options\":{}}"),
                                           {.on_head = {}, .on_chunk = [&](std::string_view text) {
                                                got.append(text);
                                                return got.find("\"b\"") == std::string::npos;
                                            }});
        EXPECT_TRUE(ended);
        EXPECT_EQ(got, role + piece("a") + piece("b"))
            << "what the gateway asked for stays with it";
        rows(model == "telling" ? 1 : 2);
    }
    EXPECT_EQ(engine.request(0).body,
              " {\"return_progress\":true,\"model\":\"telling\",\"messages\":[{\"content\":"
              "\"12345678\"}],\"stream\":true,"
              "\"stream_options\":{\"include_usage\":true}}");
    const auto all = rows(2);
    EXPECT_EQ(all[0].prompt_tokens, 39);
    EXPECT_EQ(all[0].cached_tokens, 8);
    EXPECT_FALSE(all[0].prompt_estimated);
    EXPECT_EQ(all[1].prompt_tokens, 6) << "24 bytes of messages";
    EXPECT_TRUE(all[1].prompt_estimated);
    for (const auto& row : all) {
        EXPECT_EQ(row.completion_tokens, 2);
        EXPECT_TRUE(row.estimated && row.aborted);
    }
    const std::lock_guard lock(mutex);
    kept.clear();
}

TEST_F(GatewayTest, slow_pieces_are_not_held_back) {
    std::mutex mutex;
    std::optional<http::Stream> open;
    ScriptedEngine engine([&](http::Request, http::Responder responder) {
        const std::lock_guard lock(mutex);
        open = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
        open->write(role + piece("a"));
    });
    publish({service("tiny", {engine.endpoint()})});
    start();
    int pieces = 0;
    const auto ended = client().stream(call(R"({"model":"tiny","stream":true})"),
                                       {.on_head = {}, .on_chunk = [&](std::string_view) {
                                            const std::lock_guard lock(mutex);
                                            ++pieces;
                                            if (pieces == 1) open->write(piece("b"));
                                            if (pieces == 2) {
                                                open->write(done);
                                                open->close();
                                            }
                                            return true;
                                        }});
    EXPECT_TRUE(ended);
    EXPECT_GE(pieces, 3);
    open.reset();
}

TEST_F(GatewayTest, large_request_arrives_whole) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()})});
    start();
    const auto body =
        R"({"model":"tiny","stream":false,"messages":[")" + std::string(3'900'000, 'x') + "\"]}";
    auto what = call(body);
    what.headers.add("Expect", "100-continue");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(send(what).status, 200);
    EXPECT_TRUE(engine.request(2).body == body);
}

TEST_F(GatewayTest, metrics_tell_requests_tokens_and_waits) {
    ScriptedEngine engine(answers);
    publish({service("tiny", {engine.endpoint()})});
    start();
    send(call(R"({"model":"tiny"})"));
    const auto text = get("/metrics").body;
    EXPECT_NE(text.find("tandem_gateway_requests_total{service=\"tiny\",status=\"200\"} 1"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("tandem_gateway_tokens_total{kind=\"completion\",service=\"tiny\"} 2"),
              std::string::npos);
    EXPECT_NE(text.find("tandem_gateway_held_requests 0"), std::string::npos);
}

}  // namespace
}  // namespace tandem::gateway
