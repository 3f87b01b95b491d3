"""A local HTTP server that sends a content well or badly, by what the address asks for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Server:
    """Where it listens, and how far the address that stalls has come."""

    url: str = ""
    halfway: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(content: bytes) -> Iterator[Server]:
    """Serve ``content`` under /good; /altered, /short, /truncated, /stalling, /missing fail."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind = self.path.strip("/")
            if kind == "missing":
                self.send_error(404)
                return
            body = content
            if kind == "altered":
                body = content[:-1] + bytes([content[-1] ^ 1])
            elif kind == "short":
                body = content[:-1]
            self.send_response(200)
            more = 1000 if kind == "truncated" else 0
            self.send_header("Content-Length", str(len(body) + more))
            self.end_headers()
            if kind == "stalling":
                self.wfile.write(body[: len(body) // 2])
                server.halfway.set()
                server.go_on.wait(timeout=60)
                return
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        yield server
        server.go_on.set()
        http.shutdown()
        thread.join()
