"""For attacks on the base directory: a client of the runtime API, which runs on the host after the attack's command.

Usage: PROGRAM PORT PID, with the port and the process of the server. What the program prints counts as the attack's words.
"""
import http.client
import json
import socket
import sys
import threading

PORT, SERVER = int(sys.argv[1]), int(sys.argv[2])
TIMEOUT = 10


def ask(method, path, body=None, headers=None):
    """Status and body; status 0 and the error where there was no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, repr(error).encode()
    finally:
        connection.close()


def raw(text):
    """The answer to bytes that no library would send."""
    with socket.create_connection(("127.0.0.1", PORT), TIMEOUT) as connection:
        connection.sendall(text if isinstance(text, bytes) else text.encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while part := connection.recv(65536):
                answer += part
        except OSError as error:
            answer += repr(error).encode()
        return answer


def command(words):
    status, body = ask("POST", "/execute", json.dumps({"command": words}))
    return json.loads(body) if status == 200 else {"stdout": "", "stderr": body.decode(errors="replace"), "exit_code": None}


def upload(name, content=b"planted"):
    """`name` goes into the header as it is."""
    name = name if isinstance(name, bytes) else name.encode()
    body = (b'--B\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n' + content
            + b"\r\n--B--\r\n")
    return ask("POST", "/upload", body, {"Content-Type": "multipart/form-data; boundary=B"})


def download(path):
    return ask("GET", f"/download/{path}")


def listing(path=""):
    return ask("GET", f"/list/{path}")


def beside(words):
    """Starts a command that runs while the client goes on."""
    thread = threading.Thread(target=command, args=(words,), daemon=True)
    thread.start()
    return thread


def resident():
    """Memory of the server, in MiB."""
    for line in open(f"/proc/{SERVER}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) >> 10
