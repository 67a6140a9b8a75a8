/* SPDX-License-Identifier: Apache-2.0
 * A model server that costs next to nothing: one thread, one epoll set, answers made once at the start.
 *   fake-engine PORT
 * A POST whose body asks for a stream gets 51 events (49 with text, one with the finish reason, [DONE]), and one
 * with usage if stream_options asks for it; any other POST gets a whole answer of about 1 KB with usage. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { connections_max = 20000, request_max = 65536, answer_max = 32768 };

struct answer {
    char bytes[answer_max];
    size_t size;
};
static struct answer whole, stream, stream_usage;

struct connection {
    char *request;
    size_t size;
    const struct answer *sending;  /* what did not fit into the socket yet */
    size_t sent;
};
static struct connection connections[connections_max];

static void append(struct answer *to, const char *text) {
    size_t size = strlen(text);
    if (to->size + size > sizeof to->bytes) abort();
    memcpy(to->bytes + to->size, text, size);
    to->size += size;
}

static void append_chunk(struct answer *to, const char *text) {
    char head[32];
    snprintf(head, sizeof head, "%zx\r\n", strlen(text));
    append(to, head);
    append(to, text);
    append(to, "\r\n");
}

#define USAGE "{\"prompt_tokens\":120,\"completion_tokens\":49,\"total_tokens\":169}"
#define COMMON "\"id\":\"chatcmpl-0123456789\",\"created\":1700000000,\"model\":\"fake\""

static void make_whole(void) {
    char text[700], body[1500], head[160];
    for (size_t i = 0; i < sizeof text - 1; ++i) text[i] = i % 6 ? 'o' : ' ';
    text[sizeof text - 1] = 0;
    snprintf(body, sizeof body,
             "{" COMMON ",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
             "\"content\":\"%s\"},\"finish_reason\":\"stop\"}],\"usage\":" USAGE "}", text);
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", strlen(body));
    append(&whole, head);
    append(&whole, body);
}

static void make_stream(struct answer *to, int usage) {
    char event[400];
    append(to, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 50; ++i) {
        char delta[64] = "{}";
        if (i < 49) snprintf(delta, sizeof delta, "{%s\"content\":\"tok%02d \"}", i ? "" : "\"role\":\"assistant\",", i);
        snprintf(event, sizeof event,
                 "data: {" COMMON ",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,"
                 "\"finish_reason\":%s}]}\n\n", delta, i < 49 ? "null" : "\"stop\"");
        append_chunk(to, event);
    }
    if (usage)
        append_chunk(to, "data: {" COMMON ",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":" USAGE "}\n\n");
    append_chunk(to, "data: [DONE]\n\n");
    append(to, "0\r\n\r\n");
}

static void drop(int fd) {
    free(connections[fd].request);
    memset(&connections[fd], 0, sizeof connections[fd]);
    close(fd);
}

static int push(int fd) {
    struct connection *c = &connections[fd];
    while (c->sending && c->sent < c->sending->size) {
        ssize_t n = send(fd, c->sending->bytes + c->sent, c->sending->size - c->sent, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        c->sent += (size_t)n;
    }
    c->sending = NULL;
    return 1;
}

/* Length of the first request with its body, 0 while it is incomplete. */
static size_t request_length(const struct connection *c, size_t *head) {
    const char *end = memmem(c->request, c->size, "\r\n\r\n", 4);
    if (!end) return 0;
    *head = (size_t)(end - c->request) + 4;
    size_t body = 0;
    for (const char *line = c->request; line < end; line = (const char *)memchr(line, '\n', (size_t)(end - line) + 2) + 1)
        if (!strncasecmp(line, "content-length:", 15)) body = strtoul(line + 15, NULL, 10);
    return *head + body <= c->size ? *head + body : 0;
}

static const struct answer *answer_for(const char *body, size_t size) {
    const char *wants = memmem(body, size, "\"stream\"", 8);
    if (!wants) return &whole;
    size_t left = size - (size_t)(wants - body);
    wants += 8;
    for (left -= 8; left && (*wants == ':' || *wants == ' '); --left) ++wants;
    if (!left || *wants != 't') return &whole;
    return memmem(body, size, "include_usage", 13) ? &stream_usage : &stream;
}

static int serve(int fd) {
    struct connection *c = &connections[fd];
    size_t head = 0, length;
    while (!c->sending && (length = request_length(c, &head)) > 0) {
        c->sending = answer_for(c->request + head, length - head);
        c->sent = 0;
        memmove(c->request, c->request + length, c->size - length);
        c->size -= length;
        if (!push(fd)) return 0;
    }
    return 1;
}

static int take(int fd) {
    struct connection *c = &connections[fd];
    if (!c->request) c->request = malloc(request_max);
    if (c->size == request_max) return 0;  /* larger than any request of the measurements */
    ssize_t n = recv(fd, c->request + c->size, request_max - c->size, 0);
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return 0;
    c->size += (size_t)n;
    return serve(fd);
}

static void accept_all(int listener, int poll) {
    int one = 1, fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= connections_max) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    }
}

int main(int argc, char **argv) {
    int one = 1, poll = epoll_create1(0), listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 9000));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
        perror("fake-engine");
        return 1;
    }
    make_whole();
    make_stream(&stream, 0);
    make_stream(&stream_usage, 1);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poll, events, 256, -1);
        for (int i = 0; i < count; ++i) {
            int fd = events[i].data.fd, good = 1;
            if (fd == listener) {
                accept_all(listener, poll);
                continue;
            }
            if (events[i].events & EPOLLOUT) good = push(fd) && serve(fd);
            if (good && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) good = take(fd);
            if (!good) drop(fd);
        }
    }
}
