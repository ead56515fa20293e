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
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  await page.goto(demo.url);
});

after(async () => {
  await browser?.close();
  demo?.child.kill("SIGINT");
  await new Promise((resolve) => (demo ? demo.child.on("exit", resolve) : resolve()));
  rmSync(folder, { recursive: true, force: true });
});

const messages = () => page.locator("[data-message-id]");
const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`) });

/** Asks in the open chat; the bot's next message that holds `words`. */
async function ask(question, words) {
  await page.locator('[data-test="text"]').fill(question);
  await page.locator('[data-test="send"]').click();
  const answer = messages().filter({ hasText: words }).last();
  await answer.waitFor();
  return answer;
}
