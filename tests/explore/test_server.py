"""The live page answers its own page on this machine, and nobody else."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection
from threading import Thread

import pytest

from socsim.cli import main
from socsim.explore.page import render_page
from socsim.explore.server import ExploreServer
from socsim.explore.session import Session, Subject

EVIL = "<script>alert(1)</script>"


@contextmanager
def served(session):
    server = ExploreServer(session)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server():
    with served(Session(Subject("ideal-48tops", "w8a8-1k"))) as running:
        yield running


def ask(server, method="POST", path="simulate", body=None, token=None, **headers):
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    text = body if isinstance(body, str | None) else json.dumps(body)
    known = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, f"/{token or server.token}/{path}", text, known)
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers
    finally:
        connection.close()


def test_the_page_is_one_file_that_may_only_talk_to_its_server(server):
    status, page, headers = ask(server, "GET", "")
    assert status == 200
    assert "ideal" in page
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_a_question_is_answered_with_figures(server):
    status, text, _ = ask(server, body={"device": "npu", "knobs": {"batch": 1}})
    answer = json.loads(text)
    assert status == 200
    assert answer["ok"] is True
    assert answer["figures"]["ttft_s"]["value"] > 0
    assert answer["figures"]["energy_per_output_token_j"] == {"value": None, "text": "unknown"}
    assert "--set workload.request.batch=2" in answer["command"]


@pytest.mark.parametrize(
    ("expected", "asked"),
    [
        (404, {"token": "wrong"}),
        (404, {"path": "../etc/passwd"}),
        (404, {"method": "GET", "path": "simulate"}),
        (421, {"Host": "evil.example"}),
        (421, {"Host": "127.0.0.1"}),
        (403, {"Origin": "https://evil.example"}),
        (403, {"Origin": "null"}),
        (400, {"Content_Type": "text/plain"}),
        (400, {"body": "no JSON"}),
        (400, {"body": []}),
        (400, {"body": {"device": "npu", "knobs": {"batch": "2; rm"}}}),
        (400, {"body": {"device": "npu", "knobs": {"nothing": 1}}}),
        (400, {"body": {"device": "tpu", "knobs": {}}}),
        (400, {"body": "x" * 20_000}),
        (501, {"method": "DELETE"}),
    ],
    ids=str,
)
def test_anything_else_is_refused(server, expected, asked):
    status, text, _ = ask(server, **{"body": {"device": "npu", "knobs": {}}} | asked)
    assert status == expected
    assert "Traceback" not in text


def test_users_text_stays_text(tmp_path):
    file = tmp_path / "evil.yaml"
    file.write_text(f"extends: ideal-48tops\nname: '{EVIL}'\n", encoding="utf-8")
    page = render_page(Session(Subject(str(file), "w8a8-1k")))
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page


def test_every_server_has_a_secret_of_its_own(server):
    other = ExploreServer(server.session)
    other.server_close()
    assert len(server.token) >= 32
    assert other.token != server.token
    assert server.server_address[0] == "127.0.0.1"


def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "socsim", "explore", "ideal-48tops", "-w", "w8a8-1k"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("Ideal")
        address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/\n", process.stdout.readline())
        connection = HTTPConnection("127.0.0.1", int(address[1]), timeout=30)
        connection.request("GET", f"/{address[2]}/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert complaints == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lunar-lake-268"], "did you mean lunar-lake-268v?"),
        (["ideal-48tops", "-d", "gpu"], "unknown device"),
        (["ideal-48tops", "--port", "99999"], "--port"),
        (["ideal-48tops", "--set", "platform.devices.npu.tile=2"], "tiles"),
    ],
)
def test_wrong_input_ends_before_anything_is_served(arguments, words, capsys):
    assert main(["explore", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_port_that_is_taken_is_wrong_input(server, capsys):
    assert main(["explore", "ideal-48tops", "--port", str(server.server_port)]) == 2
    assert os.strerror(98) in capsys.readouterr().err
