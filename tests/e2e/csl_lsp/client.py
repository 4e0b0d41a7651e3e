"""A client of csl-lsp for tests: the real binary over pipes."""
import json
import pathlib
import re
import select
import subprocess
import time


class Client:
    def __init__(self, binary, root, cache, encodings=None):
        self.root = pathlib.Path(root)
        self.server = subprocess.Popen([str(binary), "--cache", str(cache)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.buffer, self.number, self.diagnostics, self.versions = b"", 0, {}, {}
        general = {"positionEncodings": encodings} if encodings else {}
        self.capabilities = self.request("initialize", {
            "processId": None, "capabilities": {"general": general},
            "workspaceFolders": [{"uri": self.root.as_uri(), "name": "test"}]})["capabilities"]
        self.notify("initialized", {})

    def send_bytes(self, data):
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self, seconds=20):
        """The next message, None after that time or at the end of the stream."""
        end = time.monotonic() + seconds
        while True:
            head = re.match(rb"Content-Length: (\d+)\r\n\r\n", self.buffer)
            if head and len(self.buffer) >= head.end() + int(head[1]):
                body = self.buffer[head.end():head.end() + int(head[1])]
                self.buffer = self.buffer[head.end() + int(head[1]):]
                message = json.loads(body)
                if message.get("method") == "textDocument/publishDiagnostics":
                    self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
                return message
            if not select.select([self.server.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = self.server.stdout.read1(65536)
            if not data:
                return None
            self.buffer += data

    def answer(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.receive()
            assert message is not None, f"no answer to {method}"
            if message.get("id") == self.number and "method" not in message:
                return message

    def request(self, method, params):
        message = self.answer(method, params)
        assert "error" not in message, message
        return message["result"]

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    # ---- documents

    def uri(self, name):
        return (self.root / name).as_uri()

    def open(self, name, text=None):
        text = (self.root / name).read_text() if text is None else text
        self.versions[name] = 1
        self.notify("textDocument/didOpen", {"textDocument": {
            "uri": self.uri(name), "languageId": "csl", "version": 1, "text": text}})

    def change(self, name, *changes):
        self.versions[name] += 1
        self.notify("textDocument/didChange", {
            "textDocument": {"uri": self.uri(name), "version": self.versions[name]}, "contentChanges": list(changes)})

    def close(self, name):
        self.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def at(self, name, line, character, **more):
        return {"textDocument": {"uri": self.uri(name)}, "position": {"line": line, "character": character}, **more}

    def wait_for(self, name, wanted, seconds=20):
        """Diagnostics of a document as soon as `wanted(list)` holds; the last ones if it never does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.uri(name) in self.diagnostics and wanted(self.diagnostics[self.uri(name)]):
                break
            if self.receive(max(0.01, end - time.monotonic())) is None and self.server.poll() is not None:
                break
        return self.diagnostics.get(self.uri(name))

    def settle(self):
        """Waits until the server has nothing more to say."""
        while self.receive(0.5) is not None:
            pass

    def end(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        code = self.server.wait(10)
        for stream in (self.server.stdin, self.server.stdout, self.server.stderr):
            stream.close()
        return code
