// An answer that streams in, and a button that changes its card, in a real browser: Chromium,
// headless. Run by scripts/browser.sh.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Chat } from "./support/chat.mjs";
import { startModel } from "./support/model.mjs";

const QUESTION = "备份该怎么做";
const ANSWER = [
  "## 备份数据",
  "",
  "先停写，再复制整个文件夹：**不要**只复制其中一部分。",
  "",
  "| 步骤 | 命令 | 说明 |",
  "| --- | --- | --- |",
  "| 1 | `larkspur store check` | 检查是否完好 |",
  "| 2 | `cp -a data backup` | 复制 |",
  "| 3 | `larkspur store check` | 再检查一次副本 |",
  "",
  "```sh",
  "larkspur store check --config config && cp -a data backup",
  "```",
  "",
  "- 每天一次",
  "- 副本放在另一台机器上",
  "",
  "来源：[backup-data-folder]，这就是全部。",
].join("\n");

let model, chat;

before(async () => {
  const tool = { name: "search_knowledge", args: { query: "备份" } };
  model = await startModel({ words: QUESTION, tool, text: ANSWER, gap: 250 });
  chat = await Chat.open({ OPENAI_API_KEY: "scripted", OPENAI_BASE_URL: model.url });
  await chat.page.locator('[data-alias="team"]').click();
});

after(async () => {
  await chat?.close();
  model?.stop();
});

test("an answer grows where it stands and ends complete, as one message", async () => {
  const growing = chat.page.locator('[data-test="card"][data-streaming="true"]');
  const before = await chat.messages().count();
  await chat.send(`${QUESTION}？`);
  await growing.waitFor();
  const seen = [];
  let pictured = false;
  while ((await growing.count()) > 0) {
    const text = await growing.innerText().catch(() => "");
    if (text !== "" && text !== seen.at(-1)) seen.push(text);
    assert.equal(await growing.locator('[data-test="press"]').count(), 0, "no button while it grows");
    if (!pictured && text.includes("不要")) {
      await growing.scrollIntoViewIfNeeded();
      await chat.picture("growing");
      pictured = true;
    }
    await chat.page.waitForTimeout(100);
  }
  assert.ok(seen.length >= 4, `it was seen in ${seen.length} states`);
  const lengths = seen.map((text) => text.length);
  assert.ok(lengths.at(-1) > lengths[0], `it grew: ${lengths}`);
  const answer = chat.answers("这就是全部");
  await answer.waitFor();
  assert.equal(await answer.count(), 1);
  assert.equal(await chat.messages().count(), before + 2, "the question and one answer");
  const card = answer.locator('[data-test="card"]');
  assert.equal(await card.getAttribute("data-streaming"), "false");
  assert.equal(await card.locator('[data-test="table"] tr').count(), 4);
  for (const words of ["备份数据", "不要", "cp -a data backup", "副本放在另一台机器上"]) {
    assert.ok((await card.innerText()).includes(words), words);
  }
  await card.scrollIntoViewIfNeeded();
  await chat.picture("card");
});

test("a press changes the card once, for everybody, and asks the question once", async () => {
  const card = chat.page.locator('[data-test="card"]').filter({ has: chat.page.locator('[data-test="press"]') }).first();
  const id = await card.locator("xpath=ancestor::*[@data-message-id]").getAttribute("data-message-id");
  const pressed = chat.page.locator(`[data-message-id="${id}"] [data-test="card"]`);
  const edits = async () => Number(await pressed.getAttribute("data-edits"));
  const before = await edits();
  const buttons = pressed.locator('[data-test="press"]');
  const count = await buttons.count();
  const question = (await buttons.first().innerText()).trim();
  // As people do who see nothing happen at once.
  await buttons.first().dblclick();
  await chat.answers("好的。").first().waitFor();
  await chat.page.waitForFunction(
    ([id, edits]) => Number(document.querySelector(`[data-message-id="${id}"] [data-test="card"]`).dataset.edits) > edits,
    [id, before],
  );
  await chat.page.waitForTimeout(3_000);
  assert.equal(await edits(), before + 1, "it changed once");
  assert.equal(await buttons.count(), count - 1, "what was asked is no button any more");
  assert.ok((await pressed.innerText()).includes(question), "and is still there to read");
  assert.equal(await chat.answers("好的。").count(), 1, "it was asked once");
  await chat.page.reload();
  await pressed.waitFor();
  assert.equal(await edits(), before + 1);
});

test("the page has no errors", () => {
  assert.deepEqual(chat.errors, []);
});
