// The demo in a real browser: Chromium, headless. Run by scripts/browser.sh, which installs what
// this needs and says where the program and the pictures are.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Chat } from "./support/chat.mjs";

let chat, page;

before(async () => {
  chat = await Chat.open();
  page = chat.page;
});

after(() => chat?.close());

// A word that no recipe has before one is written while the demo runs.
const word = `zq${Math.random().toString(36).slice(2, 10)}`;

test("a question in the group gets an answer that names its source", async () => {
  await page.locator('[data-alias="team"]').click();
  const answer = await chat.ask("怎么备份数据？", "[backup-data-folder]");
  assert.match(await answer.innerText(), /在知识库中找到以下内容/);
  for (const question of ["/ping", "/help", "/ping"]) await chat.send(question);
  await page.waitForFunction(() => {
    const last = [...document.querySelectorAll("[data-message-id]")].at(-1);
    const box = last.closest("[data-scroll]");
    const count = document.querySelectorAll("[data-message-id]").length;
    return count >= 9 && box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  });
  await answer.scrollIntoViewIfNeeded();
  await chat.picture("answer");
});

test("a question of the welcome is asked by a press, with a word that it is on its way", async () => {
  const button = page.locator('[data-test="press"]').first();
  const question = (await button.innerText()).trim();
  await button.click();
  await page.getByText("已提问").first().waitFor();
  const pressed = chat.messages().filter({ hasText: `「${question}」` }).first();
  await pressed.waitFor();
  await pressed.locator('[data-test="path"]').click();
  await page.locator('[data-test="path-view"]').getByText("/lark/assistant/events").first().waitFor();
  await page.locator('[data-test="path-view"]').getByText("allow search_knowledge").first().waitFor();
  await chat.picture("pressed");
});

test("the path of a message shows pushes, decisions, tools and sends with their times", async () => {
  const asked = page.locator('[data-from="user"]').filter({ hasText: "怎么备份数据？" }).first();
  await asked.hover();
  await asked.locator('[data-test="path"]').first().click();
  const drawer = page.locator('[data-test="path-view"]');
  for (const words of ["answered", "accepted", "allow search_knowledge", "reply"]) {
    await drawer.getByText(words, { exact: false }).first().waitFor();
  }
  await chat.picture("path");
});

test("a recipe written while the demo runs is found, and a question without a hit says so", async () => {
  await chat.ask(`${word} 是什么？`, "没有找到");
  const recipe = `---\nid: ${word}\ntitle: ${word}\nstatus: active\n---\n${word} 是今天的暗号。\n`;
  writeFileSync(join(chat.folder, "knowledge", `${word}.md`), recipe);
  // The folder is looked at once a second, when somebody asks.
  const found = page.locator('[data-from="bot"]').filter({ hasText: "今天的暗号" });
  for (let tries = 0; tries < 60 && (await found.count()) === 0; tries += 1) {
    await chat.send(`${word} 是什么？`);
    await page.waitForTimeout(1000);
  }
  assert.ok((await found.count()) > 0, "the recipe is not found");
});

test("when the clock passes nine the digest arrives, once", async () => {
  await page.locator('[data-test="advance-nine"]').click();
  const digest = chat.messages().filter({ hasText: "知识摘要" });
  await digest.first().waitFor();
  await digest.first().scrollIntoViewIfNeeded();
  await chat.picture("digest");
  await page.reload();
  await digest.first().waitFor();
  assert.equal(await digest.count(), 1);
  const link = await digest.first().locator("a").first().getAttribute("href");
  assert.match(await (await fetch(link)).text(), /今天的暗号/, `${link} leads to the recipe`);
  const told = await digest.first().innerText();
  for (const words of [word, "新增", "待审核"]) assert.ok(told.includes(words), `${words} in ${told}`);
});

test("what people write is shown and never run", async () => {
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
  await chat.send(hostile);
  await chat.messages().filter({ hasText: "<script>" }).first().waitFor();
  assert.notEqual(await page.title(), "1");
});

test("the page has no errors", () => {
  assert.deepEqual(chat.errors, []);
});
