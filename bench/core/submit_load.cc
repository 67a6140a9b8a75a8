// SPDX-License-Identifier: Apache-2.0
// Load for bench/core: keep-alive clients, each with one request in flight, all on one thread so that little of the
// machine goes to the load. A request creates one job, or a batch of them; every job has its own name.
//
//   submit-load HOST PORT CLIENTS SECONDS JOBS_A_REQUEST PREFIX    with the key in TANDEM_API_KEY
//   prints: jobs accepted, seconds, requests refused, milliseconds p50 and p99 of a request
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Client {
    int fd = -1;
    std::string in{};
    Clock::time_point sent{};
};

struct Load {
    std::string host{};
    int port = 0;
    int jobs_a_request = 1;
    std::string prefix{};
    std::string key{};
    long next = 0;
    long accepted = 0;
    long refused = 0;
    std::vector<double> times{};
};

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(1);
}

std::string job_text(Load& load) {
    return R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":")" + load.prefix + std::to_string(load.next++) +
           R"(","project":"default","namespace":"default"},"spec":{"command":["python3","train.py","--steps=1000"],)"
           R"("roles":[{"name":"worker","replicas":1,"resources":{"devices":1,"flavor":"cpu-slice"}}]}})";
}

std::string request_text(Load& load) {
    std::string body, path = "/api/v1/projects/default/namespaces/default/jobs";
    const std::string key = load.prefix + std::to_string(load.next);
    if (load.jobs_a_request == 1) {
        body = job_text(load);
    } else {
        path = "/api/v1/batch";
        body = "{\"actions\":[";
        for (int i = 0; i < load.jobs_a_request; ++i) body += (i > 0 ? ",{\"create\":" : "{\"create\":") + job_text(load) + "}";
        body += "]}";
    }
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + load.key + "\r\nIdempotency-Key: " + key +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

int connect_to(const Load& load) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(load.port));
    ::inet_pton(AF_INET, load.host.c_str(), &address.sin_addr);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("connect");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void send_next(Load& load, Client& client) {
    const std::string text = request_text(load);
    client.sent = Clock::now();
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t wrote = ::send(client.fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (wrote <= 0) give_up("send");
        at += static_cast<std::size_t>(wrote);
    }
}

// Bytes of the first whole answer in `in`, or 0.
std::size_t answer_length(const std::string& in) {
    const std::size_t head = in.find("\r\n\r\n");
    if (head == std::string::npos) return 0;
    const char* field = ::strcasestr(in.c_str(), "\r\ncontent-length:");
    const std::size_t body = field ? std::strtoul(field + 17, nullptr, 10) : 0;
    return in.size() >= head + 4 + body ? head + 4 + body : 0;
}

// False: no answer yet.
bool take_answer(Load& load, Client& client) {
    char bytes[65536];
    const ssize_t got = ::recv(client.fd, bytes, sizeof bytes, 0);
    if (got <= 0) give_up("recv");
    client.in.append(bytes, static_cast<std::size_t>(got));
    const std::size_t length = answer_length(client.in);
    if (length == 0) return false;
    if (client.in.compare(9, 2, "20") == 0) {
        load.accepted += load.jobs_a_request;
    } else {
        if (load.refused++ == 0) std::fprintf(stderr, "%.400s\n", client.in.c_str());
    }
    client.in.erase(0, length);
    load.times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - client.sent).count());
    return true;
}

void drive(Load& load, std::vector<Client>& clients, double seconds) {
    const int poll = ::epoll_create1(0);
    for (std::size_t i = 0; i < clients.size(); ++i) {
        clients[i].fd = connect_to(load);
        epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
        ::epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd, &event);
        send_next(load, clients[i]);
    }
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    std::size_t in_flight = clients.size();
    while (in_flight > 0) {
        epoll_event events[64];
        const int count = ::epoll_wait(poll, events, 64, 30'000);
        if (count <= 0) give_up("no answer for 30 s");
        for (int i = 0; i < count; ++i) {
            Client& client = clients[events[i].data.u64];
            if (!take_answer(load, client)) continue;
            if (Clock::now() < end)
                send_next(load, client);
            else
                --in_flight;
        }
    }
    ::close(poll);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7 || !std::getenv("TANDEM_API_KEY")) {
        std::fprintf(stderr, "submit-load HOST PORT CLIENTS SECONDS JOBS_A_REQUEST PREFIX, the key in TANDEM_API_KEY\n");
        return 2;
    }
    Load load{.host = argv[1], .port = std::atoi(argv[2]), .jobs_a_request = std::atoi(argv[5]), .prefix = argv[6],
              .key = std::getenv("TANDEM_API_KEY")};
    std::vector<Client> clients(static_cast<std::size_t>(std::atoi(argv[3])));
    const auto begin = Clock::now();
    drive(load, clients, std::atof(argv[4]));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::sort(load.times.begin(), load.times.end());
    const auto at = [&](double part) { return load.times[static_cast<std::size_t>(part * static_cast<double>(load.times.size() - 1))]; };
    std::printf("%ld %.3f %ld %.2f %.2f\n", load.accepted, seconds, load.refused, at(0.5), at(0.99));
    return load.accepted > 0 ? 0 : 1;
}
