// The demo in a real browser: Chromium, headless. Run by scripts/browser.sh, which installs what
// this needs and says where the program and the pictures are.
//
//   LARKSPUR   the program          CHROMIUM   the browser
//   PICTURES   where screenshots go   MODULES   where the driver is installed

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const { chromium } = createRequire(join(process.env.MODULES, "here.js"))("playwright-core");

const PATIENCE = 60_000;
const pictures = process.env.PICTURES;
mkdirSync(pictures, { recursive: true });

/** A demo that runs: its page's address, its folder, its process. */
async function startDemo(folder) {
  const words = ["demo", "--dir", folder, "--listen", "127.0.0.1:0", "--locale", "zh-CN"];
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(process.env.LARKSPUR, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  child.stdout.setEncoding("utf8");
  for await (const words of child.stdout) {
    told += words;
    if (told.includes("Ctrl-C")) break;
  }
  const address = told.match(/http:\/\/127\.0\.0\.1:\d+/);
  assert.ok(address, `no address in: ${told}`);
  return { child, url: address[0] };
}

let folder, demo, browser, page;
const errors = [];
// A part that is fetched anew, or a page that is left, aborts the request under way; htmx logs that as
// an error and it is none. One that fails is logged by another name.
const isAbort = (text) => /^htmx:(sendAbort|afterRequest),/.test(text);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "larkspur-browser-"));
  demo = await startDemo(folder);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "zh-CN",
  });
  page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (line) => {
    if (line.type() === "error" && !isAbort(line.text())) errors.push(`${line.text()} (${line.location().url})`);
  });
  await page.goto(demo.url);
});

after(async () => {
  await browser?.close();
  demo?.child.kill("SIGINT");
  await new Promise((resolve) => (demo ? demo.child.on("exit", resolve) : resolve()));
  rmSync(folder, { recursive: true, force: true });
});

// A word that no recipe has before one is written while the demo runs.
const word = `zq${Math.random().toString(36).slice(2, 10)}`;

const messages = () => page.locator("[data-message-id]");
const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`) });

const input = () => page.locator('[data-test="text-input"]').first();

/** Says something in the open chat, and waits until the page has taken it. */
async function send(text) {
  await input().fill(text);
  await page.locator('[data-test="send"]').first().click();
  await page.waitForFunction(() => document.querySelector('[data-test="text-input"]').value === "");
}

/** Asks in the open chat; the bot's last message that holds `words`. */
async function ask(question, words) {
  await send(question);
  const answer = page.locator('[data-from="bot"]').filter({ hasText: words }).last();
  await answer.waitFor();
  return answer;
}

test("a question in the group gets an answer that names its source", async () => {
  await page.locator('[data-alias="team"]').click();
  const answer = await ask("怎么备份数据？", "[backup-data-folder]");
  assert.match(await answer.innerText(), /在知识库中找到以下内容/);
  for (const question of ["/ping", "/help", "/ping"]) await send(question);
  await page.waitForFunction(() => {
    const last = [...document.querySelectorAll("[data-message-id]")].at(-1);
    const box = last.closest("[data-scroll]");
    const count = document.querySelectorAll("[data-message-id]").length;
    return count >= 9 && box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  });
  await answer.scrollIntoViewIfNeeded();
  await picture("answer");
});

test("a question of the welcome is asked by a press, with a word that it is on its way", async () => {
  const button = page.locator('[data-test="press"]').first();
  const question = (await button.innerText()).trim();
  await button.click();
  await page.getByText("已提问").first().waitFor();
  const pressed = messages().filter({ hasText: `「${question}」` }).first();
  await pressed.waitFor();
  await pressed.locator('[data-test="path"]').click();
  await page.locator('[data-test="path-view"]').getByText("/lark/assistant/events").first().waitFor();
  await page.locator('[data-test="path-view"]').getByText("allow search_knowledge").first().waitFor();
  await picture("pressed");
});

test("the path of a message shows pushes, decisions, tools and sends with their times", async () => {
  const asked = page.locator('[data-from="user"]').filter({ hasText: "怎么备份数据？" }).first();
  await asked.hover();
  await asked.locator('[data-test="path"]').first().click();
  const drawer = page.locator('[data-test="path-view"]');
  for (const words of ["answered", "accepted", "allow search_knowledge", "reply"]) {
    await drawer.getByText(words, { exact: false }).first().waitFor();
  }
  await picture("path");
});

test("a recipe written while the demo runs is found, and a question without a hit says so", async () => {
  await ask(`${word} 是什么？`, "没有找到");
  const recipe = `---\nid: ${word}\ntitle: ${word}\nstatus: active\n---\n${word} 是今天的暗号。\n`;
  writeFileSync(join(folder, "knowledge", `${word}.md`), recipe);
  // The folder is looked at once a second, when somebody asks.
  const found = page.locator('[data-from="bot"]').filter({ hasText: "今天的暗号" });
  for (let tries = 0; tries < 60 && (await found.count()) === 0; tries += 1) {
    await send(`${word} 是什么？`);
    await page.waitForTimeout(1000);
  }
  assert.ok((await found.count()) > 0, "the recipe is not found");
});

test("when the clock passes nine the digest arrives, once", async () => {
  await page.locator('[data-test="advance-nine"]').click();
  const digest = messages().filter({ hasText: "知识摘要" });
  await digest.first().waitFor();
  await digest.first().scrollIntoViewIfNeeded();
  await picture("digest");
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
  await send(hostile);
  await messages().filter({ hasText: "<script>" }).first().waitFor();
  assert.notEqual(await page.title(), "1");
});

test("the page has no errors", () => {
  assert.deepEqual(errors, []);
});
