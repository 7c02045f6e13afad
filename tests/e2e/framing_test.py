"""End-to-end tests of the framing of requests, byte by byte: what breaks a rule of RFC 9112 is a 400 that ends the connection,
and no byte of a body runs as a request of its own."""
import json
import socket

import serving
from serving import Server

# Would write a file if the server took it for a request of its own.
SECOND = (b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Length: 83\r\n"
          b"\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"smuggled\"\r\n\r\nx\r\n--B--\r\n")
BAD_HEADS = {
    "an unknown transfer coding": b"Transfer-Encoding: xchunked\r\n",
    "a compressed body": b"Transfer-Encoding: gzip\r\n",
    "two transfer codings": b"Transfer-Encoding: gzip, chunked\r\n",
    "a parameter of the coding": b"Transfer-Encoding: chunked;q=1\r\n",
    "two fields of codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "a coding and a length": b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    "two equal lengths": b"Content-Length: 0\r\nContent-Length: 0\r\n",
    "two lengths": b"Content-Length: 0\r\nContent-Length: 1\r\n",
    "a list of lengths": b"Content-Length: 0,0\r\n",
    "a length with a sign": b"Content-Length: +0\r\n",
    "a length in hexadecimal": b"Content-Length: 0x0\r\n",
    "a folded field": b"X: y\r\n z\r\n",
    "a blank before the colon": b"Content-Length : 0\r\n",
    "a bare LF": b"X: y\nContent-Length: 0\r\n",
    "a bare CR": b"X: y\rContent-Length: 0\r\n",
}


def send(server, data):
    """All that the server answers until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=serving.TIMEOUT) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


def exists(server):
    answer = server.ask({"method": "GET", "path": "/exists/smuggled"})
    return json.loads(answer.body)["exists"]


def test_bytes_behind_a_head_that_breaks_a_rule_never_run(box):
    with Server() as server:
        for name, fields in BAD_HEADS.items():
            answer = send(server, b"POST /execute HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n" + SECOND)
            assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n"), (name, answer)
            assert b"\r\nConnection: close\r\n" in answer and answer.count(b"\r\nX-Request-ID: ") == 1, (name, answer)
            assert not exists(server), name
        answer = send(server, b"POST /execute HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + SECOND)
        assert b" 400 Bad Request\r\n" in answer and answer.count(b"\r\nX-Request-ID: ") == 1, answer
        assert not exists(server)
        # The probe of these tests does what it should when it is a request.
        assert b" 200 OK\r\n" in send(server, SECOND) and exists(server)
