"""A registry of npm on loopback with TLS, for tests that install packages without another host. The address is 127.0.0.2,
because programs in a jail reach 127.0.0.1 without the proxy."""
import contextlib
import hashlib
import http.server
import io
import json
import pathlib
import ssl
import subprocess
import tarfile
import tempfile
import threading


def package(name, version, main):
    """The archive of a package that has one module."""
    files = {"package.json": json.dumps({"name": name, "version": version, "main": "index.js"}), "index.js": main}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return name, version, out.getvalue()


def installed(folder):
    """The archive of a package that is installed in `folder`."""
    manifest = json.loads((folder / "package.json").read_text())
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, "package")
    return manifest["name"], manifest["version"], out.getvalue()


def certificate(folder):
    """A certificate that signs itself, and its key. Through a proxy, npm checks it for localhost."""
    paths = [f"{folder}/certificate.pem", f"{folder}/key.pem"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.2",
                    "-addext", "subjectAltName=IP:127.0.0.2,DNS:localhost", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True)
    return paths


@contextlib.contextmanager
def registry(packages, token=None):
    """Serves `packages`, tuples of name, version and archive; yields the variables that make npm use it. With a token
    it answers only those who send the token."""
    answers = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = answers.get(self.path)
            status = 404 if body is None else 200
            if token is not None and self.headers["Authorization"] != f"Bearer {token}":
                body, status = b"{}", 401
            self.send_response(status)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    # Outside of /tmp: an installer's jail has its own.
    with tempfile.TemporaryDirectory(prefix="polybox-npm-", dir="/var/tmp") as folder:
        pathlib.Path(folder).chmod(0o755)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate(folder))
        with http.server.ThreadingHTTPServer(("127.0.0.2", 0), Handler) as server:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            address = f"127.0.0.2:{server.server_port}"
            for name, version, archive in packages:
                path = name.replace("/", "%2f")
                answers[f"/{path}-{version}.tgz"] = archive
                dist = {"tarball": f"https://{address}/{path}-{version}.tgz",
                        "shasum": hashlib.sha1(archive).hexdigest()}
                document = {"name": name, "dist-tags": {"latest": version},
                            "versions": {version: {"name": name, "version": version, "dist": dist}}}
                answers[f"/{path}"] = json.dumps(document).encode()
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield {"npm_config_registry": f"https://{address}/", "POLYBOX_EGRESS_ALLOW": address,
                       "NODE_EXTRA_CA_CERTS": f"{folder}/certificate.pem",
                       # Takes precedence over a file that this machine's own npmrc names.
                       "npm_config_cafile": f"{folder}/certificate.pem"}
            finally:
                server.shutdown()
                thread.join()
