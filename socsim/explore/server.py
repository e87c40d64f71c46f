"""The live page on this machine only: loopback, a secret in the address, nothing that a foreign page could use.

A page of another site can make a browser send requests to 127.0.0.1, directly or under a name that it makes resolve
there. It knows neither the token in the path nor gets past the check of the Host header.
"""

from __future__ import annotations

import json
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from socsim.explore.page import render_page
from socsim.explore.session import Session

LOOPBACK: Final = "127.0.0.1"
MAX_QUESTION_BYTES: Final = 16_384
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ExploreServer(ThreadingHTTPServer):
    """Serves the page of one session under `url`; port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Answering)
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.page = render_page(session)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that no longer waits for an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Where the page is; whoever knows it may ask."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Values of the Host header that this server answers to."""
        return (f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}")


class _Answering(BaseHTTPRequestHandler):
    """GET gives the page, POST an answer."""

    server: ExploreServer
    protocol_version = "HTTP/1.1"
    server_version = "socsim"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        if self._is_welcome(""):
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page.encode("utf-8"))

    def do_POST(self) -> None:
        if not self._is_welcome("simulate"):
            return
        try:
            device, positions = _question(self._body())
            answer = self.server.session.answer(device, positions)
            answer = answer | {"command": self.server.session.command(positions)}
        except ValueError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._send(HTTPStatus.OK, "application/json", json.dumps(answer, allow_nan=False).encode("utf-8"))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: the terminal is the user's."""

    def _is_welcome(self, resource: str) -> bool:
        """Whether host, token and resource are right; otherwise the refusal is sent."""
        if self.headers.get("Host", "") not in self.server.hosts:
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "not a name of this server")
        if self.headers.get("Origin", f"http://{self.headers['Host']}") != f"http://{self.headers['Host']}":
            return self._refuse(HTTPStatus.FORBIDDEN, "asked for by another site")
        token, slash, rest = self.path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()) or not slash or rest != resource:
            return self._refuse(HTTPStatus.NOT_FOUND, "nothing here")
        return True

    def _body(self) -> bytes:
        """What was sent; ValueError unless it is a short JSON text."""
        if self.headers.get_content_type() != "application/json":
            raise ValueError("expected JSON")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_QUESTION_BYTES:
            raise ValueError("expected a short question")
        return self.rfile.read(int(length))

    def _refuse(self, status: HTTPStatus, why: str) -> bool:
        self.close_connection = True
        self._send(status, "application/json", json.dumps({"error": why}).encode("utf-8"))
        return False

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (*HEADERS.items(), ("Content-Type", kind), ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _question(body: bytes) -> tuple[str, dict[str, int]]:
    """Device and positions of knobs; ValueError for anything else."""
    question = json.loads(body)
    if not isinstance(question, dict) or not isinstance(question.get("knobs"), dict):
        raise ValueError('expected {"device": ..., "knobs": {name: position}}')
    positions = question["knobs"]
    if any(isinstance(position, bool) or not isinstance(position, int) for position in positions.values()):
        raise ValueError("positions are whole numbers")
    return str(question.get("device")), positions
