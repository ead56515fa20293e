// The official Node SDK as a client of the playground. Run by scripts/referees.sh.
//
// Each step does something with the SDK and then asks the control API whether the playground saw
// it.
//
//   LARKSPUR   the program          MODULES   where the SDK is installed

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

const sdk = createRequire(join(process.env.MODULES, "here.js"))("@larksuiteoapi/node-sdk");

const APP = "cli_a1b2c3d4e5f60718";
const SECRET = "playground-app-secret";
const PATIENCE = 30_000;
// One dot, 1 by 1.
const PNG = Buffer.from(
  "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489" +
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082",
  "hex",
);
const CARD = {
  schema: "2.0",
  config: { update_multi: true },
  header: { title: { tag: "plain_text", content: "Referee" } },
  body: {
    elements: [
      { tag: "markdown", element_id: "words", content: "A **card**" },
      {
        tag: "button",
        element_id: "press",
        text: { tag: "plain_text", content: "Go" },
        behaviors: [{ type: "callback", value: { k: "v" } }],
      },
    ],
  },
};
const STREAM = {
  schema: "2.0",
  config: { update_multi: true, streaming_mode: true },
  body: { elements: [{ tag: "markdown", element_id: "words", content: "begin" }] },
};

// What fails is told by the tests; the SDK would also log the refusals that are meant.
const silence = () => {};
const logger = { error: silence, warn: silence, info: silence, debug: silence, trace: silence };

let program, url, chat, client, socket;
const events = [];
const presses = [];

