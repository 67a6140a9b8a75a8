# SPDX-License-Identifier: Apache-2.0
"""The server's side of a gateway for measurements: feeds one key and one service, grants every lease in full, books all
usage. Cheap on purpose: it runs beside what is measured.  server_stub.py FEED_FILE"""

import http.server
import json
import pathlib
import re
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    feed = ""
    limits = {}
    booked = 0
    lock = threading.Lock()

    def log_message(self, *unused):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(f"event: snapshot\ndata: {self.feed}\n\n".encode())
        try:
            while True:
                time.sleep(3)
                self.wfile.write(b": beat\n\n")
        except OSError:
            self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = getattr(self, "take_" + self.path.rsplit("/", 1)[1])(body)
        self.send_response(200 if answer else 204)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def take_leases(self, body):
        expires = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 3600))
        return json.dumps({"grants": [{"keyId": ask["keyId"], **self.limits, "expires": expires}
                                      for ask in json.loads(body)["asks"]]}).encode()

    def take_load(self, body):
        return b""

    def take_usage(self, body):
        # The last row's number is enough, and far cheaper than reading all rows.
        last = int(re.findall(rb'"sequence":(\d+)', body[-2000:])[-1])
        with self.lock:
            Handler.booked = max(Handler.booked, last)
        return json.dumps({"sequence": last}).encode()


def main():
    given = json.loads(pathlib.Path(sys.argv[1]).read_text())
    Handler.feed, Handler.limits = json.dumps(given["feed"]), given["limits"]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print("ready", server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
