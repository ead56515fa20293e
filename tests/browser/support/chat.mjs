// The demo and its web chat, as the browser tests use them.
//
//   LARKSPUR   the program          CHROMIUM   the browser
//   PICTURES   where screenshots go   MODULES   where the driver is installed

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.MODULES, "here.js"))("playwright-core");

const PATIENCE = 60_000;

// A part that is fetched anew, or a page that is left, aborts the request under way; htmx logs that as
// an error and it is none. One that fails is logged by another name.
const isAbort = (text) => /^htmx:(sendAbort|afterRequest),/.test(text);

/** A demo that runs: its page's address, its process. */
async function startDemo(folder, environment) {
  const words = ["demo", "--dir", folder, "--listen", "127.0.0.1:0", "--locale", "zh-CN"];
  const env = { PATH: process.env.PATH, HOME: folder, ...environment };
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

/** The demo's web chat in a browser of its own. */
export class Chat {
  /** Errors that the page logged. */
  errors = [];

  /** Starts the demo, with these variables in its environment, and opens its page. */
  static async open(environment = {}) {
    const chat = new Chat();
    chat.folder = mkdtempSync(join(tmpdir(), "larkspur-browser-"));
    chat.demo = await startDemo(chat.folder, environment);
    chat.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
    const context = await chat.browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "zh-CN",
    });
    chat.page = await context.newPage();
    chat.page.setDefaultTimeout(PATIENCE);
    chat.page.on("pageerror", (error) => chat.errors.push(String(error)));
    chat.page.on("console", (line) => {
      if (line.type() === "error" && !isAbort(line.text())) {
        chat.errors.push(`${line.text()} (${line.location().url})`);
      }
    });
    await chat.page.goto(chat.demo.url);
    return chat;
  }

  async close() {
    await this.browser?.close();
    const child = this.demo?.child;
    child?.kill("SIGINT");
    await new Promise((resolve) => (child ? child.on("exit", resolve) : resolve()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  messages() {
    return this.page.locator("[data-message-id]");
  }

  /** The bot's messages that hold `words`. */
  answers(words) {
    return this.page.locator('[data-from="bot"]').filter({ hasText: words });
  }

  picture(name) {
    mkdirSync(process.env.PICTURES, { recursive: true });
    return this.page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });
  }

  /** Says something in the open chat, and waits until the page has taken it. */
  async send(text) {
    await this.page.locator('[data-test="text-input"]').first().fill(text);
    await this.page.locator('[data-test="send"]').first().click();
    await this.page.waitForFunction(
      () => document.querySelector('[data-test="text-input"]').value === "",
    );
  }

  /** Asks in the open chat; the bot's last message that holds `words`. */
  async ask(question, words) {
    await this.send(question);
    const answer = this.answers(words).last();
    await answer.waitFor();
    return answer;
  }
}