async function control(method, path, body) {
  const response = await fetch(`${url}/sim/v1${path}`, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

/** How many calls of a path were answered with success. */
async function succeeded(method, path) {
  const calls = await control("GET", "/calls");
  const meant = (call) =>
    call.method === method && call.path.split("?")[0] === path && call.code === 0;
  return calls.filter(meant).length;
}

async function last() {
  return (await control("GET", "/chats/g1/messages")).at(-1);
}

/** What `look` finds, as soon as it finds something. */
async function waitFor(look) {
  const end = performance.now() + PATIENCE;
  while (performance.now() < end) {
    const found = await look();
    if (found) return found;
    await sleep(50);
  }
  throw new Error("nothing came");
}

async function post(msgType, content) {
  const sent = await client.im.v1.message.create({
    params: { receive_id_type: "chat_id" },
    data: { receive_id: chat, msg_type: msgType, content: JSON.stringify(content) },
  });
  assert.equal(sent.code, 0);
  return sent.data.message_id;
}

before(async () => {
  const words = ["sim", "--websocket", "--listen", "127.0.0.1:0"];
  program = spawn(process.env.LARKSPUR, words, { stdio: ["ignore", "pipe", "inherit"] });
  program.stdout.setEncoding("utf8");
  for await (const line of program.stdout) {
    url = line.match(/http:\/\/[\d.:]+/)[0];
    break;
  }
  const group = { alias: "g1", kind: "group", members: ["u1"] };
  chat = (await control("POST", "/chats", group)).chat_id;
  const settings = { appId: APP, appSecret: SECRET, domain: url, logger };
  client = new sdk.Client(settings);
  socket = new sdk.WSClient(settings);
});

after(() => {
  socket?.close({ force: true });
  program?.kill();
});

test("a token is fetched once and used for every call", async () => {
  await post("text", { text: "first" });
  await post("text", { text: "second" });
  const path = "/open-apis/auth/v3/tenant_access_token/internal";
  assert.equal(await succeeded("POST", path), 1);
});

test("a message is sent, and answered", async () => {
  const sent = await post("text", { text: "hello from Node" });
  const seen = await last();
  assert.deepEqual([seen.message_id, seen.text], [sent, "hello from Node"]);
  const reply = await client.im.v1.message.reply({
    path: { message_id: sent },
    data: { msg_type: "text", content: JSON.stringify({ text: "a reply" }) },
  });
  assert.equal(reply.code, 0);
  assert.equal((await last()).reply_to, sent);
});

test("a message is read, although the SDK gives the request a body", async () => {
  const { message_id: messageId } = await last();
  const got = await client.im.v1.message.get({ path: { message_id: messageId } });
  assert.equal(got.data.items[0].message_id, messageId);
});

test("a refusal is told with its code", async () => {
  const refused = await client.im.v1.message
    .get({ path: { message_id: "om_nobody" } })
    .then(() => null, (error) => error.response);
  assert.ok(refused.data.code > 0);
  assert.equal(refused.status, 400);
});

test("a card is sent", async () => {
  await post("interactive", CARD);
  assert.match((await last()).text, /card/);
});

test("an image and a file are uploaded and sent", async () => {
  const image = await client.im.v1.image.create({ data: { image_type: "message", image: PNG } });
  assert.equal(await succeeded("POST", "/open-apis/im/v1/images"), 1);
  await post("image", { image_key: image.image_key });
  assert.match((await last()).content, new RegExp(image.image_key));
  const file = await client.im.v1.file.create({
    data: { file_type: "stream", file_name: "报告.txt", file: Buffer.from("内容") },
  });
  assert.equal(await succeeded("POST", "/open-apis/im/v1/files"), 1);
  await post("file", { file_key: file.file_key });
  assert.match((await last()).content, new RegExp(file.file_key));
});

test("a card entity is made, sent, written on and finished", async () => {
  const made = await client.cardkit.v1.card.create({
    data: { type: "card_json", data: JSON.stringify(STREAM) },
  });
  assert.equal(made.code, 0);
  const cardId = made.data.card_id;
  await post("interactive", { type: "card", data: { card_id: cardId } });
  const written = await client.cardkit.v1.cardElement.content({
    path: { card_id: cardId, element_id: "words" },
    data: { content: "begin, and the end", sequence: 1 },
  });
  assert.equal(written.code, 0);
  await waitFor(async () => (await last()).text.includes("begin, and the end"));
  const over = await client.cardkit.v1.card.settings({
    path: { card_id: cardId },
    data: { settings: JSON.stringify({ config: { streaming_mode: false } }), sequence: 2 },
  });
  assert.equal(over.code, 0);
  const path = `/open-apis/cardkit/v1/cards/${cardId}`;
  assert.equal(await succeeded("PUT", `${path}/elements/words/content`), 1);
  assert.equal(await succeeded("PATCH", `${path}/settings`), 1);
});

test("a long connection opens, and pings", async () => {
  const told = { client: { PingInterval: 1, ReconnectInterval: 1, ReconnectNonce: 0 } };
  await control("PATCH", `/apps/${APP}/long_connection`, told);
  await control("PATCH", "/switches", { pong_payload: "always" });
  const dispatcher = new sdk.EventDispatcher({ logger }).register({
    "im.message.receive_v1": (event) => void events.push(event),
    "card.action.trigger": (press) => {
      presses.push(press);
      return { toast: { type: "success", content: "已同意" } };
    },
  });
  socket.start({ eventDispatcher: dispatcher });
  await waitFor(async () => (await control("GET", "/connections")).some((one) => one.pings > 0));
});

/** Something said comes in and is acknowledged, at the first try. */
async function heard(text) {
  const said = await control("POST", "/say", { user: "u1", chat: "g1", text });
  const pushes = `/pushes?message_id=${said.message_id}`;
  const [first] = await waitFor(async () => {
    const tries = await control("GET", pushes);
    return tries.length > 0 && tries;
  });
  assert.deepEqual([first.status, first.counted], [200, true], JSON.stringify(first));
  const event = events.find((event) => event.message.message_id === said.message_id);
  assert.equal(JSON.parse(event.message.content).text, text);
}

test("events come in whole and are acknowledged", async () => {
  await heard("hello to Node");
  const cut = { fragment_bytes: 200, fragment_order: "shuffled" };
  await control("PATCH", `/apps/${APP}/long_connection`, cut);
  await heard("分片🧩".repeat(100));
  const whole = { fragment_bytes: 0, fragment_order: "in_order" };
  await control("PATCH", `/apps/${APP}/long_connection`, whole);
  const huge = { endpoint: "event", action: { kind: "socket", how: "huge_log_id" }, times: 1 };
  await control("POST", "/faults", huge);
  await heard("the log id loses its last digits");
  const [open] = await control("GET", "/connections");
  assert.deepEqual([open.events, open.acks, open.strays], [3, 3, 0]);
});

test("a press is answered over the connection", async () => {
  const messages = await control("GET", "/chats/g1/messages");
  const card = messages.find((message) => message.card);
  const wanted = { user: "u1", message_id: card.message_id, button: "press" };
  const outcome = await control("POST", "/presses", wanted);
  assert.equal(outcome.client_error, 0, JSON.stringify(outcome));
  assert.deepEqual(outcome.toast, ["success", "已同意"]);
  assert.deepEqual(presses[0].action.value, { k: "v" });
});

test("a connection that breaks is opened again, after refusals, too", async () => {
  const [before] = await control("GET", "/connections");
  for (const [endpoint, status, code] of [["discovery", 200, 1000040343], ["upgrade", 500, 7]]) {
    const action = { kind: "refuse", status, code };
    await control("POST", "/faults", { endpoint, action, times: 1 });
  }
  await control("POST", "/connections/break", { how: "abort" });
  await waitFor(async () => {
    const open = await control("GET", "/connections");
    return open.some((one) => one.device_id !== before.device_id);
  });
  assert.deepEqual(await control("GET", "/faults"), []);
  await heard("again");
});
