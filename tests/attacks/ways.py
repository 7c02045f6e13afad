"""For attacks of guests that may reach some hosts: every way to a host that a program has. Each attack with
`guest_egress` finds this module beside it."""
import os
import socket

SECRET = b"secret of "
ALLOWED = "allowed.example"
TIMEOUT = 3


def directly(host, port):
    return socket.create_connection((host, port), TIMEOUT)


def through_proxy(host, port, proxy=None):
    """By the proxy that the environment names; the error has what it said."""
    where = proxy or os.environ.get("HTTPS_PROXY", "").removeprefix("http://")
    if not where:
        raise OSError("there is no proxy")
    connection = socket.create_connection(where.rsplit(":", 1), TIMEOUT)
    name = f"[{host}]" if ":" in host else host
    connection.sendall(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer and (part := connection.recv(1)):
        answer += part
    if b" 200 " not in answer.split(b"\r\n")[0]:
        raise OSError((answer + connection.recv(4096)).decode(errors="replace"))
    return connection


def ask(connection, target="/", host=ALLOWED):
    with connection:
        connection.settimeout(TIMEOUT)
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(4096):
            answer += part
        return answer


def attempt(host, port=443, target="/"):
    """Says ESCAPED for every way that leads to the secret of a host."""
    for way in (directly, through_proxy):
        try:
            answer = ask(way(host, port), target, host)
        except OSError as error:
            print(way.__name__, host, port, error)
            continue
        print("ESCAPED" if SECRET in answer else "said", way.__name__, host, port, answer)


def end():
    """Ends the attack with 7 when the host that is on the list was there all the while: a jail without any network
    would prove nothing."""
    try:
        reached = SECRET in ask(through_proxy(ALLOWED, 443))
    except OSError as error:
        print(error)
        reached = False
    raise SystemExit(7 if reached else 0)
