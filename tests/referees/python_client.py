"""The official Python SDK as a client of the playground. Run by scripts/referees.sh.

Each step does something with the SDK and then asks the control API whether the playground saw it.

  LARKSPUR   the program
"""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from io import BytesIO

import lark_oapi as lark
from lark_oapi.api.auth.v3 import (
    InternalTenantAccessTokenRequest,
    InternalTenantAccessTokenRequestBody,
)
from lark_oapi.api.cardkit.v1 import (
    ContentCardElementRequest,
    ContentCardElementRequestBody,
    CreateCardRequest,
    CreateCardRequestBody,
    SettingsCardRequest,
    SettingsCardRequestBody,
)
from lark_oapi.api.im.v1 import (
    CreateFileRequest,
    CreateFileRequestBody,
    CreateImageRequest,
    CreateImageRequestBody,
    CreateMessageRequest,
    CreateMessageRequestBody,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
)
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

APP = "cli_a1b2c3d4e5f60718"
SECRET = "playground-app-secret"
PATIENCE_S = 30
# One dot, 1 by 1.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


class Sim:
    """A playground of its own, and its control API."""

    def __init__(self):
        words = [os.environ["LARKSPUR"], "sim", "--websocket", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = line.split()[-1]

    def control(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + "/sim/v1" + path, data, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return json.load(response)

    def messages(self, chat):
        return self.control("GET", f"/chats/{chat}/messages")

    def succeeded(self, method, path):
        """How many calls of a path were answered with success."""
        calls = self.control("GET", "/calls")
        return sum(
            call["method"] == method and call["path"].split("?")[0] == path and call["code"] == 0
            for call in calls
        )


def wait_for(look):
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("nothing came")


def done(response):
    assert response.success(), f"{response.code} {response.msg}"
    return getattr(response, "data", None)


CARD = {
    "schema": "2.0",
    "config": {"update_multi": True},
    "header": {"title": {"tag": "plain_text", "content": "Referee"}},
    "body": {
        "elements": [
            {"tag": "markdown", "element_id": "words", "content": "A **card**"},
            {
                "tag": "button",
                "element_id": "press",
                "text": {"tag": "plain_text", "content": "Go"},
                "behaviors": [{"type": "callback", "value": {"k": "v"}}],
            },
        ]
    },
}
STREAM = {
    "schema": "2.0",
    "config": {"update_multi": True, "streaming_mode": True},
    "body": {"elements": [{"tag": "markdown", "element_id": "words", "content": "begin"}]},
}


class Referee:
    def __init__(self, sim):
        self.sim = sim
        self.chat = sim.control(
            "POST", "/chats", {"alias": "g1", "kind": "group", "members": ["u1"]}
        )["chat_id"]
        builder = lark.Client.builder().app_id(APP).app_secret(SECRET).domain(sim.url)
        self.client = builder.log_level(lark.LogLevel.WARNING).build()
        self.events = []
        self.presses = []

    def post(self, msg_type, content):
        body = (
            CreateMessageRequestBody.builder()
            .receive_id(self.chat)
            .msg_type(msg_type)
            .content(json.dumps(content))
            .build()
        )
        request = CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body)
        return done(self.client.im.v1.message.create(request.build())).message_id

    def last(self):
        return self.sim.messages("g1")[-1]

    def token(self):
        body = InternalTenantAccessTokenRequestBody.builder().app_id(APP).app_secret(SECRET)
        request = InternalTenantAccessTokenRequest.builder().request_body(body.build()).build()
        answer = self.client.auth.v3.tenant_access_token.internal(request)
        assert answer.success() and json.loads(answer.raw.content)["tenant_access_token"]
        path = "/open-apis/auth/v3/tenant_access_token/internal"
        assert self.sim.succeeded("POST", path) == 1

    def send_and_reply(self):
        sent = self.post("text", {"text": "hello from Python"})
        seen = self.last()
        assert (seen["message_id"], seen["text"]) == (sent, "hello from Python")
        body = ReplyMessageRequestBody.builder().msg_type("text")
        body = body.content(json.dumps({"text": "a reply"})).build()
        request = ReplyMessageRequest.builder().message_id(sent).request_body(body).build()
        reply = done(self.client.im.v1.message.reply(request))
        seen = self.last()
        assert (seen["message_id"], seen["reply_to"]) == (reply.message_id, sent)

    def upload(self):
        body = CreateImageRequestBody.builder().image_type("message").image(BytesIO(PNG)).build()
        image = done(
            self.client.im.v1.image.create(CreateImageRequest.builder().request_body(body).build())
        )
        assert self.sim.succeeded("POST", "/open-apis/im/v1/images") == 1
        self.post("image", {"image_key": image.image_key})
        assert image.image_key in self.last()["content"]
        body = CreateFileRequestBody.builder().file_type("stream").file_name("报告.txt")
        body = body.file(BytesIO("内容".encode())).build()
        file = done(
            self.client.im.v1.file.create(CreateFileRequest.builder().request_body(body).build())
        )
        assert self.sim.succeeded("POST", "/open-apis/im/v1/files") == 1
        self.post("file", {"file_key": file.file_key})
        assert file.file_key in self.last()["content"]

    def card(self):
        self.post("interactive", CARD)
        assert "card" in self.last()["text"], self.last()

    def card_kit(self):
        body = CreateCardRequestBody.builder().type("card_json").data(json.dumps(STREAM)).build()
        request = CreateCardRequest.builder().request_body(body).build()
        card_id = done(self.client.cardkit.v1.card.create(request)).card_id
        sent = self.post("interactive", {"type": "card", "data": {"card_id": card_id}})
        assert (self.last()["message_id"], self.last()["msg_type"]) == (sent, "interactive")
        body = ContentCardElementRequestBody.builder().content("begin, and the end").sequence(1)
        request = ContentCardElementRequest.builder().card_id(card_id).element_id("words")
        done(self.client.cardkit.v1.card_element.content(request.request_body(body.build()).build()))
        wait_for(lambda: "begin, and the end" in self.last()["text"])
        over = json.dumps({"config": {"streaming_mode": False}})
        body = SettingsCardRequestBody.builder().settings(over).sequence(2).build()
        request = SettingsCardRequest.builder().card_id(card_id).request_body(body).build()
        done(self.client.cardkit.v1.card.settings(request))
        path = f"/open-apis/cardkit/v1/cards/{card_id}"
        assert self.sim.succeeded("PUT", f"{path}/elements/words/content") == 1
        assert self.sim.succeeded("PATCH", f"{path}/settings") == 1

    def connect(self):
        told = {"client": {"PingInterval": 1, "ReconnectInterval": 1, "ReconnectNonce": 0}}
        self.sim.control("PATCH", f"/apps/{APP}/long_connection", told)

        def pressed(press):
            self.presses.append(press)
            toast = {"type": "success", "content": "已同意"}
            return P2CardActionTriggerResponse({"toast": toast})

        handler = (
            lark.EventDispatcherHandler.builder("", "")
            .register_p2_im_message_receive_v1(self.events.append)
            .register_p2_card_action_trigger(pressed)
            .build()
        )
        client = lark.ws.Client(
            APP, SECRET, event_handler=handler, domain=self.sim.url, log_level=lark.LogLevel.CRITICAL
        )
        threading.Thread(target=client.start, daemon=True).start()
        wait_for(lambda: [one for one in self.sim.control("GET", "/connections") if one["pings"]])

    def heard(self, text):
        """Whether something said comes in and is acknowledged, at the first try."""
        said = self.sim.control("POST", "/say", {"user": "u1", "chat": "g1", "text": text})
        message_id = said["message_id"]
        tries = wait_for(lambda: self.sim.control("GET", f"/pushes?message_id={message_id}"))
        first = tries[0]
        assert (first["status"], first["counted"]) == (200, True), first
        event = next(
            event for event in self.events if event.event.message.message_id == message_id
        )
        assert json.loads(event.event.message.content)["text"] == text

    def receive(self):
        self.heard("hello to Python")
        cut = {"fragment_bytes": 200, "fragment_order": "shuffled"}
        self.sim.control("PATCH", f"/apps/{APP}/long_connection", cut)
        self.heard("分片🧩" * 100)
        whole = {"fragment_bytes": 0, "fragment_order": "in_order"}
        self.sim.control("PATCH", f"/apps/{APP}/long_connection", whole)
        [open_one] = self.sim.control("GET", "/connections")
        assert (open_one["events"], open_one["acks"], open_one["strays"]) == (2, 2, 0)

    def press(self):
        button = [message for message in self.sim.messages("g1") if message["card"]][0]
        wanted = {"user": "u1", "message_id": button["message_id"], "button": "press"}
        outcome = self.sim.control("POST", "/presses", wanted)
        assert outcome["client_error"] == 0, outcome
        assert outcome["toast"] == ["success", "已同意"], outcome
        assert self.presses[0].event.action.value == {"k": "v"}

    def reconnect(self):
        [before] = self.sim.control("GET", "/connections")
        for endpoint, status, code in [("discovery", 200, 1000040343), ("upgrade", 500, 7)]:
            refusal = {"kind": "refuse", "status": status, "code": code}
            fault = {"endpoint": endpoint, "action": refusal, "times": 1}
            self.sim.control("POST", "/faults", fault)
        self.sim.control("POST", "/connections/break", {"how": "abort"})
        wait_for(
            lambda: [
                one
                for one in self.sim.control("GET", "/connections")
                if one["device_id"] != before["device_id"]
            ]
        )
        assert self.sim.control("GET", "/faults") == []
        self.heard("again")


def main():
    sim = Sim()
    failed = 0
    try:
        referee = Referee(sim)
        steps = [
            referee.token,
            referee.send_and_reply,
            referee.card,
            referee.upload,
            referee.card_kit,
            referee.connect,
            referee.receive,
            referee.press,
            referee.reconnect,
        ]
        for step in steps:
            try:
                step()
                print(f"Python SDK, {step.__name__}: as it should be", flush=True)
            except Exception as error:  # noqa: BLE001 - the next step may still say something
                failed += 1
                print(f"Python SDK, {step.__name__}: {error!r}", flush=True)
    finally:
        sim.process.terminate()
        sim.process.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # The SDK's thread never ends by itself.
    os._exit(code)
