"""The official Python SDK's event handler behind an HTTP server; its handler does nothing.

    python peer.py flask|asyncio|alone PATH ENCRYPT_KEY VERIFICATION_TOKEN

flask:    as the SDK's documentation shows it: the Flask adapter; on waitress, since Flask's own
          server does not keep connections alive.
asyncio:  kinder to the SDK: a bare HTTP/1.1 reader of thirty lines in one event loop.
alone:    no HTTP: reads requests from standard input (a length, then the request) and
          prints the seconds that the handler alone needed for all of them.

The first two print where they listen.
"""

import asyncio
import struct
import sys
import time

import lark_oapi
from lark_oapi.core.model import RawRequest

mode, path, encrypt_key, token = sys.argv[1:5]
handler = (
    lark_oapi.EventDispatcherHandler.builder(encrypt_key, token, lark_oapi.LogLevel.ERROR)
    .register_p2_im_message_receive_v1(lambda event: None)
    .build()
)


def raw(head, body):
    """A request for the SDK from the bytes of one."""
    lines = head.decode("latin-1").split("\r\n")
    request = RawRequest()
    request.uri = path
    request.headers = dict(line.split(": ", 1) for line in lines[1:] if line)
    request.body = body
    return request


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.waiting = transport, b""

    def data_received(self, data):
        self.waiting += data
        while True:
            end = self.waiting.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.waiting[:end]
            length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
            if len(self.waiting) < end + 4 + length:
                return
            body = self.waiting[end + 4 : end + 4 + length]
            self.waiting = self.waiting[end + 4 + length :]
            answer = handler.do(raw(head, body))
            self.transport.write(
                b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (answer.status_code, len(answer.content), answer.content)
            )


async def serve_asyncio():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print("127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def serve_flask():
    import logging

    import waitress
    from flask import Flask
    from lark_oapi.adapter.flask import parse_req, parse_resp

    logging.getLogger("waitress").setLevel(logging.ERROR)
    app = Flask(__name__)

    @app.route(path, methods=["POST"])
    def event():
        return parse_resp(handler.do(parse_req()))

    server = waitress.create_server(app, host="127.0.0.1", port=0, threads=4)
    print(f"127.0.0.1:{server.effective_port}", flush=True)
    server.run()


def alone():
    requests = []
    while size := sys.stdin.buffer.read(4):
        head, body = sys.stdin.buffer.read(struct.unpack("<I", size)[0]).split(b"\r\n\r\n", 1)
        requests.append(raw(head, body))
    begun = time.perf_counter()
    wrong = sum(handler.do(request).status_code != 200 for request in requests)
    print(time.perf_counter() - begun, wrong)


if mode == "flask":
    serve_flask()
elif mode == "asyncio":
    asyncio.run(serve_asyncio())
else:
    alone()
